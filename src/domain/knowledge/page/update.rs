//! What the committed page of a record adds to the log.
//!
//! It follows from the log, the page and its history alone, so it is the same in every clone that has these, and is
//! computed whenever knowledge is read. Whoever publishes the record anew writes it to the log, because from then on the
//! page is one that was written. The keys and stamps are the same in every clone, so two of them do not have it twice.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::page_hash::PageHash;
use super::published::{PagePublication, page_writer};
use super::record_page::RecordPage;
use crate::domain::knowledge::cell::{Cell, CellKey, CellValue, RecordField, Stamp};
use crate::domain::knowledge::statement::{Origin, Statement};

/// The commit that gave a page its present content.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PageCommit {
    pub id: String,
    pub author: String,
    pub at: Timestamp,
}

impl PageCommit {
    /// When it counts as made. Git counts in seconds: it may have been any moment of this one, and what was recorded in
    /// the same second was mostly there before.
    pub fn milliseconds(&self) -> i64 {
        self.at.as_second().saturating_mul(1000).saturating_add(999)
    }
}

/// What a page was before it was edited.
#[derive(Clone, Debug, Default)]
pub struct PageBase {
    /// The version of the page that was last written from the log; `None` if its history has none.
    pub page: Option<RecordPage>,
    /// When that was, and what its reader has seen.
    pub publication: PagePublication,
}

/// The cells that say what differs from the page as it was written, by the author of the commit.
pub fn page_update(page: &RecordPage, hash: &PageHash, commit: &PageCommit, base: &PageBase) -> Vec<Cell> {
    let Some(writer) = page_writer(hash, &commit.id) else { return Vec::new() };
    // An edit is later than what it is an edit of, whatever the clocks say.
    let stamp = Stamp::after(base.publication.stamp, commit.milliseconds());
    let (before, now) = (base.page.as_ref().map(entries).unwrap_or_default(), entries(page));
    let mut changes: BTreeMap<(RecordField, String), CellValue> = BTreeMap::new();
    for place in before.keys().filter(|place| !now.contains_key(place)) {
        changes.insert(place.clone(), CellValue::Removed);
    }
    changes.extend(now.into_iter().filter(|(place, value)| before.get(place) != Some(value)));
    if base.page.as_ref().is_none_or(|before| !before.is_same_statement(page)) {
        let statement = Box::new(statement(page, commit));
        let replaces = base.publication.versions.clone();
        changes.insert((RecordField::Text, String::new()), CellValue::Statement { statement, replaces });
    }
    let cell = |((field, entry), value)| {
        let key = CellKey { record: page.id.clone(), field, entry, writer: writer.clone() };
        Cell { key, stamp, value }
    };
    changes.into_iter().map(cell).collect()
}

fn statement(page: &RecordPage, commit: &PageCommit) -> Statement {
    Statement {
        description: page.description.clone(),
        rationale: page.rationale.clone(),
        summary: page.summary.clone(),
        status: page.status,
        impact: page.impact,
        pattern_type: page.pattern_type.clone(),
        ends: page.ends.clone(),
        basis: page.basis,
        origin: Origin {
            author: commit.author.clone(),
            at: commit.at,
            commit: Some(commit.id.clone()),
            branch: None,
        },
    }
}

/// All entries of all sets.
fn entries(page: &RecordPage) -> BTreeMap<(RecordField, String), CellValue> {
    let present = || CellValue::Present(String::new());
    let mut entries = BTreeMap::new();
    for (tag, value) in &page.tags {
        entries.insert((RecordField::Tag, tag.clone()), CellValue::Present(value.clone()));
    }
    for (group, names) in &page.related {
        for name in names {
            entries.insert((RecordField::Related, format!("{group}/{name}")), present());
        }
    }
    for (entry, anchor) in &page.anchors {
        entries.insert((RecordField::Anchor, entry.clone()), CellValue::Anchor(Box::new(anchor.clone())));
    }
    let sets = [
        (RecordField::Also, &page.also),
        (RecordField::Evidence, &page.evidence),
        (RecordField::Concept, &page.concepts),
        (RecordField::Symbol, &page.symbols),
    ];
    for (field, set) in sets {
        entries.extend(set.iter().map(|entry| ((field, entry.clone()), present())));
    }
    let old = page.supersedes.iter().map(|id| ((RecordField::Supersedes, id.to_string()), present()));
    entries.extend(old);
    entries
}
