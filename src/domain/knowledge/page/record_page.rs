//! What a page says of a record.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::knowledge::anchor::Anchor;
use crate::domain::knowledge::kinds::{Basis, DecisionStatus, RecordKind};
use crate::domain::knowledge::record::Record;
use crate::domain::knowledge::record_id::{RecordId, RecordName};
use crate::domain::knowledge::statement::RelationEnds;

/// Where the pages of a project are, below its root.
pub const PAGE_DIRECTORY: &str = "docs/knowledge";
const SUFFIX: &str = ".md";

/// The path of a record's page below the root of the project.
pub fn page_path(id: &RecordId) -> String {
    format!("{PAGE_DIRECTORY}/{}/{}{SUFFIX}", id.kind, id.name)
}

/// The record that the page at this path is about; `None` if pages are not named like this.
pub fn page_id(path: &str) -> Option<RecordId> {
    let (kind, file) = path.strip_prefix(PAGE_DIRECTORY)?.strip_prefix('/')?.split_once('/')?;
    let name = RecordName::new(file.strip_suffix(SUFFIX)?).ok()?;
    Some(RecordId::new(RecordKind::parse(kind)?, name))
}

/// A record without what changes by itself: verdicts, confirmations, who said it when.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordPage {
    pub id: RecordId,
    pub description: String,
    pub rationale: String,
    pub summary: String,
    pub status: Option<DecisionStatus>,
    pub impact: Option<u8>,
    pub pattern_type: String,
    pub ends: Option<RelationEnds>,
    pub basis: Basis,
    pub tags: BTreeMap<String, String>,
    pub related: BTreeMap<String, BTreeSet<String>>,
    /// By how they are typed.
    pub anchors: BTreeMap<String, Anchor>,
    pub also: BTreeSet<String>,
    pub evidence: BTreeSet<String>,
    pub concepts: BTreeSet<String>,
    pub symbols: BTreeSet<String>,
    pub supersedes: BTreeSet<RecordId>,
}

impl RecordPage {
    /// A page that says nothing yet.
    pub(super) fn empty(id: RecordId) -> Self {
        Self {
            id,
            description: String::new(),
            rationale: String::new(),
            summary: String::new(),
            status: None,
            impact: None,
            pattern_type: String::new(),
            ends: None,
            basis: Basis::Told,
            tags: BTreeMap::new(),
            related: BTreeMap::new(),
            anchors: BTreeMap::new(),
            also: BTreeSet::new(),
            evidence: BTreeSet::new(),
            concepts: BTreeSet::new(),
            symbols: BTreeSet::new(),
            supersedes: BTreeSet::new(),
        }
    }

    pub fn of(record: &Record) -> Self {
        let said = &record.statement;
        let set = |list: &[String]| list.iter().cloned().collect();
        Self {
            id: record.id.clone(),
            description: said.description.clone(),
            rationale: said.rationale.clone(),
            summary: said.summary.clone(),
            status: said.status,
            impact: said.impact,
            pattern_type: said.pattern_type.clone(),
            ends: said.ends.clone(),
            basis: said.basis,
            tags: record.tags.clone(),
            related: record.related.clone(),
            anchors: record.anchors.iter().map(|one| (one.target.to_string(), one.clone())).collect(),
            also: record.also.clone(),
            evidence: set(&record.evidence),
            concepts: set(&record.concepts),
            symbols: set(&record.symbols),
            supersedes: record.supersedes.clone(),
        }
    }

    /// Whether both have the same statement. The rest is compared entry by entry.
    pub(super) fn is_same_statement(&self, other: &Self) -> bool {
        self.description == other.description
            && self.rationale == other.rationale
            && self.summary == other.summary
            && self.status == other.status
            && self.impact == other.impact
            && self.pattern_type == other.pattern_type
            && self.ends == other.ends
            && self.basis == other.basis
    }

    /// The title of the page, made of the name.
    pub(super) fn title(&self) -> String {
        let words = self.id.name.as_str().replace('-', " ");
        let (first, rest) = words.split_at(1);
        format!("{}{rest}", first.to_uppercase())
    }
}

/// The texts of a page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PageSection {
    Description,
    Rationale,
    Summary,
}

impl PageSection {
    /// The sections of a kind in their order, with their headings; `None`: it stands first, without a heading.
    /// Decisions have the headings of MADR.
    pub(super) fn of(kind: RecordKind) -> [(Self, Option<&'static str>); 3] {
        let summary = (Self::Summary, Some("Summary"));
        match kind {
            RecordKind::Decision => [
                (Self::Rationale, Some("Context and Problem Statement")),
                (Self::Description, Some("Decision Outcome")),
                summary,
            ],
            RecordKind::Tried => {
                [(Self::Description, None), (Self::Rationale, Some("Why It Failed")), summary]
            }
            _ => [(Self::Description, None), (Self::Rationale, Some("Why")), summary],
        }
    }

    pub(super) fn text(self, page: &RecordPage) -> &str {
        match self {
            Self::Description => &page.description,
            Self::Rationale => &page.rationale,
            Self::Summary => &page.summary,
        }
    }

    pub(super) fn text_mut(self, page: &mut RecordPage) -> &mut String {
        match self {
            Self::Description => &mut page.description,
            Self::Rationale => &mut page.rationale,
            Self::Summary => &mut page.summary,
        }
    }
}
