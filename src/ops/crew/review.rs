//! `msg crew review`: a reviewer looks at what a run did, or at commits, and its verdict goes to whoever did that.
//!
//! A reviewer is a run like any other. Whoever calls starts and follows it, and shows its answer to [`judge_review`]; whoever
//! did the work is told by the run's own supervisor.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::domain::Liveness;
use crate::domain::runs::{MicroUsd, ReviewOutcome, Run, RunId, RunReview, RunState};
use crate::domain::workers::Budget;
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::person_required;
use crate::ops::runs::list::find;
use crate::ops::runs::plan::{REVIEW_SECONDS, RunRequest, plan};
use crate::ops::runs::review_outcome::review_outcome;
use crate::ops::runs::review_task::asked_again;
use crate::ops::runs::settle::settle;
use crate::ops::runs::start::NewRun;
use crate::store::{Mesh, ReviewedWork};
use crate::sys::clock;

use super::review_target::find_target;

/// The profile that reviews, unless another is named.
const REVIEWER: &str = "reviewer";
/// How long to wait until the supervisor of a reviewer has told the verdict, and how often to look.
const TOLD_LIMIT: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(5);

/// What somebody wants to be reviewed.
#[derive(Clone, Debug)]
pub struct ReviewRequest {
    /// A run, a task or commits.
    pub target: String,
    /// The spec of the task; `None`: that of whoever asks.
    pub spec: Option<String>,
    /// `None`: the one that is shipped.
    pub profile: Option<String>,
    /// What the reviewer may use.
    pub budget: Budget,
}

/// A review that is over.
#[derive(Clone, Debug)]
pub struct CrewReview {
    pub work: ReviewedWork,
    pub review: RunReview,
    /// The agents that were told the verdict; `None`: that is not known.
    pub told: Option<Vec<String>>,
}

/// What becomes of the answer of a reviewer.
#[derive(Debug)]
pub enum ReviewJudgement {
    Over(Box<CrewReview>),
    /// It has no verdict, and the reviewer is asked once more.
    Again(Box<NewRun>),
}

/// The run that reviews this.
pub fn new_review(op: &Op, request: &ReviewRequest) -> Result<NewRun, CommandError> {
    let mesh = op.create_mesh()?;
    // What a dead supervisor left is saved first.
    settle(op, &mesh)?;
    let target = find_target(op, &request.target, request.spec.as_deref())?;
    let run = RunRequest {
        profile: request.profile.clone().unwrap_or_else(|| REVIEWER.to_string()),
        task: target.task,
        root: Some(target.root),
        budget: request.budget,
        is_review: true,
        ..RunRequest::default()
    };
    reviewing(op, run, target.work)
}

fn reviewing(op: &Op, request: RunRequest, work: ReviewedWork) -> Result<NewRun, CommandError> {
    let mut new = plan(op, request)?;
    new.order.timeout_seconds.get_or_insert(REVIEW_SECONDS);
    new.order.reviewed = Some(work);
    Ok(new)
}

/// A review that was asked for before.
pub fn begun_review(op: &Op, id: &str) -> Result<Run, CommandError> {
    let run = find(op, id)?;
    reviewed_work(op, &run)?;
    Ok(run)
}

/// What the run reviews.
pub fn reviewed_work(op: &Op, run: &Run) -> Result<ReviewedWork, CommandError> {
    let mesh = op.create_mesh()?;
    reviewed_by(&mesh, run)
}

fn reviewed_by(mesh: &Mesh, run: &Run) -> Result<ReviewedWork, CommandError> {
    mesh.runs().order(&run.id)?.reviewed.ok_or_else(|| {
        let text = format!("run {} was not started by `msg crew review`", run.id);
        CommandError::new(CommandErrorKind::InvalidValue, text)
            .hint(format!("to let its work be reviewed: `msg crew review {}`", run.id))
    })
}

/// The line to type for the verdict of a reviewer that goes on.
pub fn next_review_line(ctx: &Context, run: &RunId) -> String {
    person_required::with_mesh(ctx, &format!("msg crew review --run {run}"))
}

/// Judges what a reviewer said whose run has ended.
pub fn judge_review(op: &Op, run: &Run) -> Result<ReviewJudgement, CommandError> {
    let mesh = op.create_mesh()?;
    let work = reviewed_by(&mesh, run)?;
    let outcome = review_outcome(&mesh, run)?;
    let is_given = matches!(outcome, ReviewOutcome::Given(_));
    let has_answered = matches!(run.state, RunState::Done | RunState::Asks | RunState::Empty);
    if !is_given && has_answered && !work.is_asked_again {
        let order = mesh.runs().order(&run.id)?;
        let request = RunRequest {
            profile: run.profile.clone(),
            task: asked_again(&run.task),
            root: Some(PathBuf::from(&run.root)),
            budget: Budget { usd: order.most_micros.map(MicroUsd::from_micros), tokens: order.most_tokens },
            is_review: true,
            ..RunRequest::default()
        };
        let work = ReviewedWork { is_asked_again: true, ..work };
        return Ok(ReviewJudgement::Again(Box::new(reviewing(op, request, work)?)));
    }
    let told = if is_given { told(&mesh, run)? } else { Some(Vec::new()) };
    let review = RunReview { profile: run.profile.clone(), run: Some(run.id.clone()), outcome };
    Ok(ReviewJudgement::Over(Box::new(CrewReview { work, review, told })))
}

/// Whom the supervisor of the run told. It does so after it has written the end of the run.
fn told(mesh: &Mesh, run: &Run) -> Result<Option<Vec<String>>, CommandError> {
    let until = Instant::now() + TOLD_LIMIT;
    loop {
        // In this order: it may have written that and ended in between.
        let is_gone = mesh.runs().owner_liveness(run) == Liveness::Gone;
        let told = mesh.runs().told(&run.id)?;
        if told.is_some() || is_gone || Instant::now() >= until {
            return Ok(told);
        }
        clock::pause(LOOK);
    }
}
