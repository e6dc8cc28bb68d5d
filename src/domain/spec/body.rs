//! What a spec says beneath a task: its text, the paths that it will touch, and the commands that prove it.

use super::{Spec, Task};

/// The lines beneath a task.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TaskBody {
    /// Without the indentation that they share, and without the lines `paths:`.
    pub text: String,
    /// The patterns of its lines `paths: PATTERN, …`.
    pub paths: Vec<String>,
}

/// What stands beneath the task: for a heading everything up to the next one, else what is indented more than the task.
///
/// ```
/// use ravenry::domain::spec::{read, task_body};
/// let text = "- [ ] T-1: Parse\n    Keep comments.\n    paths: src/parse.rs, `tests/*.rs`\n- [ ] T-2: Print\n";
/// let body = task_body(text, &read(text).tasks[0]);
/// assert_eq!((body.text.as_str(), body.paths.len()), ("Keep comments.", 2));
/// ```
pub fn task_body(text: &str, task: &Task) -> TaskBody {
    let beneath = beneath(text, task);
    let shared = beneath.iter().filter(|line| !line.trim().is_empty()).map(|line| indentation(line)).min();
    let (mut body, mut paths) = (Vec::new(), Vec::new());
    for line in beneath {
        match line.trim().strip_prefix("paths:") {
            Some(list) => {
                let trim = |path: &str| path.trim().trim_matches('`').trim().to_string();
                paths.extend(list.split(',').map(trim).filter(|path| !path.is_empty()));
            }
            None => body.push(line.get(shared.unwrap_or(0)..).unwrap_or("").trim_end()),
        }
    }
    TaskBody { text: body.join("\n").trim().to_string(), paths }
}

/// The commands of the lines `verify: COMMAND` beneath the task, in order and exactly as they are, but for one pair of
/// backquotes around the whole. Those beneath another task that is nested in it are that one's, and a block of code shows
/// text.
///
/// ```
/// use ravenry::domain::spec::{read, verify_commands};
/// let text = "- [ ] T-1: Parse\n    verify: cargo test parse -- --exact 'a  b'\n- [ ] T-2: Print\n";
/// let spec = read(text);
/// assert_eq!(verify_commands(text, &spec, &spec.tasks[0]), ["cargo test parse -- --exact 'a  b'"]);
/// assert!(verify_commands(text, &spec, &spec.tasks[1]).is_empty());
/// ```
pub fn verify_commands(text: &str, spec: &Spec, task: &Task) -> Vec<String> {
    let next = spec.tasks.iter().map(|other| other.line).filter(|line| *line > task.line).min();
    let own = next.map_or(usize::MAX, |next| next - task.line - 1);
    let mut is_code = false;
    let mut commands = Vec::new();
    for line in beneath(text, task).into_iter().take(own).map(str::trim) {
        if line.starts_with("```") || line.starts_with("~~~") {
            is_code = !is_code;
        }
        let command = line.strip_prefix("verify:").filter(|_| !is_code).map(|command| bare(command.trim()));
        commands.extend(command.filter(|command| !command.is_empty()).map(str::to_string));
    }
    commands
}

/// The command without backquotes around it. If there are more of them, they are the shell's.
fn bare(command: &str) -> &str {
    let inner = command.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    inner.filter(|inner| !inner.contains('`')).map_or(command, str::trim)
}

/// The lines beneath the task.
fn beneath<'t>(text: &'t str, task: &Task) -> Vec<&'t str> {
    let mut lines = text.lines().skip(task.line.saturating_sub(1));
    let Some(own) = lines.next() else { return Vec::new() };
    let is_heading = |line: &str| line.trim_start().starts_with('#');
    let depth = indentation(own);
    let is_beneath = |line: &&str| match is_heading(own) {
        true => !is_heading(line),
        false => line.trim().is_empty() || indentation(line) > depth,
    };
    lines.take_while(is_beneath).collect()
}

/// How many bytes of white space a line begins with.
fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::spec::read;

    #[test]
    fn what_is_beneath_a_task_is_its_own() {
        let text = "# Plan\n\n- [ ] T-1: One\n\n  more\n    deep\n\n  paths: a, b/**\n- [ ] T-2: Two\n\nText.\n\n### T-3: Three\n\nWhy.\npaths: c\n\n## End\nx\n";
        let spec = read(text);
        let bodies: Vec<TaskBody> = spec.tasks.iter().map(|task| task_body(text, task)).collect();
        assert_eq!(bodies[0].text, "more\n  deep");
        assert_eq!(bodies[0].paths, ["a", "b/**"]);
        assert_eq!(bodies[1], TaskBody::default());
        assert_eq!(
            (bodies[2].text.as_str(), bodies[2].paths.as_slice()),
            ("Why.", ["c".to_string()].as_slice())
        );
    }

    #[test]
    fn what_proves_a_task_is_quoted_exactly() {
        let text = "\
- [ ] T-1: One
  verify:  make  test | tee 'a, b'
  paths: a
  verify: `cargo test`
  verify:
  ```
  verify: rm -rf /
  ```
  - [ ] T-2: Nested
    verify: echo `date`
- [ ] T-3: Three (needs T-1)
  Verify by hand: look.

## T-4: Four

> verify: quoted
verify: ./check \"$HOME\"\r
";
        let spec = read(text);
        let commands: Vec<Vec<String>> =
            spec.tasks.iter().map(|task| verify_commands(text, &spec, task)).collect();
        assert_eq!(commands[0], ["make  test | tee 'a, b'", "cargo test"]);
        assert_eq!(commands[1], ["echo `date`"]);
        assert!(commands[2].is_empty());
        assert_eq!(commands[3], ["./check \"$HOME\""]);
        // What is ticked and unticked is otherwise as it was, and a worker reads how its task is proven.
        assert!(task_body(text, &spec.tasks[0]).text.contains("verify:  make  test | tee 'a, b'"));
        let ticked = crate::domain::spec::tick(text, &spec.tasks[0]).unwrap();
        let again = read(&ticked);
        assert_eq!(verify_commands(&ticked, &again, &again.tasks[0]), commands[0]);
        assert_eq!(crate::domain::spec::untick(&ticked, &again.tasks[0]).as_deref(), Some(text));
    }
}
