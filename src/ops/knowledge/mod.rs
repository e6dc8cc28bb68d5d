//! Knowledge: what sessions learned about a project, and whether it still holds.

pub mod anchors;
mod ask;
mod capture;
mod expression;
mod lesson;
mod merge_state;
mod merged_commits;
pub(in crate::ops) mod offers;
mod project;
mod stats;
mod tell;
mod use_marks;
mod verdict_cache;

pub use crate::store::KnowledgeUse;
pub use ask::{KnowledgeAnswer, KnowledgeQuestion, ShownAnchor, ShownRecord, StalenessFilter, know, show};
pub use capture::CaptureError;
pub use expression::evaluate;
pub use lesson::Lesson;
pub use stats::{KnowledgeStats, stats};
pub(in crate::ops) use tell::CheckedBatch;
pub use tell::{KnowledgeRequest, PlaceBase, tell};
