//! What became of a step of a batch.

use std::fmt;

use super::record_id::RecordId;
use crate::domain::{quote_code, quote_name};

/// What became of a step.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ActionReceipt {
    pub id: RecordId,
    pub outcome: ActionOutcome,
    pub remarks: Vec<ReceiptRemark>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ActionOutcome {
    Added,
    Updated,
    /// A record says nearly the same; nothing was written.
    AlreadyThere,
    Retired,
    Confirmed,
}

/// What an update changed besides the fields that were given.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ReceiptRemark {
    /// The text of another author became that of this one.
    TookOverText { author: String },
    /// The reason that another author gave for the old text was not kept.
    DroppedReason { author: String },
    /// Anchors that gave way to new ones in the same files.
    ReplacedAnchors(Vec<String>),
}

impl ActionReceipt {
    pub(super) fn new(id: RecordId, outcome: ActionOutcome) -> Self {
        Self { id, outcome, remarks: Vec::new() }
    }
}

/// A sentence.
impl fmt::Display for ReceiptRemark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TookOverText { author } => {
                write!(f, "The text of {} stays, and is now recorded as yours.", quote_name(author))
            }
            Self::DroppedReason { author } => {
                let author = quote_name(author);
                write!(
                    f,
                    "The reason that {author} gave for the old text was not kept. Give one if it has one."
                )
            }
            Self::ReplacedAnchors(anchors) => {
                let anchors: Vec<String> = anchors.iter().map(|anchor| quote_code(anchor)).collect();
                write!(f, "Replaced {}, because you gave a place in the same file.", anchors.join(", "))
            }
        }
    }
}
