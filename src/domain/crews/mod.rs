//! Crews: the plan that workers carry out task by task, how it is checked, how planning again updates it, and what comes
//! next for each of its tasks.

mod builder_brief;
mod outside_plan;
mod plan;
mod plan_answer;
mod plan_check;
mod plan_fault;
mod plan_update;
mod planner_brief;
mod task_step;

pub use builder_brief::{BuilderBrief, again_text};
pub use outside_plan::outside_plan;
pub use plan::{CrewPlan, MOST_PLAN, PlannedTask};
pub use plan_answer::plan_in;
pub use plan_check::{BegunState, BegunTask, PlanCheck, check_plan};
pub use plan_fault::{PlanFault, PlanWarning};
pub use plan_update::{PlanChange, PlanUpdate, update_plan};
pub use planner_brief::{MOST_SOURCE, PlannerBrief, RejectedPlan};
pub use task_step::{AgainReason, TaskStep, next_step};
