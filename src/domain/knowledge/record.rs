//! A record: what all writers together say.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::anchor::Anchor;
use super::cell::Version;
use super::confidence::confidence;
use super::kinds::DecisionStatus;
use super::record_id::RecordId;
use super::statement::{Origin, Statement};

/// Somebody found a record true.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Confirmation {
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub id: RecordId,
    /// The latest statement.
    pub statement: Statement,
    /// Statements that others made without having seen the latest one, and that nobody has settled since; latest first.
    pub also_said: Vec<Statement>,
    /// The versions of the text that whoever says it anew replaces: the shown one, and what it replaced.
    pub versions: Vec<Version>,
    pub tags: BTreeMap<String, String>,
    /// Names and paths by group: `decisions`, `files`.
    pub related: BTreeMap<String, BTreeSet<String>>,
    pub anchors: Vec<Anchor>,
    pub also: BTreeSet<String>,
    pub evidence: Vec<String>,
    pub concepts: Vec<String>,
    pub symbols: Vec<String>,
    pub supersedes: BTreeSet<RecordId>,
    /// The records that supersede this one. If records supersede each other in a circle, none of them is superseded.
    pub superseded_by: BTreeSet<RecordId>,
    pub confirmations: Vec<Confirmation>,
    /// 0 to 1.
    pub confidence: f64,
    /// When anything of it was last changed.
    pub changed: Timestamp,
}

impl Record {
    /// A record of which nobody said more than one statement.
    pub fn new(id: RecordId, statement: Statement) -> Self {
        Self {
            id,
            confidence: confidence(statement.basis, 0),
            changed: statement.origin.at,
            statement,
            also_said: Vec::new(),
            versions: Vec::new(),
            tags: BTreeMap::new(),
            related: BTreeMap::new(),
            anchors: Vec::new(),
            also: BTreeSet::new(),
            evidence: Vec::new(),
            concepts: Vec::new(),
            symbols: Vec::new(),
            supersedes: BTreeSet::new(),
            superseded_by: BTreeSet::new(),
            confirmations: Vec::new(),
        }
    }

    pub fn is_superseded(&self) -> bool {
        !self.superseded_by.is_empty()
    }

    /// Whether a decision holds: one that another supersedes does not, whatever it was recorded as.
    pub fn status(&self) -> Option<DecisionStatus> {
        self.statement
            .status
            .map(|status| if self.is_superseded() { DecisionStatus::Superseded } else { status })
    }
}
