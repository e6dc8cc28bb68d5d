//! The tasks of a Markdown spec: which there are, what they depend on, and what is wrong with them.
//!
//! `outline` takes the Markdown apart into blocks of plain text, `draft` finds tasks among them, `phrase` reads what
//! they depend on, and `problem` holds the result against itself. All of it is linear or nearly so, and nothing
//! recurses: a spec is anybody's text.

mod draft;
mod id;
mod outline;
mod phrase;
mod problem;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

pub use id::{MAX_ID, meant};
pub use problem::Problem;

use draft::Draft;
use id::KnownIds;

/// What a spec says, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spec {
    pub tasks: Vec<Task>,
    pub problems: Vec<Problem>,
    /// Boxes that are no tasks because they have no id.
    pub boxes_without_id: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub id: String,
    pub title: String,
    /// Where it stands in the file; the first line is 1.
    pub line: usize,
    /// Its box is ticked.
    pub done: bool,
    /// Each once, in the order of mention. What the spec has no task for is here too: such a task is never ready.
    pub depends_on: Vec<String>,
    /// Where in the text the character between the brackets of its box is.
    pub tick: Option<usize>,
    /// The line with the box and where it began, to see whether the text changed since.
    box_line: (usize, String),
}

/// The tasks of a spec. Every text is a spec; one without tasks has none.
///
/// ```
/// let spec = ravenry::domain::spec::read("- [x] TASK-01: Parse\n- [ ] TASK-02: Print (needs TASK-01)\n");
/// assert_eq!(spec.tasks[1].title, "Print");
/// assert_eq!(spec.tasks[1].depends_on, ["TASK-01"]);
/// assert!(spec.tasks[0].done && spec.problems.is_empty());
/// ```
pub fn read(text: &str) -> Spec {
    let outline = outline::read(text);
    let (drafts, boxes_without_id) = draft::find(text, &outline.blocks);
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

    /// The ids most like this one, for "did you mean".
    pub fn nearest(&self, id: &str) -> Vec<&str> {
        crate::domain::nearest(id, self.tasks.iter().map(|task| task.id.as_str()))
    }
}

/// The text with the task's box ticked. Nothing if there is no box, if it is ticked already, or if its line is no
/// longer what it was when the spec was read: then the spec has to be read again.
pub fn tick(text: &str, task: &Task) -> Option<String> {
    let at = task.tick.filter(|_| !task.done)?;
    let (start, line) = line_around(text, at)?;
    if (start, line) != (task.box_line.0, task.box_line.1.as_str()) {
        return None;
    }
    let (before, after) = (text.get(..at)?, text.get(at + 1..)?);
    Some(format!("{before}x{after}"))
}

/// The second of two tasks with one id is a problem and no task.
fn without_duplicates(drafts: Vec<Draft>) -> (Vec<Draft>, Vec<Problem>) {
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

fn finish(draft: &Draft, text: &str, known: &KnownIds) -> Task {
    let (title, depends_on) = phrase::read(draft, known);
    let tick = draft.check.map(|check| check.at);
    let (start, line) = tick.and_then(|at| line_around(text, at)).unwrap_or_default();
    let box_line = (start, line.to_string());
    let done = draft.check.is_some_and(|check| check.is_ticked);
    Task { id: draft.id.clone(), title, line: draft.line, done, depends_on, tick, box_line }
}

/// Where the line begins that this byte is in, and the line without its end.
fn line_around(text: &str, at: usize) -> Option<(usize, &str)> {
    let is_end = |c: char| c == '\n' || c == '\r';
    let start = text.get(..at)?.rfind(is_end).map_or(0, |end| end + 1);
    let end = text.get(at..)?.find(is_end).map_or(text.len(), |length| at + length);
    Some((start, text.get(start..end)?))
}
