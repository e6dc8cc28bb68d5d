//! Crews: a plan is made by a planner, checked, and written for those who carry it out.

mod plan_file;
mod plan_source;
mod planning;

pub use plan_file::PlanWrite;
pub use plan_source::{PlanSource, read_source};
pub use planning::{DraftedTask, PlanDraft, PlanJudgement, PlanRequest, Planning};
