//! Knowledge: what sessions learned about a project, and whether it still holds.

pub mod anchors;
mod ask;
mod capture;
mod documents;
mod expression;
mod lesson;
mod merge_state;
mod merged_commits;
pub(in crate::ops) mod offers;
mod page_index;
mod pages;
mod project;
mod project_identity;
mod publish;
mod record_log;
mod stats;
mod tell;
mod upkeep;
mod use_marks;
mod verdict_cache;

pub use crate::store::KnowledgeUse;
pub use ask::{
    KnowledgeAnswer, KnowledgeQuestion, ShownAnchor, ShownRecord, StalenessFilter, know, show, show_as_of,
};
pub use capture::CaptureError;
pub use documents::{DocumentPlace, FoundDocuments, FoundSection, init};
pub use expression::{evaluate, evaluate_as_of, expression_error};
pub use lesson::Lesson;
pub use project::log_directory;
pub(in crate::ops) use project::log_here;
pub use project_identity::ProjectIdentity;
pub use publish::{
    PageOutcome, PageRefusal, PageReport, PublishChoice, PublishMode, PublishOutcome, left_pages, publish,
};
pub use record_log::{RecordLog, RecordLogQuestion, record_log};
pub use stats::{KnowledgeStats, stats};
pub(in crate::ops) use tell::CheckedBatch;
pub use tell::{
    KnowledgeBatch, KnowledgeRequest, KnowledgeStep, PlaceBase, batch_refusal, kind_of, kind_to_update, tell,
    tell_batch,
};
pub use upkeep::{EraseReport, PageCommits, erase, export_yjs, import, pack, write_export};
