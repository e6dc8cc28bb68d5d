//! The work of a run that has ended, for those who may merge, publish or give it up: people, and the run's parent.

use crate::domain::runs::{Run, RunId, RunParent};
use crate::store::{Mesh, WorkStage};
use crate::sys::flock::FileLock;

use super::list::find;
use super::own_run::worker_run;
use super::settle::settle;
use super::work::RunWork;
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::person_required;

/// A run that has ended, and its work, which nobody else changes meanwhile.
pub(super) struct EndedWork<'a> {
    pub(super) run: Run,
    pub(super) work: RunWork<'a>,
    _lock: FileLock,
}

impl<'a> EndedWork<'a> {
    /// The same, while others may change it.
    pub(super) fn unlocked(self) -> (Run, RunWork<'a>) {
        (self.run, self.work)
    }
}

/// The work of the run that `id` names. What was left of interrupted runs is saved first.
pub(super) fn ended_work<'a>(
    op: &'a Op,
    mesh: &'a Mesh,
    id: &str,
    what: &str,
) -> Result<EndedWork<'a>, CommandError> {
    settle(op, mesh)?;
    let run = find(op, id)?;
    let asker = Asker::find(op, mesh)?;
    if !asker.is_parent_of(mesh, &run.id, &run.parent)? {
        return Err(not_yours(&run, what));
    }
    if !run.state.is_final() {
        let text = format!("run {} goes on, so there is nothing to {what} yet", run.id);
        let hint = format!("wait for its end, or stop it: `msg runs stop {}`", run.id);
        return Err(CommandError::new(CommandErrorKind::AtWork, text).hint(hint));
    }
    let lock = mesh.runs().lock_work()?;
    let none = || {
        let text = format!("run {} had no worktree of its own: what it did is in `{}`", run.id, run.root);
        CommandError::new(CommandErrorKind::NoWork, text)
    };
    let mut work = RunWork::load(op, mesh, &run.id)?.ok_or_else(none)?;
    // What it has done so far is half of something.
    if let Some(other) = work.used_by(&run.id)? {
        let text = format!("run {other} goes on with the work of run {}", run.id);
        return Err(CommandError::new(CommandErrorKind::AtWork, text).hint("wait for its end, or stop it"));
    }
    if matches!(work.record.stage, WorkStage::Open | WorkStage::Closed) {
        // Its supervisor could not do it, for want of space perhaps; or somebody worked on in the directory.
        work.close(&run)?;
    }
    if matches!(work.record.stage, WorkStage::Discarded | WorkStage::Making) {
        let how = match (work.record.is_merged, &work.record.tip) {
            (true, _) => "was merged, and its branch is gone",
            (false, Some(_)) => "was discarded",
            (false, None) => "never began: its worker was not started",
        };
        return Err(CommandError::new(CommandErrorKind::NoWork, format!("the work of run {} {how}", run.id)));
    }
    Ok(EndedWork { run, work, _lock: lock })
}

/// Who asks to change what a run left.
pub(super) enum Asker {
    Person,
    Agent { parent: RunParent },
}

impl Asker {
    /// Whoever is neither in a harness nor a worker is a person. An agent is known by the processes that it runs in: a
    /// name or a variable is only what it says of itself.
    pub(super) fn find(op: &Op, mesh: &Mesh) -> Result<Self, CommandError> {
        let run = worker_run(mesh)?.map(|run| run.id);
        if run.is_none() && person_required::harness().is_none() {
            return Ok(Self::Person);
        }
        let agent = identity::traced_caller(op, mesh)?;
        let (agent, session) = agent.map(|agent| (agent.name, agent.session)).unzip();
        let is_run_proven = run.is_some();
        Ok(Self::Agent { parent: RunParent { agent, session, run, is_run_proven } })
    }

    /// Whether it asked for the run, or for a run above it. A worker is not the parent of its own run.
    pub(super) fn is_parent_of(
        &self,
        mesh: &Mesh,
        id: &RunId,
        parent: &RunParent,
    ) -> Result<bool, CommandError> {
        let Self::Agent { parent: own } = self else { return Ok(true) };
        if own.run.as_ref() == Some(id) {
            return Ok(false);
        }
        let mut next = Some(parent.clone());
        while let Some(parent) = next {
            let is_session = parent.session.is_some() && parent.session == own.session;
            let is_name = parent.session.is_none() && parent.agent.is_some() && parent.agent == own.agent;
            let is_run = parent.run.is_some() && parent.run == own.run;
            if is_session || is_name || is_run {
                return Ok(true);
            }
            next = match &parent.run {
                Some(run) => mesh.runs().get(run)?.map(|run| run.parent),
                None => None,
            };
        }
        Ok(false)
    }
}

fn not_yours(run: &Run, what: &str) -> CommandError {
    let parent = run.parent.agent.as_ref().map_or_else(|| "a person".to_string(), ToString::to_string);
    let text =
        format!("run {} was started by {parent}: only its parent and people may {what} its work", run.id);
    let error = CommandError::new(CommandErrorKind::NotYours, text).fact("parent", parent.clone());
    match &run.parent.agent {
        Some(_) => error.hint(format!("ask: `msg send {parent} \"…\"`")),
        None => error.hint(format!("ask a person to type this at a terminal: msg runs {what} {}", run.id)),
    }
}
