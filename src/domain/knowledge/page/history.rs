//! Whether a committed page was edited, and since which version.

use super::page_hash::PageHash;
use super::published::{PagePublication, PublishedPages};
use super::update::PageCommit;
use crate::domain::knowledge::record_id::RecordId;

/// A page as it is committed, and what it was before.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PageHistory {
    pub id: RecordId,
    /// `None`: the page was deleted.
    pub head: Option<PageHash>,
    /// The commit that gave it this content.
    pub commit: PageCommit,
    /// All versions that the branch ever had, the present one too.
    pub versions: Vec<PageHash>,
}

/// An edit of a page by hand.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PageEdit {
    /// What was edited: of the versions that were written from the log, the last one.
    pub base: Option<PageHash>,
    pub publication: PagePublication,
}

impl PageHistory {
    /// `None`: the page is there as it was last written, or not at all.
    pub fn edit(&self, published: &PublishedPages) -> Option<PageEdit> {
        let head = self.head.as_ref()?;
        match published.latest_of(&self.id, &self.versions) {
            Some((base, _)) if base == head => None,
            Some((base, publication)) => {
                Some(PageEdit { base: Some(base.clone()), publication: publication.clone() })
            }
            None => {
                // A branch that was squashed has only the outcome. Whoever edited it has seen what was written last.
                let seen = published.latest_until(&self.id, self.commit.at.as_millisecond());
                Some(PageEdit { base: None, publication: seen.cloned().unwrap_or_default() })
            }
        }
    }
}
