//! Planning again: tasks that have begun stay as they are, the others are replaced by id.

use super::plan::{CrewPlan, PlannedTask};
use super::plan_check::BegunTask;
use super::plan_fault::PlanFault;
use crate::domain::spec::resolve_id;

/// What becomes of a task when its plan is made again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PlanChange {
    Added,
    /// It was there, and is described otherwise now.
    Changed,
    /// It was there like that.
    Same,
    /// It has begun, so it stays as it is.
    Kept,
}

impl PlanChange {
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Same => "same",
            Self::Kept => "kept",
        }
    }
}

/// A plan that was made again.
#[derive(Clone, Debug)]
pub struct PlanUpdate {
    pub text: String,
    /// What became of each task, in the order of the text.
    pub changes: Vec<(String, PlanChange)>,
    /// The ids of tasks that are not planned any more.
    pub dropped: Vec<String>,
    /// Ids that must not be used again.
    pub faults: Vec<PlanFault>,
}

/// Updates the plan that there is by a new one. Each id is there once. Tasks that have begun and are not planned any more
/// come first.
pub fn update_plan(old: Option<&CrewPlan>, new: &CrewPlan, begun: &[BegunTask]) -> PlanUpdate {
    let is_begun = |id: &str| begun.iter().any(|task| task.id == id);
    let before = |id: &str| old.and_then(|old| old.find(id));
    let is_kept = |task: &&PlannedTask| is_begun(&task.id);
    let of_old = || old.into_iter().flat_map(|old| &old.tasks);
    let left = of_old().filter(is_kept).filter(|task| new.find(&task.id).is_none());
    let mut tasks: Vec<PlannedTask> = left.cloned().collect();
    let mut changes: Vec<(String, PlanChange)> =
        tasks.iter().map(|task| (task.id.clone(), PlanChange::Kept)).collect();
    let mut faults = Vec::new();
    for task in &new.tasks {
        let (planned, change) = match before(&task.id) {
            Some(old) if is_begun(&task.id) => (old, PlanChange::Kept),
            Some(old) if old.lines == task.lines => (task, PlanChange::Same),
            Some(_) => (task, PlanChange::Changed),
            None => (task, PlanChange::Added),
        };
        let is_meant = |begun: &&BegunTask| resolve_id(&task.id, [begun.id.as_str()]).is_some();
        let is_gone = |begun: &&BegunTask| before(&begun.id).is_none();
        if change == PlanChange::Added && begun.iter().filter(is_meant).any(|begun| is_gone(&begun)) {
            faults.push(PlanFault::Taken { id: task.id.clone() });
        }
        changes.push((task.id.clone(), change));
        tasks.push(planned.clone());
    }
    let is_left_out = |id: &&PlannedTask| !tasks.iter().any(|task| task.id == id.id);
    let dropped = of_old().filter(is_left_out).map(|task| task.id.clone()).collect();
    let plan = CrewPlan { intro: new.intro.clone(), tasks, problems: Vec::new() };
    PlanUpdate { text: plan.text(), changes, dropped, faults }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::crews::BegunState;

    fn plan(text: &str) -> CrewPlan {
        CrewPlan::read(text).unwrap()
    }

    #[test]
    fn what_has_begun_stays_and_the_rest_is_replaced_by_id() {
        let begun = |id: &str, state| BegunTask { id: id.to_string(), state };
        let old = plan(
            "# Old\n- [x] T-1: done\n  so\n- [ ] T-2: claimed\n- [ ] T-3: open\n- [ ] T-4: same\n- [ ] T-5: gone\n",
        );
        let new =
            plan("# New\n- [ ] T-2: other\n- [ ] T-3: other\n- [ ] T-4: same\n- [ ] T-6: new (needs T-1)\n");
        let states = [begun("T-1", BegunState::Done), begun("T-2", BegunState::Claimed)];
        let PlanUpdate { text, changes, dropped, faults } = update_plan(Some(&old), &new, &states);
        assert!(
            text.ends_with(
                "# New\n\n- [x] T-1: done\n  so\n- [ ] T-2: claimed\n- [ ] T-3: other\n- [ ] T-4: same\n- [ ] T-6: new (needs T-1)\n"
            ),
            "{text}"
        );
        let changes: Vec<String> =
            changes.iter().map(|(id, change)| format!("{id} {}", change.name())).collect();
        assert_eq!(changes, ["T-1 kept", "T-2 kept", "T-3 changed", "T-4 same", "T-6 added"]);
        assert_eq!((dropped, faults), (vec!["T-5".to_string()], Vec::new()));
        let again = update_plan(Some(&plan(&text)), &new, &states);
        assert_eq!((again.text, again.dropped), (text, Vec::<String>::new()), "nothing is appended twice");
    }

    #[test]
    fn the_id_of_a_task_that_was_done_and_removed_is_not_used_again() {
        let begun = [BegunTask { id: "T-1".to_string(), state: BegunState::Done }];
        let new = plan("- [ ] t-01: other\n- [ ] T-2: x\n");
        let update = update_plan(None, &new, &begun);
        assert_eq!(update.faults, [PlanFault::Taken { id: "t-01".to_string() }]);
        assert_eq!(update.changes.len(), 2);
    }
}
