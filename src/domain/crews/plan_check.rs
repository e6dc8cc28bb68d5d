//! Checks a plan by rule, without asking anybody: dependencies, paths, and what proves its tasks.

use std::collections::{HashMap, HashSet};

use super::plan::{CrewPlan, PlannedTask};
use super::plan_fault::{PlanFault, PlanWarning};
use crate::domain::pattern::{NormalPath, Overlap, Pattern, SearchBudget};
use crate::domain::spec::{Problem, resolve_id};

/// Steps for comparing the paths of all tasks: some tenths of a second.
const STEPS: usize = 20_000_000;
/// Stands for the root of the repository.
const ROOT: &str = "/repository";

/// How far a task is that somebody has begun.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BegunState {
    Claimed,
    Done,
}

impl BegunState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Done => "done",
        }
    }
}

/// A task that is done, or that somebody works on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BegunTask {
    pub id: String,
    pub state: BegunState,
}

/// What was found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PlanCheck {
    pub faults: Vec<PlanFault>,
    pub warnings: Vec<PlanWarning>,
}

/// Checks a plan in which the tasks that have begun are as they were. Faults are about what can still be changed.
pub fn check_plan(plan: &CrewPlan, begun: &[BegunTask]) -> PlanCheck {
    let states: HashMap<&str, BegunState> = begun.iter().map(|task| (task.id.as_str(), task.state)).collect();
    let checker = PlanChecker { plan, states };
    let mut faults = checker.dependency_faults();
    faults.extend(checker.alike());
    faults.extend(checker.ticked());
    let (patterns, wrong) = checker.patterns();
    faults.extend(wrong);
    faults.extend(checker.overlaps(&patterns));
    PlanCheck { faults: PlanFault::bounded(faults), warnings: checker.warnings() }
}

struct PlanChecker<'a> {
    plan: &'a CrewPlan,
    states: HashMap<&'a str, BegunState>,
}

/// The patterns of each task, as they are written and as they are compared.
type TaskPatterns<'a> = Vec<Vec<(&'a str, Pattern)>>;

impl<'a> PlanChecker<'a> {
    fn is_done(&self, id: &str) -> bool {
        self.states.get(id) == Some(&BegunState::Done)
    }

    /// Whether it stays as it is, whatever is planned.
    fn is_begun(&self, id: &str) -> bool {
        self.states.contains_key(id)
    }

    fn dependency_faults(&self) -> Vec<PlanFault> {
        let fault = |problem: &Problem| match problem {
            Problem::UnknownDependency { id, dependency, .. } if !self.is_done(id) => {
                Some(PlanFault::UnknownNeed { id: id.clone(), need: dependency.clone() })
            }
            Problem::Cycle { ids, .. } if !ids.iter().all(|id| self.is_done(id)) => {
                Some(PlanFault::Cycle { ids: ids.clone() })
            }
            _ => None,
        };
        self.plan.problems.iter().filter_map(fault).collect()
    }

    /// Ids that nobody could tell apart when typing one.
    fn alike(&self) -> Vec<PlanFault> {
        let ids: Vec<&str> = self.plan.tasks.iter().map(|task| task.id.as_str()).collect();
        let mut faults = Vec::new();
        for (at, id) in ids.iter().enumerate() {
            let other = ids[..at].iter().find(|other| resolve_id(id, [**other]).is_some());
            let both_begun = other.is_some_and(|other| self.is_begun(id) && self.is_begun(other));
            if let Some(other) = other.filter(|_| !both_begun) {
                faults.push(PlanFault::Alike { id: other.to_string(), other: id.to_string() });
            }
        }
        faults
    }

    fn ticked(&self) -> Vec<PlanFault> {
        let is_wrong = |task: &&PlannedTask| task.is_ticked && !self.is_done(&task.id);
        let fault = |task: &PlannedTask| PlanFault::Ticked { id: task.id.clone() };
        self.plan.tasks.iter().filter(is_wrong).map(fault).collect()
    }

    /// The patterns of all tasks, and what is wrong with those that can still be changed.
    fn patterns(&self) -> (TaskPatterns<'a>, Vec<PlanFault>) {
        let root = NormalPath::absolute(ROOT);
        let mut faults = Vec::new();
        let mut all = Vec::new();
        for task in &self.plan.tasks {
            let mut own = Vec::new();
            for path in &task.paths {
                let (id, text) = (task.id.clone(), path.clone());
                let read = match Pattern::new(path, &root) {
                    _ if is_outside(path) => Err(PlanFault::Outside { id, path: text }),
                    Ok(pattern) => Ok(pattern),
                    Err(error) => Err(PlanFault::BadPath { id, path: text, why: error.to_string() }),
                };
                match read {
                    Ok(pattern) => own.push((path.as_str(), pattern)),
                    Err(_) if self.is_begun(&task.id) => {}
                    Err(fault) => faults.push(fault),
                }
            }
            all.push(own);
        }
        (all, faults)
    }

    /// Pairs of tasks that could be worked on at the same time and change the same files.
    fn overlaps(&self, patterns: &TaskPatterns<'a>) -> Vec<PlanFault> {
        let tasks = &self.plan.tasks;
        let before: Vec<HashSet<usize>> = (0..tasks.len()).map(|at| self.all_needs(at)).collect();
        let budget = SearchBudget::new(STEPS);
        let mut faults = Vec::new();
        for other in 0..tasks.len() {
            for one in 0..other {
                let ids = [&tasks[one].id, &tasks[other].id];
                let is_ordered = before[one].contains(&other) || before[other].contains(&one);
                let is_settled =
                    ids.iter().any(|id| self.is_done(id)) || ids.iter().all(|id| self.is_begun(id));
                if is_ordered || is_settled {
                    continue;
                }
                let meeting = patterns[one].iter().find_map(|(path, mine)| {
                    let meets =
                        |(_, theirs): &&(&str, Pattern)| mine.overlap(theirs, &budget) != Overlap::Apart;
                    let (other, _) = patterns[other].iter().find(meets)?;
                    Some((path.to_string(), other.to_string()))
                });
                let [id, other] = ids.map(Clone::clone);
                faults.extend(meeting.map(|paths| PlanFault::Overlap { id, other, paths }));
            }
        }
        faults
    }

    /// Everything that has to be done before a task, directly or not.
    fn all_needs(&self, task: usize) -> HashSet<usize> {
        let tasks = &self.plan.tasks;
        let place = |id: &String| tasks.iter().position(|task| task.id == *id);
        let (mut all, mut open) = (HashSet::new(), vec![task]);
        while let Some(next) = open.pop() {
            let fresh: Vec<usize> =
                tasks[next].needs.iter().filter_map(place).filter(|at| all.insert(*at)).collect();
            open.extend(fresh);
        }
        all
    }

    fn warnings(&self) -> Vec<PlanWarning> {
        let open = self.plan.tasks.iter().filter(|task| !self.is_begun(&task.id));
        let of = |task: &PlannedTask| {
            let id = task.id.clone();
            let verify = task.verify.is_empty().then(|| PlanWarning::NoVerify { id: id.clone() });
            let paths = task.paths.is_empty().then_some(PlanWarning::NoPaths { id });
            [verify, paths].into_iter().flatten().collect::<Vec<_>>()
        };
        open.flat_map(of).collect()
    }
}

/// Whether a path is not one of the repository.
fn is_outside(path: &str) -> bool {
    path.starts_with(['/', '~']) || path.split('/').any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use super::super::plan_fault::MOST_FAULTS;
    use super::*;

    fn checked(text: &str, begun: &[(&str, BegunState)]) -> (Vec<String>, Vec<String>) {
        let begun: Vec<BegunTask> =
            begun.iter().map(|(id, state)| BegunTask { id: id.to_string(), state: *state }).collect();
        let PlanCheck { faults, warnings } = check_plan(&CrewPlan::read(text).unwrap(), &begun);
        (faults.iter().map(ToString::to_string).collect(), warnings.iter().map(ToString::to_string).collect())
    }

    fn faults(text: &str) -> Vec<String> {
        checked(text, &[]).0
    }

    const DONE: BegunState = BegunState::Done;
    const CLAIMED: BegunState = BegunState::Claimed;

    #[test]
    fn dependencies_exist_and_form_no_circle() {
        assert_eq!(
            faults("- [ ] T-1: a (needs T-9)\n"),
            ["`T-1` needs `T-9`, which is not a task of the plan"]
        );
        assert_eq!(
            faults("- [ ] T-1: a (needs T-2)\n- [ ] T-2: b (needs T-1)\n"),
            ["tasks wait for each other: `T-1` → `T-2` → `T-1`"]
        );
        assert_eq!(faults("- [ ] T-1: a (needs T-1)\n"), ["`T-1` needs itself"]);
        let done = "- [x] T-1: a (needs T-9)\n- [ ] T-2: b (needs T-1)\n";
        assert_eq!(checked(done, &[("T-1", DONE)]).0, [""; 0], "nobody waits for what is done");
    }

    #[test]
    fn ids_can_be_told_apart_and_nothing_is_ticked_that_is_not_done() {
        assert_eq!(
            faults("- [ ] T-1: a\n- [ ] t-01: b\n"),
            ["`T-1` and `t-01` differ only in case or in zeros"]
        );
        let both = [("T-1", DONE), ("t-01", CLAIMED)];
        assert_eq!(
            checked("- [x] T-1: a\n- [ ] t-01: b\n", &both).0,
            [""; 0],
            "it can't be changed any more"
        );
        assert_eq!(faults("- [x] T-1: a\n"), ["`T-1` is ticked, but nobody has done it: write `- [ ]`"]);
    }

    #[test]
    fn tasks_that_could_run_at_once_have_paths_of_their_own() {
        let plan = |needs: &str, paths: &str| {
            format!(
                "- [ ] T-1: a\n  paths: src/a.rs, docs/**\n- [ ] T-2: b{needs}\n  paths: {paths}\n- [ ] T-3: c (needs T-2)\n  paths: docs/x.md\n"
            )
        };
        let all = faults(&plan("", "src/*.rs"));
        assert_eq!(all.len(), 2, "{all:#?}");
        assert!(
            all[0].contains("`T-1` and `T-2`") && all[0].contains("`src/a.rs` and `src/*.rs`"),
            "{}",
            all[0]
        );
        assert!(all[1].contains("`T-1` and `T-3`"), "{}", all[1]);
        assert_eq!(faults(&plan(" (needs T-1)", "src/*.rs")), [""; 0], "T-3 needs T-1 through T-2");
        let text = plan("", "src/*.rs");
        assert_eq!(checked(&text, &[("T-1", DONE)]).0, [""; 0]);
        assert_eq!(checked(&text, &[("T-1", CLAIMED)]).0.len(), 2, "what is being worked on counts");
        assert_eq!(checked(&text, &[("T-1", CLAIMED), ("T-2", CLAIMED)]).0.len(), 1);
        assert_eq!(
            faults("- [ ] T-1: a\n  paths: src\n- [ ] T-2: b\n  paths: src/x/y\n").len(),
            1,
            "a directory"
        );
    }

    #[test]
    fn paths_stay_in_the_repository() {
        let text = "- [ ] T-1: a\n  paths: /etc/passwd, ../x, a/../../b, ~/c, [, src/ok.rs, a/**/../b\n";
        let all = faults(text);
        assert_eq!(all.len(), 6, "{all:#?}");
        assert!(all[0].starts_with("`/etc/passwd` of `T-1` leaves the repository"), "{}", all[0]);
        assert!(all[4].starts_with("`[` of `T-1`: "), "{}", all[4]);
        assert_eq!(checked(text, &[("T-1", CLAIMED)]).0, [""; 0], "it can't be changed any more");
    }

    #[test]
    fn what_nothing_proves_is_a_warning() {
        let text = "- [ ] T-1: a\n  paths: a\n- [ ] T-2: b\n  verify: make\n- [x] T-3: c\n";
        let (faults, warnings) = checked(text, &[("T-3", DONE)]);
        assert_eq!(faults, [""; 0]);
        assert_eq!(
            warnings,
            [
                "`T-1`: no command proves that it is done",
                "`T-2`: it names no paths, so nothing is reserved for it"
            ]
        );
    }

    #[test]
    fn a_hundred_tasks_with_the_same_paths_are_told_in_short_and_soon() {
        let globs: Vec<String> = (0..20).map(|at| format!("{}*a*b*c{at}/**", "?*".repeat(20))).collect();
        let text: String =
            (0..60).map(|at| format!("- [ ] T-{at}: x\n  paths: {}\n", globs[at % 20])).collect();
        let all = faults(&text);
        assert_eq!(all.len(), MOST_FAULTS + 1);
        assert!(all[MOST_FAULTS].ends_with("more faults are not listed"), "{}", all[MOST_FAULTS]);
    }
}
