//! Settling runs whose supervisor died: processes that are left of them are ended, and their work is committed and
//! their directories are freed. Every command that changes runs does this first. The runs stay `interrupted`.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::domain::runs::{Run, RunId};
use crate::domain::{Liveness, Pid};
use crate::store::{Mesh, WorkStage};
use crate::sys::keeper::descendants::signal_one;
use crate::sys::keeper::is_keeper;
use crate::sys::{clock, process};

use super::RUN_VARIABLE;
use super::work::RunWork;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::tasks::release_after_run;

/// How long processes may take to end after SIGKILL.
const END_LIMIT: Duration = Duration::from_secs(10);
/// How long a keeper may take to end what it kept: it waits five seconds after SIGTERM.
const KEEPER_LIMIT: Duration = Duration::from_secs(8);

/// Settles every run of the mesh that needs it, one process at a time. What can't be settled is told, and tried again by
/// the next command.
pub(in crate::ops) fn settle(op: &Op, mesh: &Mesh) -> Result<(), CommandError> {
    if unsettled(mesh)?.is_empty() {
        return Ok(());
    }
    let _lock = mesh.runs().lock_work()?;
    for run in unsettled(mesh)? {
        let warn = |what: &str, error: &CommandError| op.warn(format!("{what} yet: {}", error.message));
        let id = &run.id;
        if let Err(error) = settle_work(op, mesh, &run) {
            warn(&format!("the work of run {id} could not be saved"), &error);
        } else if let Err(error) = release_after_run(op, mesh, &run, &format!("run {id} was interrupted")) {
            warn(&format!("the task of run {id} could not be given back"), &error);
        } else if let Err(error) = mesh.runs().mark_settled(id) {
            warn(&format!("run {id} could not be marked as settled"), &error.into());
        }
    }
    Ok(())
}

/// The runs whose supervisor died and of which something may be left.
fn unsettled(mesh: &Mesh) -> Result<Vec<Run>, CommandError> {
    let ledger = mesh.runs();
    let mut found = Vec::new();
    for run in ledger.list()?.runs {
        let is_dead = |run: &Run| !run.state.is_final() && ledger.owner_liveness(run) == Liveness::Gone;
        if !is_dead(&run) || ledger.is_settled(&run.id)? {
            continue;
        }
        // It may have ended in order since it was read.
        if let Some(again) = ledger.get(&run.id)?.filter(is_dead) {
            found.push(again);
        }
    }
    Ok(found)
}

/// Ends what is left of the run, commits its work and frees its directory.
fn settle_work(op: &Op, mesh: &Mesh, run: &Run) -> Result<(), CommandError> {
    end_carriers(&run.id)?;
    if let Some(mut work) = RunWork::load(op, mesh, &run.id)?
        && work.record.stage != WorkStage::Discarded
    {
        work.close_after_death(run)?;
        let teardown = mesh.runs().order(&run.id)?.worktree.unwrap_or_default().teardown;
        work.free_after_death(run, &teardown)?;
    }
    Ok(())
}

/// Ends the processes that carry the id of a run whose supervisor died, and waits until they are gone.
pub(super) fn end_carriers(id: &RunId) -> Result<(), CommandError> {
    let keeper_until = Instant::now() + KEEPER_LIMIT;
    let until = keeper_until + END_LIMIT;
    loop {
        let own = process::own_pid();
        let mut left: Vec<Pid> = process::started_with(RUN_VARIABLE, id.as_str());
        left.retain(|pid| *pid != own && process::identify(*pid).is_some());
        let Some(first) = left.first() else { return Ok(()) };
        if Instant::now() >= until {
            let text = format!("process {first} of run {id} does not end");
            return Err(CommandError::new(CommandErrorKind::StillAlive, text).hint("end it, then try again"));
        }
        // A keeper finds more than we do, and is about to end it.
        if Instant::now() < keeper_until && left.iter().any(|pid| is_keeper(*pid)) {
            clock::pause(Duration::from_millis(2));
            continue;
        }
        for pid in left {
            signal_one(pid, Signal::SIGKILL);
        }
        clock::pause(Duration::from_millis(2));
    }
}
