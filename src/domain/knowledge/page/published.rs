//! Which pages were written from the log. A page that was is no edit of anybody, whoever commits it.
//!
//! Whoever writes a page adds a cell to the log: the hash of the page, and the versions of the text that it shows. So
//! everybody who has the log can tell a page that was written from one that was edited.

use std::collections::HashMap;

use super::page_hash::PageHash;
use crate::domain::knowledge::cell::{Cell, CellKey, CellValue, RecordField, Stamp, Version, WriterId};
use crate::domain::knowledge::record::Record;
use crate::domain::knowledge::record_id::RecordId;

/// What the ids of pages as writers begin with.
const WRITER: &str = "pg-";

/// When a page was written, and the versions of the text that its reader has seen.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PagePublication {
    pub stamp: Stamp,
    pub versions: Vec<Version>,
}

/// The pages that were written from the log, by record and hash.
#[derive(Clone, Debug, Default)]
pub struct PublishedPages(HashMap<RecordId, HashMap<PageHash, PagePublication>>);

impl PublishedPages {
    pub fn of<'c>(cells: impl IntoIterator<Item = &'c Cell>) -> Self {
        let mut pages = Self::default();
        for cell in cells.into_iter().filter(|cell| cell.key.field == RecordField::Page) {
            let CellValue::Present(text) = &cell.value else { continue };
            let Some(hash) = PageHash::stored(&cell.key.entry) else { continue };
            let versions = text.split_ascii_whitespace().filter_map(read_version);
            let known = pages.0.entry(cell.key.record.clone()).or_default().entry(hash).or_default();
            known.stamp = known.stamp.max(cell.stamp);
            known.versions.extend(versions);
        }
        for known in pages.0.values_mut().flat_map(HashMap::values_mut) {
            known.versions.sort();
            known.versions.dedup();
        }
        pages
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The records of which a page was ever written.
    pub fn records(&self) -> impl Iterator<Item = &RecordId> {
        self.0.keys()
    }

    pub fn get(&self, id: &RecordId, hash: &PageHash) -> Option<&PagePublication> {
        self.0.get(id)?.get(hash)
    }

    /// Of these versions of a page, the one that was written last.
    pub fn latest_of<'h>(
        &self,
        id: &RecordId,
        versions: impl IntoIterator<Item = &'h PageHash>,
    ) -> Option<(&'h PageHash, &PagePublication)> {
        let known = self.0.get(id)?;
        let written = versions.into_iter().filter_map(|hash| Some((hash, known.get(hash)?)));
        written.max_by_key(|(hash, publication)| (publication.stamp, *hash))
    }

    /// The page that was written last until then, whether or not it was committed.
    pub fn latest_until(&self, id: &RecordId, milliseconds: i64) -> Option<&PagePublication> {
        let until = self.0.get(id)?.iter().filter(|(_, one)| one.stamp.milliseconds <= milliseconds);
        until.max_by_key(|(hash, one)| (one.stamp, *hash)).map(|(_, one)| one)
    }
}

/// Notes in the log that this page of a record was written.
pub fn publication_cell(record: &Record, hash: &PageHash, writer: &WriterId, stamp: Stamp) -> Cell {
    let versions: Vec<String> = record.versions.iter().map(version_text).collect();
    let key = CellKey {
        record: record.id.clone(),
        field: RecordField::Page,
        entry: hash.as_str().to_string(),
        writer: writer.clone(),
    };
    Cell { key, stamp, value: CellValue::Present(versions.join(" ")) }
}

fn version_text(version: &Version) -> String {
    format!("{}.{}.{}", version.stamp.milliseconds, version.stamp.counter, version.writer)
}

fn read_version(text: &str) -> Option<Version> {
    let mut parts = text.splitn(3, '.');
    let (milliseconds, counter) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some(Version { stamp: Stamp { milliseconds, counter }, writer: WriterId::new(parts.next()?)? })
}

/// The writer of what a page says: the page as it was committed, the same in every clone.
pub(super) fn page_writer(hash: &PageHash, commit: &str) -> Option<WriterId> {
    let commit = commit.get(..12).unwrap_or(commit);
    WriterId::new(&format!("{WRITER}{}-{commit}", hash.as_str()))
}

/// Whoever replaced the text of a page has replaced what the page was written from.
///
/// In a clone without the log a page is all that is known of a record. Later, when the log is there, the page is known
/// to be written from it.
pub fn link_replaced_pages(cells: &mut [Cell], published: &PublishedPages) {
    let is_page = |version: &Version| version.writer.as_str().starts_with(WRITER);
    let texts = cells.iter().filter(|cell| cell.key.field == RecordField::Text).map(Cell::version);
    let pages: HashMap<WriterId, Version> =
        texts.filter(is_page).map(|version| (version.writer.clone(), version)).collect();
    for cell in cells {
        let version = cell.version();
        let CellValue::Statement { replaces, .. } = &mut cell.value else { continue };
        if is_page(&version) {
            // Whoever edited it has seen the page that was written before. In a clone without the log nobody knew that.
            let seen = published.latest_until(&cell.key.record, cell.stamp.milliseconds);
            let seen = seen.into_iter().filter(|one| one.stamp < cell.stamp).flat_map(|one| &one.versions);
            let missing: Vec<Version> = seen.filter(|one| !replaces.contains(one)).cloned().collect();
            replaces.extend(missing);
        }
        let seen: Vec<Version> = replaces.iter().filter(|version| is_page(version)).cloned().collect();
        for version in seen {
            let digits = version.writer.as_str()[WRITER.len()..].split('-').next().unwrap_or_default();
            let written = PageHash::stored(digits).and_then(|hash| published.get(&cell.key.record, &hash));
            let written = written.into_iter().flat_map(|publication| &publication.versions);
            for other in written.chain(pages.get(&version.writer)) {
                if other.stamp < cell.stamp && !replaces.contains(other) {
                    replaces.push(other.clone());
                }
            }
        }
    }
}
