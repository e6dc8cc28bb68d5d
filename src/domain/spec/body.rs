//! What a spec says beneath a task: its text, and the paths that it will touch.

use super::Task;

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
    let mut lines = text.lines().skip(task.line.saturating_sub(1));
    let Some(own) = lines.next() else { return TaskBody::default() };
    let is_heading = |line: &str| line.trim_start().starts_with('#');
    let depth = indentation(own);
    let is_beneath = |line: &&str| match is_heading(own) {
        true => !is_heading(line),
        false => line.trim().is_empty() || indentation(line) > depth,
    };
    let beneath: Vec<&str> = lines.take_while(is_beneath).collect();
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
}
