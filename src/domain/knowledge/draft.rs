//! What somebody wants to record, before it is checked.

use std::collections::{BTreeMap, BTreeSet};

use super::action_receipt::ReceiptRemark;
use super::anchor::Anchor;
use super::kinds::{Basis, DecisionStatus, RecordKind};
use super::record_id::{RecordId, RecordName};
use super::statement::{RelationEnds, Statement};

/// A record to add or to change. What is `None` or empty stays as it is in a record that exists.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordDraft {
    pub kind: RecordKind,
    /// Derived from the text if there is none.
    pub name: Option<RecordName>,
    pub description: Option<String>,
    pub rationale: Option<String>,
    pub summary: Option<String>,
    pub status: Option<DecisionStatus>,
    pub impact: Option<u8>,
    pub pattern_type: Option<String>,
    pub ends: Option<RelationEnds>,
    pub basis: Option<Basis>,
    pub confidence: Option<f64>,
    pub tags: BTreeMap<String, String>,
    pub related: BTreeMap<String, BTreeSet<String>>,
    pub anchors: Vec<Anchor>,
    pub also: Vec<String>,
    pub evidence: Vec<String>,
    pub concepts: Vec<String>,
    pub symbols: Vec<String>,
    /// Names of records of the same kind, or `kind/name`.
    pub supersedes: Vec<String>,
    pub duplicates: DuplicatePolicy,
}

/// What to do if a record says nearly the same already.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum DuplicatePolicy {
    /// Answer with the record that is there.
    #[default]
    Answer,
    /// Add the new one nevertheless.
    AddAnyway,
}

impl RecordDraft {
    pub fn new(kind: RecordKind) -> Self {
        Self {
            kind,
            name: None,
            description: None,
            rationale: None,
            summary: None,
            status: None,
            impact: None,
            pattern_type: None,
            ends: None,
            basis: None,
            confidence: None,
            tags: BTreeMap::new(),
            related: BTreeMap::new(),
            anchors: Vec::new(),
            also: Vec::new(),
            evidence: Vec::new(),
            concepts: Vec::new(),
            symbols: Vec::new(),
            supersedes: Vec::new(),
            duplicates: DuplicatePolicy::default(),
        }
    }

    /// Each text of it with the name of its field.
    pub(super) fn texts(&self) -> Vec<(&'static str, &str)> {
        let single = [
            ("description", self.description.as_deref()),
            ("rationale", self.rationale.as_deref()),
            ("summary", self.summary.as_deref()),
            ("type", self.pattern_type.as_deref()),
            ("from", self.ends.as_ref().map(|ends| ends.from.as_str())),
            ("to", self.ends.as_ref().map(|ends| ends.to.as_str())),
        ];
        let single = single.into_iter().filter_map(|(field, text)| Some((field, text?)));
        let lists = [
            ("also", &self.also),
            ("evidence", &self.evidence),
            ("concepts", &self.concepts),
            ("symbols", &self.symbols),
        ];
        let lists =
            lists.into_iter().flat_map(|(field, list)| list.iter().map(move |text| (field, text.as_str())));
        let tags =
            self.tags.iter().flat_map(|(tag, value)| [("tags", tag.as_str()), ("tags", value.as_str())]);
        let groups = self.related.iter().flat_map(|(group, names)| std::iter::once(group).chain(names));
        let related = groups.map(|text| ("related", text.as_str()));
        single.chain(lists).chain(tags).chain(related).collect()
    }

    /// The text by which near-duplicates are recognised and names are derived.
    pub fn headline(&self) -> &str {
        let texts = [&self.description, &self.summary, &self.rationale];
        texts.into_iter().flatten().map(String::as_str).find(|text| !text.is_empty()).unwrap_or_default()
    }

    /// Whether it gives a part of the statement, which is then said anew.
    pub(super) fn has_statement(&self) -> bool {
        let texts = [&self.description, &self.rationale, &self.summary, &self.pattern_type];
        texts.into_iter().any(Option::is_some)
            || self.status.is_some()
            || self.impact.is_some()
            || self.ends.is_some()
            || self.basis.is_some()
    }

    /// What becomes of the text of another author if this one says a part of it anew.
    pub(super) fn remarks(&self, before: &Statement, author: &str) -> Vec<ReceiptRemark> {
        if before.origin.author == author {
            return Vec::new();
        }
        let texts = [(&self.description, &before.description), (&self.summary, &before.summary)];
        let is_new = texts.iter().any(|(given, _)| given.is_some());
        let is_kept = texts.iter().any(|(given, before)| given.is_none() && !before.is_empty());
        let is_dropped = is_new && self.rationale.is_none() && !before.rationale.is_empty();
        let author = || before.origin.author.clone();
        let kept = is_kept.then(|| ReceiptRemark::TookOverText { author: author() });
        kept.into_iter()
            .chain(is_dropped.then(|| ReceiptRemark::DroppedReason { author: author() }))
            .collect()
    }

    /// The fields given, and for the others what was said before. A sentence of another author takes over neither the
    /// reason for the old one nor how that was known.
    pub(super) fn fill(&self, before: Option<&Statement>, author: &str) -> StatementTexts {
        let is_new = self.description.is_some() || self.summary.is_some();
        let reasons = before.filter(|before| !is_new || before.origin.author == author);
        let text = |given: &Option<String>, before: Option<&String>| {
            given.clone().or_else(|| before.cloned()).unwrap_or_default()
        };
        StatementTexts {
            description: text(&self.description, before.map(|one| &one.description)),
            rationale: text(&self.rationale, reasons.map(|one| &one.rationale)),
            summary: text(&self.summary, before.map(|one| &one.summary)),
            pattern_type: text(&self.pattern_type, before.map(|one| &one.pattern_type)),
            status: self.status.or(before.and_then(|one| one.status)),
            impact: self.impact.or(before.and_then(|one| one.impact)),
            ends: self.ends.clone().or_else(|| before.and_then(|one| one.ends.clone())),
            basis: self.basis.or(reasons.map(|one| one.basis)),
        }
    }
}

/// A statement without its author.
pub(super) struct StatementTexts {
    pub(super) description: String,
    pub(super) rationale: String,
    pub(super) summary: String,
    pub(super) pattern_type: String,
    pub(super) status: Option<DecisionStatus>,
    pub(super) impact: Option<u8>,
    pub(super) ends: Option<RelationEnds>,
    pub(super) basis: Option<Basis>,
}

/// One step of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum KnowledgeAction {
    Record(Box<RecordDraft>),
    Unlink(RelationEnds),
    /// Retire a record.
    Delete {
        kind: Option<RecordKind>,
        name: String,
    },
    UpdateConfidence {
        kind: Option<RecordKind>,
        name: String,
        confidence: f64,
    },
    AddEvidence {
        name: String,
        evidence: Vec<String>,
    },
    /// Say that a decision supersedes another one that exists.
    Supersede {
        old: String,
        new: String,
    },
    Confirm {
        kind: Option<RecordKind>,
        name: String,
    },
}

/// The name of the record for a relationship: the same ends have the same record.
pub fn relation_name(ends: &RelationEnds) -> Option<RecordName> {
    let name = RecordName::derive(&format!("{} {} {}", ends.from, ends.relation, ends.to))?;
    let whole = format!("{}\0{}\0{}", ends.from, ends.relation, ends.to);
    let mark = &crate::domain::sha256(whole.as_bytes())[..6];
    let room = super::record_id::MAX_RECORD_NAME - 7;
    let start = name.as_str().get(..room).unwrap_or(name.as_str()).trim_end_matches('-');
    RecordName::new(&format!("{start}-{mark}")).ok()
}

/// The id that a name stands for, given the kind if it is known.
pub(super) fn id_of(kind: RecordKind, name: &str) -> Option<RecordId> {
    RecordId::parse(name).or_else(|| Some(RecordId::new(kind, RecordName::new(name).ok()?)))
}
