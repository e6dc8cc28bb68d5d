//! Crews: a plan is made by a planner and checked, and becomes a branch, task by task; any work is reviewed on demand.

mod checked_crew;
mod commit_authors;
mod crew_branch_name;
mod crew_task;
mod known_crew;
mod lost_work;
mod plan_file;
mod plan_source;
mod planning;
mod review;
mod review_target;
mod work;

pub use checked_crew::{Crew, CrewRequest, check};
pub use crew_task::{CrewTask, CrewTaskState, crew_tasks};
pub use known_crew::{KnownCrew, known_crew, merge_command};
pub use plan_file::PlanWrite;
pub use plan_source::{PlanSource, read_source};
pub use planning::{DraftedTask, PlanDraft, PlanJudgement, PlanRequest, Planning};
pub use review::{
    CrewReview, ReviewJudgement, ReviewRequest, begun_review, judge_review, new_review, next_review_line,
    reviewed_work,
};
pub use work::{CrewEnding, work};
