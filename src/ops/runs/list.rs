//! The ledger as it is shown. Listing changes nothing.

use std::path::Path;

use crate::domain::runs::{ReviewOutcome, Run, RunId, RunReview, RunState};
use crate::domain::{AgentName, Liveness};
use crate::store::Mesh;

use super::elsewhere::copies::{copy_named, refuse};
use super::review_outcome::review_outcome;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};

/// How many of those that have ended are shown if not all are asked for.
const MOST_ENDED: usize = 10;

/// Which runs are listed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum RunScope {
    /// Those that go on, and the latest that have ended.
    #[default]
    Recent,
    All,
}

/// The runs, newest first.
pub fn runs(op: &Op, scope: RunScope) -> Result<Vec<Run>, CommandError> {
    let Some(mesh) = op.mesh()? else {
        op.note_absent_mesh();
        return Ok(Vec::new());
    };
    let list = mesh.runs().list()?;
    for (path, reason) in list.damaged {
        op.warn(format!("a run can't be read: `{}`: {reason}", path.display()));
    }
    let mut runs: Vec<Run> = list.runs.into_iter().map(|run| as_it_is(&mesh, run)).collect();
    narrow(&mut runs, scope);
    Ok(runs)
}

/// Leaves those that are listed. The newest come first.
pub(super) fn narrow(runs: &mut Vec<Run>, scope: RunScope) {
    if scope == RunScope::Recent {
        let mut ended = 0;
        runs.retain(|run| {
            ended += usize::from(run.state.is_final());
            !run.state.is_final() || ended <= MOST_ENDED
        });
    }
}

/// The run of this machine that `id` names, by its id or the beginning of it. One on another machine is an error that
/// says so.
pub fn find(op: &Op, id: &str) -> Result<Run, CommandError> {
    let unknown = match find_here(op, id) {
        Err(error) if error.kind == CommandErrorKind::UnknownRun => error,
        found => return found,
    };
    let elsewhere = op.mesh()?.map(|mesh| copy_named(&mesh, id)).transpose()?.flatten();
    Err(elsewhere.and_then(|run| refuse(&run)).unwrap_or(unknown))
}

/// The run of this machine that `id` names.
pub(super) fn find_here(op: &Op, id: &str) -> Result<Run, CommandError> {
    let unknown = || {
        let text = format!("there is no run `{}`", id.escape_debug());
        CommandError::new(CommandErrorKind::UnknownRun, text).hint("`msg runs --all` lists them")
    };
    let mesh = op.mesh()?.ok_or_else(unknown)?;
    if let Ok(whole) = RunId::new(id)
        && let Some(run) = mesh.runs().get(&whole)?
    {
        return Ok(as_it_is(&mesh, run));
    }
    let start = id.to_ascii_lowercase();
    let mut runs = mesh.runs().list()?.runs;
    runs.retain(|run| !start.is_empty() && run.id.as_str().starts_with(&start));
    match runs.len() {
        0 => Err(unknown()),
        1 => runs.pop().map(|run| as_it_is(&mesh, run)).ok_or_else(unknown),
        count => {
            let ids = runs.iter().map(|run| run.id.to_string()).collect();
            let text = format!("`{}` may be one of {count} runs", id.escape_debug());
            Err(CommandError::new(CommandErrorKind::UnknownRun, text).facts("candidates", ids))
        }
    }
}

/// The run whose worker is to have that name, and has not joined yet.
pub(in crate::ops) fn run_for(mesh: &Mesh, name: &AgentName) -> Result<Option<Run>, CommandError> {
    let runs = mesh.runs().list()?.runs.into_iter().map(|run| as_it_is(mesh, run));
    // An order that can't be read names nobody.
    let is_to_be = |run: &Run| {
        let order = mesh.runs().order(&run.id);
        order.is_ok_and(|order| order.name.as_deref() == Some(name.as_str()))
    };
    let mut open = runs.filter(|run| !run.state.is_final() && run.agent.is_none());
    Ok(open.find(is_to_be))
}

/// The run with what follows from a supervisor that is provably dead, and with its worker's name.
pub(in crate::ops) fn as_it_is(mesh: &Mesh, run: Run) -> Run {
    let (mut run, state) = judged_by_owner(mesh, run);
    if state == RunState::Interrupted {
        if let Some(RunReview { outcome: ReviewOutcome::Pending { since }, .. }) = run.review {
            // Its worker had ended in order, and only the review was left.
            (run.state, run.ended_at) = (RunState::Done, Some(since));
            (run.doing, run.until) = (None, None);
            run.review = run.review.take().map(|review| orphaned_review(mesh, &run.id, review));
        } else {
            run.reason = Some(format!("its supervisor died while it was {}", run.outcome()));
            run.state = state;
        }
        // Nobody is left who would take an answer.
        (run.question, run.dialog) = (None, None);
        // What can't be read is told when the work is saved.
        if let Ok(Some(work)) = mesh.runs().work(&run.id) {
            run.root = Path::new(&work.place).join(format!("run-{}", work.tree)).display().to_string();
            run.project = Some(work.project);
            if work.tip.is_some() {
                (run.branch, run.changed, run.saved) = (work.branch, Some(work.changed), work.saved);
            }
        }
    }
    if run.agent.is_none() {
        // If it can't be read, nobody has joined as far as we know.
        run.agent = mesh.runs().worker(&run.id).ok().flatten();
    }
    run
}

/// Whether its supervisor died before it wrote an end.
pub(super) fn is_orphan(mesh: &Mesh, run: Run) -> bool {
    judged_by_owner(mesh, run).1 == RunState::Interrupted
}

fn judged_by_owner(mesh: &Mesh, run: Run) -> (Run, RunState) {
    let is_dead = |run: &Run| mesh.runs().owner_liveness(run) == Liveness::Gone;
    let read_again = |run: &Run| mesh.runs().get(&run.id).ok().flatten();
    judged(run, |run| run.state, is_dead, read_again)
}

/// The review of a run whose supervisor died meanwhile. The reviewer may go on without that, and then its verdict counts.
fn orphaned_review(mesh: &Mesh, reviewed: &RunId, review: RunReview) -> RunReview {
    let missing = |error: CommandError| ReviewOutcome::missing(error.message);
    let outcome = orphaned_outcome(mesh, reviewed, &review).unwrap_or_else(missing);
    RunReview { outcome, ..review }
}

fn orphaned_outcome(
    mesh: &Mesh,
    reviewed: &RunId,
    review: &RunReview,
) -> Result<ReviewOutcome, CommandError> {
    let Some(id) = &review.run else {
        return Ok(ReviewOutcome::missing("the supervisor of the run died before a review was on record"));
    };
    // A review has none itself: whatever a damaged record says, this ends.
    let is_its = |run: &Run| run.reviews.as_ref() == Some(reviewed) && run.review.is_none();
    let Some(reviewer) = mesh.runs().get(id)?.filter(is_its) else {
        return Ok(ReviewOutcome::missing(format!("run {id} is gone")));
    };
    let reviewer = as_it_is(mesh, reviewer);
    match reviewer.state.is_final() {
        true => review_outcome(mesh, &reviewer),
        false => Ok(review.outcome.clone()),
    }
}

/// The run and its state: interrupted if its supervisor died before it wrote an end. Only what is read after the death
/// counts: a supervisor that ends in order writes the end first, so what was read before proves nothing. If it can't be
/// read again, it is shown as it was.
fn judged<R>(
    run: R,
    state: impl Fn(&R) -> RunState,
    is_owner_dead: impl FnOnce(&R) -> bool,
    read_again: impl FnOnce(&R) -> Option<R>,
) -> (R, RunState) {
    let before = state(&run);
    if before.is_final() || !is_owner_dead(&run) {
        return (run, before);
    }
    let Some(again) = read_again(&run) else { return (run, before) };
    let now = state(&again);
    (again, if now.is_final() { now } else { RunState::Interrupted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_read_after_the_death_of_a_supervisor_counts() {
        let dead = |again: Option<RunState>| judged(RunState::Running, |run| *run, |_| true, |_| again).1;
        assert_eq!(dead(Some(RunState::Running)), RunState::Interrupted);
        assert_eq!(dead(Some(RunState::Failed)), RunState::Failed, "it has ended in order meanwhile");
        assert_eq!(dead(None), RunState::Running, "nobody can tell");
        // It is looked at once: one that dies later may have written its end before.
        let lives = judged(RunState::Running, |run| *run, |_| false, |_| panic!("it is not read again"));
        assert_eq!(lives.1, RunState::Running);
    }
}
