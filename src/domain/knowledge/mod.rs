//! Knowledge: what sessions learned about a project, and how the statements of several writers become one record.
//!
//! A writer only ever adds [`Cell`]s under its own id. What a record says is computed from all cells whenever it is read:
//! [`merge`].

mod action_receipt;
mod anchor;
mod batch_problem;
mod cell;
mod confidence;
mod document_sections;
mod draft;
mod draft_check;
mod kinds;
mod markdown_document;
mod merge;
mod named_places;
mod offer;
mod offer_text;
mod outline;
pub mod page;
mod plan;
mod record;
mod record_id;
mod row;
pub mod scheme;
pub mod search;
mod secret_scan;
mod snapshot;
mod statement;
mod timeline;
mod verdict;

pub use action_receipt::{ActionOutcome, ActionReceipt, ReceiptRemark};
pub use anchor::{
    Anchor, AnchorError, AnchorPath, AnchorTarget, MAX_ANCHOR_LINE, MAX_ANCHOR_LINES, TextHash,
};
pub use batch_problem::{BatchProblem, BatchProblemKind};
pub use cell::{Cell, CellKey, CellValue, RecordField, Stamp, Version, WriterId};
pub use document_sections::{DocumentSection, document_sections};
pub use draft::{DuplicatePolicy, KnowledgeAction, RecordDraft};
pub use draft_check::{MAX_ENTRIES, MAX_STATEMENT};
pub use kinds::{AnchorVerdict, Basis, DecisionStatus, RecordKind, RelationType};
pub use markdown_document::markdown_document;
pub use merge::merge;
pub use named_places::NamedPlaces;
pub use offer::{KnowledgeOffer, OfferKey, OverviewRow, TASK_TAG};
pub use offer_text::{
    ASK_AFTER_DECISION, WorkSurroundings, ask_at_stop, offer_text, overview_text, stale_text,
};
pub use outline::{Outline, OutlineSymbol, SymbolKind, SymbolLookupError};
pub use plan::{FindDuplicate, KnowledgePlan, PlanContext, link, plan};
pub use record::{Confirmation, Record};
pub use record_id::{MAX_RECORD_NAME, RecordId, RecordName, RecordNameError};
pub use row::{Publication, RecordState, TableValue, full_text, index_row, record_marks, section_row, table};
pub use secret_scan::{FoundSecret, find_known_secret, find_secret};
pub use snapshot::KnowledgeSnapshot;
pub use statement::{Origin, RelationEnds, Statement};
pub use timeline::{KnowledgeEvent, KnowledgeEventKind, snapshot_as_of, snapshot_of_retired, timeline};
pub use verdict::{AnchorFinding, AnchoredFile, has_word, judge_in_file, plain_name};
