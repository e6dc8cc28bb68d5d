//! What is wrong with a file of the log. The rest of the log is read all the same.

use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum LogProblemKind {
    /// A writer was killed while it appended.
    TornTail,
    /// Bytes were changed or cut out.
    Damaged,
    /// The file can't be read at all.
    Unreadable,
    /// A newer version of msg wrote something that this one does not know.
    Newer,
    /// Cells that are not as they should be, from a program that writes Yjs.
    Malformed,
    /// Something that other changes build on is missing.
    Incomplete,
}

impl LogProblemKind {
    pub(super) const ALL: [Self; 6] =
        [Self::TornTail, Self::Damaged, Self::Unreadable, Self::Newer, Self::Malformed, Self::Incomplete];
}

#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct LogProblem {
    /// The file, or the directory of the log.
    pub path: PathBuf,
    pub kind: LogProblemKind,
    /// A sentence without the path.
    pub text: String,
}

impl LogProblem {
    pub fn new(path: &Path, kind: LogProblemKind, text: impl Into<String>) -> Self {
        Self { path: path.to_path_buf(), kind, text: text.into() }
    }
}

impl std::fmt::Display for LogProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`: {}", self.path.display(), self.text)
    }
}
