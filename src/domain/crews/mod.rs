//! Crews: the plan that workers carry out task by task, how it is checked, and how planning again updates it.

mod plan;
mod plan_answer;
mod plan_check;
mod plan_fault;
mod plan_update;
mod planner_brief;

pub use plan::{CrewPlan, MOST_PLAN, PlannedTask};
pub use plan_answer::plan_in;
pub use plan_check::{BegunState, BegunTask, PlanCheck, check_plan};
pub use plan_fault::{PlanFault, PlanWarning};
pub use plan_update::{PlanChange, PlanUpdate, update_plan};
pub use planner_brief::{MOST_SOURCE, PlannerBrief, RejectedPlan};
