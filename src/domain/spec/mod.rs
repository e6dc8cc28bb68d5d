//! Reads the tasks of a Markdown spec, their dependencies and the errors in them.
//!
//! `markdown` splits the Markdown into blocks of plain text, `find_tasks` finds the tasks, `dependencies` reads their
//! dependencies, and `problem` checks the result for consistency. Everything runs in (nearly) linear time and without
//! recursion, because a spec is untrusted text.

mod body;
mod dependencies;
mod find_tasks;
mod id;
mod line_numbers;
mod markdown;
mod problem;
mod task_draft;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

pub use body::{TaskBody, task_body, verify_commands};
pub use id::{MAX_ID, resolve_id};
pub use problem::Problem;

use id::KnownIds;
use task_draft::TaskDraft;

/// The content of a spec, in file order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spec {
    pub tasks: Vec<Task>,
    pub problems: Vec<Problem>,
    /// Checkboxes that are not tasks because they have no id.
    pub boxes_without_id: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub id: String,
    pub title: String,
    /// Line number in the file; the first line is 1.
    pub line: usize,
    /// Whether its checkbox is ticked.
    pub is_done: bool,
    /// Each once, in order of mention. Includes ids without a task in the spec: a task with such a dependency is
    /// never ready.
    pub depends_on: Vec<String>,
    /// Byte offset of the character between the brackets of its checkbox.
    pub tick: Option<usize>,
    /// Start offset and content of the checkbox's line, to detect that the text changed.
    box_line: (usize, String),
}

/// Parses a spec. Any text is valid; one without tasks yields none.
///
/// ```
/// let spec = ravenry::domain::spec::read("- [x] TASK-01: Parse\n- [ ] TASK-02: Print (needs TASK-01)\n");
/// assert_eq!(spec.tasks[1].title, "Print");
/// assert_eq!(spec.tasks[1].depends_on, ["TASK-01"]);
/// assert!(spec.tasks[0].is_done && spec.problems.is_empty());
/// ```
pub fn read(text: &str) -> Spec {
    let outline = markdown::read(text);
    let (drafts, boxes_without_id) = find_tasks::find(text, &outline.blocks);
    let (drafts, mut problems) = without_duplicates(drafts);
    problems.extend(outline.too_deep.map(|line| Problem::TooDeep { line }));
    let known = KnownIds::new(drafts.iter().map(|draft| draft.id.as_str()));
    let tasks: Vec<Task> = drafts.iter().map(|draft| finish(draft, text, &known)).collect();
    problems.extend(problem::find(&tasks));
    problems.sort_by_key(Problem::line);
    Spec { tasks, problems, boxes_without_id }
}

impl Spec {
    pub fn find(&self, id: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id == id)
    }

    /// The most similar ids, for "did you mean".
    pub fn nearest(&self, id: &str) -> Vec<&str> {
        crate::domain::suggestions(id, self.tasks.iter().map(|task| task.id.as_str()))
    }
}

/// Returns the text with the task's checkbox ticked. `None` if there is no checkbox, it is ticked already, or its
/// line changed since the spec was read: then read the spec again.
pub fn tick(text: &str, task: &Task) -> Option<String> {
    task.tick.filter(|_| !task.is_done)?;
    with_mark(text, task, 'x')
}

/// Returns the text with the task's checkbox empty. `None` if there is no checkbox, it is empty already, or its line
/// changed since the spec was read.
pub fn untick(text: &str, task: &Task) -> Option<String> {
    task.tick.filter(|_| task.is_done)?;
    with_mark(text, task, ' ')
}

fn with_mark(text: &str, task: &Task, mark: char) -> Option<String> {
    let at = task.tick?;
    let (start, line) = line_around(text, at)?;
    if (start, line) != (task.box_line.0, task.box_line.1.as_str()) {
        return None;
    }
    let (before, after) = (text.get(..at)?, text.get(at + 1..)?);
    Some(format!("{before}{mark}{after}"))
}

/// Removes every task whose id was used before, and reports it as a problem.
fn without_duplicates(drafts: Vec<TaskDraft>) -> (Vec<TaskDraft>, Vec<Problem>) {
    let mut first_lines: HashMap<String, usize> = HashMap::new();
    let (mut kept, mut problems) = (Vec::new(), Vec::new());
    for draft in drafts {
        if let Some(&first) = first_lines.get(&draft.id) {
            problems.push(Problem::Duplicate { id: draft.id, line: draft.line, first });
        } else {
            first_lines.insert(draft.id.clone(), draft.line);
            kept.push(draft);
        }
    }
    (kept, problems)
}

fn finish(draft: &TaskDraft, text: &str, known: &KnownIds) -> Task {
    let (title, depends_on) = dependencies::read(draft, known);
    let tick = draft.check.map(|check| check.at);
    let (start, line) = tick.and_then(|at| line_around(text, at)).unwrap_or_default();
    let box_line = (start, line.to_string());
    let done = draft.check.is_some_and(|check| check.is_ticked);
    Task { id: draft.id.clone(), title, line: draft.line, is_done: done, depends_on, tick, box_line }
}

/// The start offset of the line that contains this byte, and the line without its end.
fn line_around(text: &str, at: usize) -> Option<(usize, &str)> {
    let is_end = |c: char| c == '\n' || c == '\r';
    let start = text.get(..at)?.rfind(is_end).map_or(0, |end| end + 1);
    let end = text.get(at..)?.find(is_end).map_or(text.len(), |length| at + length);
    Some((start, text.get(start..end)?))
}
