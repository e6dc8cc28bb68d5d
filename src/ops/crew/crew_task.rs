//! A task of a crew: what the spec says of it, the runs that there were for it, and where it is.

use jiff::Timestamp;

use crate::domain::crews::{TaskStep, next_step, outside_plan};
use crate::domain::runs::{CrewEnd, ReviewedBill, Run};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::runs::list::as_it_is;
use crate::ops::tasks::{CrewSpecTask, crew_spec};

/// A task of a crew.
#[derive(Clone, Debug)]
pub struct CrewTask {
    pub spec: CrewSpecTask,
    pub state: CrewTaskState,
    /// The runs for it, the oldest first.
    pub runs: Vec<Run>,
    /// The runs that reviewed these.
    pub reviews: Vec<Run>,
}

/// Where a task of a crew is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum CrewTaskState {
    /// It needs these, which are not done.
    Waiting(Vec<String>),
    /// It can be started.
    Ready,
    /// Somebody else has it, or what it needs: why.
    Held(String),
    Live,
    Done,
    /// A person has to look at it: why.
    Blocked(String),
}

impl CrewTaskState {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Waiting(_) => "waiting",
            Self::Ready => "ready",
            Self::Held(_) => "held",
            Self::Live => "working",
            Self::Done => "done",
            Self::Blocked(_) => "blocked",
        }
    }
}

impl CrewTask {
    /// The commit on the branch. A supervisor may die after it has completed the task and before it has written its end.
    pub fn commit(&self) -> Option<&str> {
        let of_end = self.runs.iter().rev().find_map(|run| match run.crew.as_ref()?.end.as_ref()? {
            CrewEnd::Merged { commit, .. } => commit.as_deref(),
            _ => None,
        });
        let is_worked =
            |run: &Run| run.crew.as_ref().is_some_and(|part| part.is_worked && part.end.is_none());
        let completion = self.spec.completion.as_ref().filter(|_| self.runs.last().is_some_and(is_worked));
        of_end.or_else(|| completion?.evidence.as_ref()?.commit.as_deref())
    }

    /// What all attempts and their reviews cost.
    pub fn bill(&self) -> ReviewedBill {
        ReviewedBill::of(self.runs.iter().chain(&self.reviews))
    }

    /// Files that were changed and that the plan does not name for it. A task without paths may change all.
    pub fn outside_plan(&self) -> Vec<&str> {
        let Some(changed) = self.runs.iter().rev().find_map(|run| run.changed.as_ref()) else {
            return Vec::new();
        };
        outside_plan(&self.spec.paths, changed)
    }
}

/// The tasks of a spec as they are, without doing anything. `since` is when the crew was started, if it goes on.
pub fn crew_tasks(
    op: &Op,
    spec: &str,
    stem: &str,
    since: Option<Timestamp>,
) -> Result<Vec<CrewTask>, CommandError> {
    let spec = crew_spec(op, spec)?;
    let mut runs: Vec<Run> = match op.mesh()? {
        None => Vec::new(),
        Some(mesh) => {
            let runs = mesh.runs().list()?.runs.into_iter();
            let is_ours = |run: &Run| {
                run.crew.as_ref().is_some_and(|part| part.crew == stem)
                    && run.claim.as_ref().is_some_and(|claim| claim.spec == spec.key)
            };
            let wanted = runs.filter(|run| run.reviews.is_some() || is_ours(run));
            wanted.map(|run| as_it_is(&mesh, run)).collect()
        }
    };
    runs.sort_by_key(|run| (run.queued_at, run.id.clone()));
    let (reviews, runs): (Vec<Run>, Vec<Run>) = runs.into_iter().partition(|run| run.reviews.is_some());
    let done: Vec<String> =
        spec.tasks.iter().filter(|task| task.is_done).map(|task| task.id.clone()).collect();
    Ok(spec
        .tasks
        .into_iter()
        .map(|task| {
            // What was before somebody took a completion back does not count.
            let is_its = |run: &&Run| {
                run.claim.as_ref().is_some_and(|claim| claim.task == task.id)
                    && task.reopened_at.is_none_or(|reopened| run.queued_at > reopened)
            };
            let own: Vec<Run> = runs.iter().filter(is_its).cloned().collect();
            let state = state_of(&task, &own, &done, since);
            let is_of_own = |review: &&Run| own.iter().any(|run| review.reviews.as_ref() == Some(&run.id));
            let reviews = reviews.iter().filter(is_of_own).cloned().collect();
            CrewTask { spec: task, state, runs: own, reviews }
        })
        .collect())
}

fn state_of(task: &CrewSpecTask, runs: &[Run], done: &[String], since: Option<Timestamp>) -> CrewTaskState {
    // The supervisor of a run whose task is done may still have to tidy up.
    if runs.last().is_some_and(|last| !last.state.is_final()) {
        return CrewTaskState::Live;
    }
    if task.is_done {
        return CrewTaskState::Done;
    }
    // Nobody wrote down when a run ended whose supervisor died.
    let is_new = |run: &Run| since.is_none_or(|since| run.ended_at.unwrap_or(run.queued_at) >= since);
    match next_step(runs, is_new) {
        TaskStep::Follow(_) => return CrewTaskState::Live,
        TaskStep::Blocked(why) => return CrewTaskState::Blocked(why),
        // Its supervisor died before it could complete the task.
        TaskStep::Merged(_) | TaskStep::Finish(_) | TaskStep::Again { .. } | TaskStep::Begin => {}
    }
    let missing: Vec<String> = task.needs.iter().filter(|need| !done.contains(need)).cloned().collect();
    match (missing.is_empty(), &task.claim) {
        (false, _) => CrewTaskState::Waiting(missing),
        (true, Some(claim)) => CrewTaskState::Held(format!("{} has claimed it", claim.who())),
        (true, None) => CrewTaskState::Ready,
    }
}
