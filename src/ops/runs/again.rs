//! `msg runs retry` and `msg runs resume`: a run that has ended is begun anew, or its session is continued.
//!
//! Both start a new run, and every gate is asked again: the profile counts as it is now, with the limits that were asked
//! for then.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::runs::{EarlierRun, MicroUsd, Run, RunId, RunState};
use crate::domain::workers::{Budget, Isolation};
use crate::domain::{AgentName, Harness, SessionId, shell_word};
use crate::harness;
use crate::store::{Mesh, RunOrder};

use super::gate::Gate;
use super::list::{as_it_is, find};
use super::plan::{ReviewWish, RunRequest, plan};
use super::reserved_gate;
use super::start::{NewRun, start};
use super::terminal_wish::TerminalWish;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::person_required;

/// What a worker is told whose run was cut short, and one that had ended.
const GO_ON_INTERRUPTED: &str = "You were interrupted in the middle of your work. Look at what is done already, and \
                                 then go on with your task until it is done.";
const GO_ON: &str = "Go on with your task until it is done.";

/// The runs that were continued, and those that were not.
#[derive(Debug, Default)]
pub struct ResumedRuns {
    pub runs: Vec<Run>,
    /// Ids, and why.
    pub left: Vec<(RunId, String)>,
}

/// Starts a new run with the task and the profile of one that has ended.
pub fn retry(op: &Op, id: &str) -> Result<Run, CommandError> {
    let run = ended(find(op, id)?)?;
    check_crew(&run)?;
    let mesh = mesh(op)?;
    start(op, retried(op, &mesh, &run)?)
}

/// Continues the session of a run that has ended, with this text.
pub fn resume(op: &Op, id: &str, text: Option<&str>) -> Result<Run, CommandError> {
    let run = ended(find(op, id)?)?;
    check_crew(&run)?;
    let mesh = mesh(op)?;
    // Held until the new run is in the ledger, so that one session is not continued by two.
    let _turn = mesh.runs().lock_resuming()?;
    start_resumed(op, &mesh, &run, text)
}

/// Continues every interrupted run that nobody has continued or begun anew, unless it was a review or a crew's.
pub fn resume_all(op: &Op) -> Result<ResumedRuns, CommandError> {
    let mut all = ResumedRuns::default();
    let Some(mesh) = op.mesh()? else { return Ok(all) };
    let _turn = mesh.runs().lock_resuming()?;
    let list: Vec<Run> = mesh.runs().list()?.runs.into_iter().map(|run| as_it_is(&mesh, run)).collect();
    let has_follower =
        |run: &Run| list.iter().any(|other| other.earlier.as_ref().is_some_and(|it| *it.id() == run.id));
    // A review was for a run that has ended without it, and a crew goes on with its own.
    let is_others = |run: &Run| run.reviews.is_some() || run.crew.is_some();
    let is_meant = |run: &&Run| run.state == RunState::Interrupted && !is_others(run) && !has_follower(run);
    // The oldest goes first, as in the queue.
    for run in list.iter().rev().filter(is_meant) {
        match start_resumed(op, &mesh, run, None) {
            Ok(resumed) => all.runs.push(resumed),
            Err(error) => all.left.push((run.id.clone(), error.message)),
        }
    }
    Ok(all)
}

/// What a crew began, only that crew goes on with: its work has to be tested and merged.
fn check_crew(run: &Run) -> Result<(), CommandError> {
    let Some(part) = &run.crew else { return Ok(()) };
    let text =
        format!("run {} belongs to the crew `{}`, which goes on with its work itself", run.id, part.crew);
    let spec = run.claim.as_ref().map_or("SPEC", |claim| claim.spec.as_str());
    Err(CommandError::new(CommandErrorKind::InvalidValue, text)
        .hint(format!("msg crew work {}", shell_word(spec))))
}

fn mesh(op: &Op) -> Result<std::rc::Rc<Mesh>, CommandError> {
    op.mesh()?.ok_or_else(|| CommandError::new(CommandErrorKind::Io, "the mesh is gone"))
}

/// The run, if it has ended.
pub(super) fn ended(run: Run) -> Result<Run, CommandError> {
    if run.state.is_final() {
        return Ok(run);
    }
    let text = format!("run {} goes on: it is {}", run.id, run.outcome());
    let error = CommandError::new(CommandErrorKind::AtWork, text).fact("state", run.state.name());
    Err(error.hint(format!("`msg runs stop {}` stops it", run.id)))
}

/// The session that can be continued, with its harness.
pub(super) fn session(run: &Run) -> Result<(Harness, SessionId), CommandError> {
    let refusal = |why: &str| {
        let text = format!("run {} can't be continued: {why}", run.id);
        CommandError::new(CommandErrorKind::InvalidValue, text)
            .hint(format!("`msg runs retry {}` begins anew", run.id))
    };
    let harness = run.harness.as_deref().ok_or_else(|| refusal("a command has no session"))?;
    let harness = harness::parse(harness).ok_or_else(|| refusal("its harness is not known"))?;
    let session = run.session.clone().ok_or_else(|| refusal("it ended before it had a session"))?;
    Ok((harness, session))
}

fn start_resumed(op: &Op, mesh: &Mesh, run: &Run, text: Option<&str>) -> Result<Run, CommandError> {
    // What was interrupted before its worker said anything has nothing to go on with.
    let has_begun = run.started_at.is_some() && (run.session.is_some() || run.harness.is_none());
    if run.state == RunState::Interrupted && !has_begun {
        return start(op, retried(op, mesh, run)?);
    }
    let (harness, session) = session(run)?;
    let list = mesh.runs().list()?.runs.into_iter().map(|run| as_it_is(mesh, run));
    let goes_on = |other: &Run| !other.state.is_final() && other.session.as_ref() == Some(&session);
    if let Some(other) = list.into_iter().find(goes_on) {
        let text = format!("run {} continues this session already", other.id);
        return Err(CommandError::new(CommandErrorKind::AtWork, text).fact("run", other.id.to_string()));
    }
    let usual = if run.state == RunState::Interrupted { GO_ON_INTERRUPTED } else { GO_ON };
    let order = mesh.runs().order(&run.id)?;
    let mut request = request(run, &order)?;
    request.task = text.filter(|text| !text.trim().is_empty()).unwrap_or(usual).to_string();
    request.resumes = Some((harness, session));
    // Its worktree is made again, with all that it left.
    request.continues = order.worktree.as_ref().map(|_| run.id.clone());
    let mut new = plan(op, request)?;
    new.order.reviewed = order.reviewed;
    start(op, NewRun { earlier: Some(EarlierRun::Resumed(run.id.clone())), ..new })
}

fn retried(op: &Op, mesh: &Mesh, run: &Run) -> Result<NewRun, CommandError> {
    let order = mesh.runs().order(&run.id)?;
    let mut new = plan(op, request(run, &order)?)?;
    new.order.reviewed = order.reviewed;
    Ok(NewRun { earlier: Some(EarlierRun::Retried(run.id.clone())), ..new })
}

/// What was asked for then.
fn request(run: &Run, order: &RunOrder) -> Result<RunRequest, CommandError> {
    Ok(RunRequest {
        profile: run.profile.clone(),
        task: run.task.clone(),
        name: order.name.clone().map(AgentName::new).transpose()?,
        timeout: order.timeout_seconds.map(Duration::from_secs),
        budget: Budget { usd: order.most_micros.map(MicroUsd::from_micros), tokens: order.most_tokens },
        root: Some(place(run)?),
        resumes: None,
        isolation: order.worktree.as_ref().map(|_| Isolation::Worktree),
        continues: None,
        crew: order.worktree.as_ref().and_then(|worktree| worktree.crew.clone()),
        reserve: order.reserve.clone(),
        reserve_from: Some(reserved_gate::tree_of(run)),
        is_to_wait: order.is_to_wait,
        terminal: order.pane.as_ref().map(|pane| match pane.is_trust_accepted {
            // A person accepted it for that run, and agents can't for another.
            true if person_required::harness().is_none() => TerminalWish::AcceptTrust,
            true | false => TerminalWish::Report,
        }),
        claims: claims(run, order),
        review: ReviewWish::OfProfile,
        is_review: order.is_review || run.reviews.is_some(),
        // Whoever begins it anew is here.
        asked: None,
    })
}

/// The task that it had. A session that went on without it may have it again.
fn claims(run: &Run, order: &RunOrder) -> Option<(String, Option<String>)> {
    let ordered = order.task.clone().map(|task| (task.id, task.file));
    ordered.or_else(|| run.claim.clone().map(|claim| (claim.task, Some(claim.spec))))
}

/// The tree that it worked for, if that is still there.
fn place(run: &Run) -> Result<PathBuf, CommandError> {
    match &run.project {
        None => root(run),
        Some(project) if Path::is_dir(Path::new(project)) => Ok(PathBuf::from(project)),
        Some(project) => {
            let text = format!("the tree that run {} worked for is gone: `{project}`", run.id);
            Err(Gate::Task.refuse(text).hint("start a new run where the work is to be done: `msg run`"))
        }
    }
}

/// Where it worked, if that is still there.
pub(super) fn root(run: &Run) -> Result<PathBuf, CommandError> {
    let root = PathBuf::from(&run.root);
    if Path::is_dir(&root) {
        return Ok(root);
    }
    let text = format!("the directory of run {} is gone: `{}`", run.id, run.root);
    Err(Gate::Task.refuse(text).hint("start a new run where the work is to be done: `msg run`"))
}
