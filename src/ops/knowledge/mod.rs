//! Knowledge: what sessions learned about a project, and whether it still holds.

pub mod anchors;
mod ask;
mod capture;
mod expression;
mod lesson;
mod merge_state;
mod merged_commits;
mod project;
mod tell;
mod verdict_cache;

pub use ask::{KnowledgeAnswer, KnowledgeQuestion, ShownAnchor, ShownRecord, StalenessFilter, know, show};
pub use capture::CaptureError;
pub use expression::evaluate;
pub use lesson::Lesson;
pub use tell::{KnowledgeRequest, PlaceBase, tell};
