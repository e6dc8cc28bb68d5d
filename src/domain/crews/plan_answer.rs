//! Finds the plan in what a planner said: its last fenced block with a task.

use super::plan_fault::PlanFault;
use crate::domain::spec;

/// A fenced block of lines.
#[derive(Debug)]
struct FencedBlock<'a> {
    mark: char,
    /// How many marks open it.
    length: usize,
    indentation: usize,
    lines: Vec<&'a str>,
}

/// The plan in what a planner said.
///
/// ```
/// use ravenry::domain::crews::plan_in;
/// let words = "Here it is:\n```markdown\n- [ ] T-1: Parse\n```\nThat is all.";
/// assert_eq!(plan_in(words).unwrap(), "- [ ] T-1: Parse");
/// assert!(plan_in("- [ ] T-1: Parse").is_err());
/// ```
pub fn plan_in(words: &str) -> Result<String, PlanFault> {
    let (mut blocks, mut open): (Vec<FencedBlock<'_>>, Option<FencedBlock<'_>>) = (Vec::new(), None);
    let mut has_task_outside = false;
    for line in words.lines() {
        match &mut open {
            Some(block) if block.is_closed_by(line) => blocks.extend(open.take()),
            Some(block) => block.lines.push(line),
            None => {
                open = FencedBlock::opened_by(line);
                has_task_outside |= line.starts_with("- [ ] ");
            }
        }
    }
    // One without an end goes to the end.
    blocks.extend(open);
    let texts: Vec<String> = blocks.iter().map(FencedBlock::text).collect();
    let with_task = texts.iter().rfind(|text| !spec::read(text).tasks.is_empty());
    match with_task.or(texts.last()) {
        Some(_) if has_task_outside => Err(PlanFault::TaskOutsideBlock),
        Some(text) => Ok(text.clone()),
        None => Err(PlanFault::NoBlock),
    }
}

impl<'a> FencedBlock<'a> {
    fn opened_by(line: &'a str) -> Option<Self> {
        let rest = line.trim_start_matches(' ');
        let mark = rest.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = rest.len() - rest.trim_start_matches(mark).len();
        let is_inline = mark == '`' && rest[length..].contains('`');
        (length >= 3 && !is_inline).then(|| Self {
            mark,
            length,
            indentation: line.len() - rest.len(),
            lines: Vec::new(),
        })
    }

    /// A fence that is indented more belongs to the content, such as the code in a task.
    fn is_closed_by(&self, line: &str) -> bool {
        let rest = line.trim_start_matches(' ');
        let marks = rest.trim_end();
        let is_fence = marks.len() >= self.length && marks.chars().all(|mark| mark == self.mark);
        is_fence && line.len() - rest.len() <= self.indentation
    }

    /// The lines without the indentation of the fence.
    fn text(&self) -> String {
        let bare = |line: &&'a str| {
            let blanks = line.len() - line.trim_start_matches(' ').len();
            &line[blanks.min(self.indentation)..]
        };
        self.lines.iter().map(bare).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_block_with_a_task_counts() {
        let words = "```\n- [ ] A-1: old\n```\ntext\n~~~~markdown\n- [ ] A-2: new\n  ```sh\n  make\n  ```\n- [ ] A-3: more\n~~~~\n```sh\nmake\n```\n";
        assert_eq!(plan_in(words).unwrap(), "- [ ] A-2: new\n  ```sh\n  make\n  ```\n- [ ] A-3: more");
        let inner = "```markdown\n- [ ] A-2: new\n  ```\n  make\n  ```\n- [ ] A-3: more\n```";
        assert_eq!(plan_in(inner).unwrap().lines().count(), 5);
        assert_eq!(plan_in("  ```\n  - [ ] A-1: x\n    y\n  ```").unwrap(), "- [ ] A-1: x\n  y");
        assert_eq!(plan_in("```\n- [ ] A-1: never closed").unwrap(), "- [ ] A-1: never closed");
        assert_eq!(plan_in("```\nno task\n```").unwrap(), "no task");
    }

    #[test]
    fn a_plan_that_is_torn_apart_is_not_taken() {
        let torn = "```markdown\n- [ ] A-1: x\n```\nmake\n```\n- [ ] A-2: y\n```";
        assert_eq!(plan_in(torn), Ok("- [ ] A-2: y".to_string()), "two blocks are two plans");
        let outside = "```markdown\n- [ ] A-1: x\n```\n- [ ] A-2: y\n";
        assert_eq!(plan_in(outside), Err(PlanFault::TaskOutsideBlock));
        for none in ["", "text", "`- [ ] A-1: x`", "```- [ ] A-1: x```"] {
            assert_eq!(plan_in(none), Err(PlanFault::NoBlock), "{none}");
        }
    }
}
