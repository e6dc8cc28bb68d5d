//! A task as it is found in a spec, before its dependencies are read.

use super::markdown::Checkbox;

/// A task whose dependencies are not read yet, because that requires the ids of all tasks.
#[derive(Debug)]
pub struct TaskDraft<'a> {
    pub id: String,
    pub line: usize,
    pub check: Option<Checkbox>,
    /// The text after the id: the rest of its line and its continuation lines.
    pub own: &'a str,
    /// Other texts that may name dependencies.
    pub sources: Vec<(DependencyContext, &'a str)>,
    /// Number of the innermost quote that contains it.
    pub quote: Option<usize>,
}

/// Which ids in a text are dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependencyContext {
    /// Those that follow a keyword.
    Anywhere,
    /// Those that follow a keyword and a colon, or a keyword in a phrase that is alone on its line.
    Alone,
    /// All ids, because the text's position already says that they are dependencies.
    Named,
}
