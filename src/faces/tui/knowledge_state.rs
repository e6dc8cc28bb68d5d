//! What the tab *Knowledge* shows: the records that match what is typed, or one of them in full.

use super::model::{KnowledgeList, KnowledgePage};

/// What is shown of the records. Only that is read.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) enum KnowledgeFocus {
    #[default]
    Nothing,
    /// The records that match these words; without words, the latest.
    Search(String),
    /// The record with this id.
    Record(String),
}

/// Work for the knowledge thread.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum KnowledgeCall {
    /// From now on this is shown.
    Show(KnowledgeFocus),
    /// The user says that the record with this id is right.
    Confirm(String),
    /// The user retires the record with this id.
    Retire(String),
}

#[derive(Debug, Default)]
pub(super) struct KnowledgeState {
    /// `None` until it was read.
    pub(super) list: Option<KnowledgeList>,
    pub(super) open: Option<OpenRecord>,
    /// The words that were being searched when a record was to be opened. The best answer to them is opened.
    pub(super) awaited: Option<String>,
    /// What was last said to be shown.
    pub(super) followed: KnowledgeFocus,
}

/// A record that is shown in full.
#[derive(Debug)]
pub(super) struct OpenRecord {
    pub(super) id: String,
    /// `None` until it was read.
    pub(super) page: Option<KnowledgePage>,
    /// The first visible row.
    pub(super) from: usize,
    /// The next key decides whether it is retired.
    pub(super) is_retiring: bool,
}

impl KnowledgeState {
    pub(super) fn open(&mut self, id: String) {
        self.open = Some(OpenRecord { id, page: None, from: 0, is_retiring: false });
    }

    /// Takes what was read of a record; `None` if it is not there any more.
    pub(super) fn take_page(&mut self, id: &str, page: Option<KnowledgePage>) {
        match (&mut self.open, page) {
            (Some(open), Some(page)) if open.id == id => open.page = Some(page),
            (Some(open), None) if open.id == id => self.open = None,
            // Another one was opened meanwhile.
            _ => {}
        }
    }

    /// What must be answered before anything else.
    pub(super) fn question(&self) -> Option<&'static str> {
        let is_retiring = self.open.as_ref().is_some_and(|open| open.is_retiring);
        is_retiring.then_some("Retire it? y: yes, any other key: no")
    }
}
