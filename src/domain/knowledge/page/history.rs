//! Which committed version of a page counts, whether it was edited, and since which version.

use super::page_hash::PageHash;
use super::published::{PagePublication, PublishedPages};
use super::update::PageCommit;
use crate::domain::knowledge::record_id::RecordId;

/// A page as it is committed, and what it was before.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PageHistory {
    pub id: RecordId,
    /// `None`: the page was deleted, or its content is not known.
    pub head: Option<PageHash>,
    /// The version that counts; `None` if none could ever be read.
    pub last: Option<LastPage>,
    /// All versions that the branch ever had, the present one too.
    pub versions: Vec<PageHash>,
}

/// The last version of a page that can be read: the present one, or what it was before it was deleted or damaged.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LastPage {
    pub hash: PageHash,
    /// The commit that gave it this content.
    pub commit: PageCommit,
    /// Whether the page was deleted since.
    pub is_removed: bool,
    /// Later versions, which can't be read.
    pub unreadable: Vec<PageHash>,
}

/// What a commit made of a page, with the contents as git names them. `None`: there was no page.
#[derive(Clone, Copy, Debug)]
pub struct PageChange<'c> {
    pub now: Option<&'c str>,
    pub before: Option<&'c str>,
}

/// The last content of a page that can be read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LastContent<'c> {
    pub content: &'c str,
    /// The number of the change that made it.
    pub change: usize,
    /// Whether the page was deleted since.
    pub is_removed: bool,
    /// Later contents, which can't be read.
    pub unreadable: Vec<&'c str>,
}

/// Goes back from the content that `HEAD` has to the last one that can be read. The changes come newest first.
pub fn last_content<'c>(
    changes: &[PageChange<'c>],
    head: Option<&'c str>,
    is_readable: impl Fn(&str) -> bool,
) -> Option<LastContent<'c>> {
    // Merged branches may have had other versions meanwhile.
    let mut change = changes.iter().position(|change| change.now == head).unwrap_or_default();
    let (mut now, mut is_removed, mut unreadable) = (head, false, Vec::new());
    loop {
        let before = changes.get(change)?.before;
        match now {
            Some(content) if is_readable(content) => {
                return Some(LastContent { content, change, is_removed, unreadable });
            }
            Some(content) => unreadable.push(content),
            None => is_removed = true,
        }
        change += 1 + changes[change + 1..].iter().position(|older| older.now == before)?;
        now = before;
    }
}

/// An edit of a page by hand.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PageEdit<'h> {
    /// The page as it was edited.
    pub last: &'h LastPage,
    /// What was edited: of the versions that were written from the log, the last one.
    pub base: Option<PageHash>,
    pub publication: PagePublication,
}

impl PageHistory {
    /// `None`: the page is there as it was last written, or not at all.
    pub fn edit(&self, published: &PublishedPages) -> Option<PageEdit<'_>> {
        let last = self.last.as_ref()?;
        match published.latest_of(&self.id, &self.versions) {
            // Another version of this program may have written what can't be read here.
            Some((base, _)) if *base == last.hash || last.unreadable.contains(base) => None,
            Some((base, publication)) => {
                Some(PageEdit { last, base: Some(base.clone()), publication: publication.clone() })
            }
            None => {
                // A branch that was squashed has only the outcome. Whoever edited it has seen what was written last.
                let seen = published.latest_until(&self.id, last.commit.milliseconds());
                // A record that was never anything but a page is gone with it.
                let is_gone = last.is_removed && seen.is_none();
                (!is_gone).then(|| PageEdit {
                    last,
                    base: None,
                    publication: seen.cloned().unwrap_or_default(),
                })
            }
        }
    }
}
