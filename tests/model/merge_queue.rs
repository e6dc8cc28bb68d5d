//! Model: the runs of two crews put their work on one branch, while a person commits to it, and any of them dies anywhere.
//!
//! The lock by which runs take turns is left out: it only saves tests that would be done twice, and nothing may depend
//! on it. A run whose supervisor dies is taken over by another, which begins with a look at the branch.

use crate::search::{Action, DIES, Protocol, Step, explore};

const PREPARES: Action =
    Action::ours("merges its work with the branch, in memory", "sys/git/run_tree/crew_branch.rs", "prepare");
const IS_THERE: Action =
    Action::ours("finds its mark: it is on the branch", "sys/git/run_tree/crew_branch.rs", "prepare");
const TESTS: Action = Action::ours("tests that tree", "ops/runs/crew_finish.rs", "prove_merged");
const ADVANCES: Action =
    Action::ours("moves the branch and its mark in one step", "sys/git/run_tree/crew_branch.rs", "advance");
const IS_BEHIND: Action =
    Action::ours("finds that the branch has moved", "sys/git/run_tree/crew_branch.rs", "advance");
const COMPLETES: Action = Action::ours("completes its task", "ops/tasks/run_task.rs", "complete_for_run");
const RECORDS: Action = Action::ours("writes its end", "ops/runs/crew_finish.rs", "finish_for_crew");
const TAKES_OVER: Action = Action::ours("is taken over by another", "ops/crew/work.rs", "begin");
const COMMITS: Action = Action::other("commits to the branch");
const MOVES: Action = Action::other("moves the branch");
const MARKS: Action = Action::other("sets its mark");

const RUNS: [&str; 2] = ["the run of one crew", "the run of the other"];
const PERSON: u8 = 2;
/// How often a run may be taken over.
const LIVES: u8 = 2;

/// A commit: whose it is, and whether exactly this tree was tested.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Commit {
    by: u8,
    is_tested: bool,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Next {
    Prepare,
    /// With the branch as it was.
    Test(Vec<Commit>),
    Advance(Vec<Commit>),
    /// Of a wrong protocol.
    Mark,
    Complete,
    Record,
    Over,
    Dead,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct State {
    branch: Vec<Commit>,
    marks: [bool; 2],
    completed: [bool; 2],
    next: [Next; 2],
    lives: [u8; 2],
    has_person_committed: bool,
    /// Whose commits were ever on the branch.
    ever: [bool; 3],
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Way {
    Real,
    /// The branch is set without a look where it is.
    WithoutCompare,
    /// What was tested is put on top of whatever there is.
    WithoutTestingAgain,
    /// The mark is set after the branch was moved.
    MarkAfterwards,
}

struct MergeQueue(Way);

impl MergeQueue {
    fn step_of_run(&self, state: &State, who: usize) -> Option<(Action, State)> {
        let mut to = state.clone();
        let own = u8::try_from(who).unwrap();
        let (deed, next) = match state.next[who].clone() {
            Next::Prepare if state.marks[who] => (IS_THERE, Next::Complete),
            Next::Prepare => (PREPARES, Next::Test(state.branch.clone())),
            Next::Test(onto) => (TESTS, Next::Advance(onto)),
            Next::Advance(onto) => {
                let is_same = onto == state.branch;
                match self.0 {
                    Way::Real | Way::MarkAfterwards if !is_same => (IS_BEHIND, Next::Prepare),
                    way => {
                        if way == Way::WithoutCompare {
                            to.branch = onto;
                        }
                        let is_tested = way == Way::WithoutCompare || is_same;
                        to.branch.push(Commit { by: own, is_tested });
                        to.ever[who] = true;
                        match way {
                            Way::MarkAfterwards => (MOVES, Next::Mark),
                            _ => {
                                to.marks[who] = true;
                                (ADVANCES, Next::Complete)
                            }
                        }
                    }
                }
            }
            Next::Mark => {
                to.marks[who] = true;
                (MARKS, Next::Complete)
            }
            Next::Complete => {
                to.completed[who] = true;
                (COMPLETES, Next::Record)
            }
            Next::Record => (RECORDS, Next::Over),
            Next::Dead if state.lives[who] > 0 => {
                to.lives[who] -= 1;
                (TAKES_OVER, Next::Prepare)
            }
            Next::Over | Next::Dead => return None,
        };
        to.next[who] = next;
        Some((deed, to))
    }
}

impl Protocol for MergeQueue {
    type State = State;

    fn start(&self) -> State {
        State {
            branch: Vec::new(),
            marks: [false; 2],
            completed: [false; 2],
            next: [Next::Prepare, Next::Prepare],
            lives: [LIVES; 2],
            has_person_committed: false,
            ever: [false; 3],
        }
    }

    fn steps(&self, state: &State) -> Vec<Step<State>> {
        let mut steps = Vec::new();
        for (who, name) in RUNS.into_iter().enumerate() {
            steps.extend(self.step_of_run(state, who).map(|(deed, to)| Step { who: name, deed, to }));
            if !matches!(state.next[who], Next::Over | Next::Dead) {
                let mut to = state.clone();
                to.next[who] = Next::Dead;
                steps.push(Step { who: name, deed: DIES, to });
            }
        }
        if !state.has_person_committed {
            let mut to = state.clone();
            to.has_person_committed = true;
            to.branch.push(Commit { by: PERSON, is_tested: false });
            to.ever[usize::from(PERSON)] = true;
            steps.push(Step { who: "a person", deed: COMMITS, to });
        }
        steps
    }

    fn fault(&self, state: &State) -> Option<&'static str> {
        let count = |by: usize| state.branch.iter().filter(|commit| usize::from(commit.by) == by).count();
        if (0..3).any(|by| state.ever[by] && count(by) == 0) {
            return Some("a commit is lost");
        }
        if state.branch.iter().any(|commit| commit.by != PERSON && !commit.is_tested) {
            return Some("nobody tested what a crew put on the branch");
        }
        if (0..2).any(|run| count(run) > 1) {
            return Some("a task was merged twice");
        }
        (0..2)
            .any(|run| state.completed[run] && count(run) == 0)
            .then_some("a task is done that is on no branch")
    }

    fn is_over(&self, state: &State) -> bool {
        let is_over = |(next, lives): (&Next, &u8)| match next {
            Next::Over => true,
            Next::Dead => *lives == 0,
            _ => false,
        };
        state.next.iter().zip(&state.lives).all(is_over)
    }
}

#[test]
fn nothing_is_lost_and_nothing_untested_is_on_the_branch() {
    explore("merge queue", &MergeQueue(Way::Real)).unwrap();
}

#[test]
fn who_does_not_compare_loses_a_commit() {
    let fault = explore("", &MergeQueue(Way::WithoutCompare)).unwrap_err();
    println!("{fault:?}");
    assert_eq!(fault.what, "a commit is lost");
}

#[test]
fn who_does_not_test_again_puts_something_untested_there() {
    let fault = explore("", &MergeQueue(Way::WithoutTestingAgain)).unwrap_err();
    println!("{fault:?}");
    assert_eq!(fault.what, "nobody tested what a crew put on the branch");
}

#[test]
fn who_sets_the_mark_afterwards_merges_twice() {
    let fault = explore("", &MergeQueue(Way::MarkAfterwards)).unwrap_err();
    println!("{fault:?}");
    assert_eq!(fault.what, "a task was merged twice");
}
