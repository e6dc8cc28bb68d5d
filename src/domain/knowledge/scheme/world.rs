//! What an expression can look at. It has shared references alone, so there is nothing that it could change.

use std::fmt;

use jiff::Timestamp;

use crate::domain::knowledge::{AnchorVerdict, KnowledgeSnapshot, RecordId};

/// The records, and what the asker's worktree knows about them.
#[derive(Clone, Copy)]
pub struct QueryWorld<'a> {
    pub snapshot: &'a KnowledgeSnapshot,
    pub facts: &'a dyn QueryFacts,
}

impl fmt::Debug for QueryWorld<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryWorld").field("records", &self.snapshot.len()).finish_non_exhaustive()
    }
}

/// What is not in the snapshot. Ops implements it.
pub trait QueryFacts {
    /// The verdict on the record's anchors; `None` if it has none in files.
    fn verdict(&self, id: &RecordId) -> Option<AnchorVerdict>;
    /// The records that fit the words, best first.
    fn search(&self, words: &str, limit: usize) -> Vec<RecordId>;
    /// The symbols of a file; `None` if there is no such file in the project.
    fn outline(&self, path: &str) -> Option<Vec<QueryOutlineRow>>;
    /// What was said and done about a record, oldest first.
    fn history(&self, id: &RecordId) -> Vec<QueryEvent>;
    fn now(&self) -> Timestamp;
    /// Whether the asker has waited long enough. It is asked often.
    fn is_out_of_time(&self) -> bool;
}

/// A symbol of a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct QueryOutlineRow {
    pub name: String,
    /// `function`, `struct` and so on.
    pub kind: String,
    pub first_line: u32,
    pub last_line: u32,
}

/// One entry of the history of a record.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct QueryEvent {
    pub at: Timestamp,
    pub author: String,
    pub text: String,
}
