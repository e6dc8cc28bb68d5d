//! The supervisor of a run: waits for a slot, starts the worker, and sees to its end.
//!
//! It is the only writer of `run.json`. What others want of it (to stop) they write beside it, and it watches that.

use std::path::Path;
use std::time::Instant;

use crate::domain::RecordedProcess;
use crate::domain::runs::{Run, RunId, RunState};
use crate::store::WatchTarget;
use crate::sys::keeper::kept::{KeptCall, KeptProgram};
use crate::sys::{clock, files, process};

use super::admission::{Admission, admit};
use super::count_gates::check_loop;
use super::kept_place::{self, KeptAtOnce};
use super::mode_gate;
use super::name_gate::check_name;
use super::reserved_gate::has_to_give_way;
use super::run_events::Notifier;
use super::session_spending::SessionSpending;
use super::supervisor::{RunFinish, Supervisor};
use super::turn::{TurnOutcome, wait_for_slot};
use super::watch_worker::Watcher;
use super::worker_call;
use super::worker_output::WorkerOutput;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::tasks::withdraw_claim;

/// How often an account may be at its limit before a run gives up.
const MOST_LIMITED: usize = 20;
/// What a worker is told whose account was at its limit.
const GO_ON: &str = "Your account was at its limit, and you were ended in the middle of your work. Look at what is done \
                     already, and then go on with your task until it is done.";

/// Supervises the run until its end. Whatever happens, the run gets a final state.
pub fn supervise(op: &Op, id: &RunId) -> Result<(), CommandError> {
    let gone = || CommandError::new(CommandErrorKind::Io, "the mesh is gone");
    let mesh = op.mesh()?.ok_or_else(gone)?;
    let mut run = mesh.runs().draft(id)?;
    let own = RecordedProcess::Pinned(process::identify(process::own_pid()).ok_or_else(gone)?);
    let starter = std::mem::replace(&mut run.owner, own);
    let order = mesh.runs().order(id)?;
    let spent = SessionSpending::before(&mesh, &run, &order)?;
    let worker = match kept_place::keep_at_once(op, &mesh, &mut run, &order)? {
        KeptAtOnce::NotNow => None,
        KeptAtOnce::Kept(worker) => Some(*worker),
        KeptAtOnce::Refused => return Ok(()),
    };
    if admit(&mesh, &mut run, &order, starter)? == Admission::Refused {
        if let Some(worker) = &worker {
            if let Err(error) = withdraw_claim(&mesh, &run) {
                op.warn(format!("the number of a claim could not be taken back: {error}"));
            }
            kept_place::give_up(op, &mesh, worker);
        }
        return Ok(());
    }
    adopt_orphans();
    let notifier = Notifier::start(op, id);
    let mut supervisor = Supervisor {
        op,
        mesh: &mesh,
        run,
        order,
        spent,
        slot: None,
        worker,
        parent_tree: None,
        work: None,
        notifier,
        used_before: Default::default(),
        began: Instant::now(),
    };
    let finish = supervisor.work().unwrap_or_else(|error| RunFinish::failed(error.message));
    supervisor.end(finish)
}

/// On Linux, whatever a dead keeper leaves becomes our child, so that we find it.
fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    if let Err(error) = nix::sys::prctl::set_child_subreaper(true) {
        tracing::debug!("orphans are not adopted: {error}");
    }
}

/// Does something before the worker is started, by which a program may be left that is not of this run: a tmux server. It
/// must not be below us, because whoever works in it would count as our worker.
pub(super) fn without_adopting<T>(act: impl FnOnce() -> T) -> T {
    #[cfg(target_os = "linux")]
    if let Err(error) = nix::sys::prctl::set_child_subreaper(false) {
        tracing::debug!("orphans are still adopted: {error}");
    }
    let done = act();
    adopt_orphans();
    done
}

impl Supervisor<'_> {
    /// Lets the worker work. If its account is at its limit, it goes on after the reset.
    fn work(&mut self) -> Result<RunFinish, CommandError> {
        for _ in 0..MOST_LIMITED {
            let finish = self.attempt()?;
            if finish.state != Some(RunState::Limited) {
                return Ok(finish);
            }
            self.rest(finish)?;
        }
        Ok(RunFinish::failed(format!("the account was at its limit {MOST_LIMITED} times")))
    }

    /// Frees the slot until the limit is reset. What the worker has done is not done again, if its session goes on.
    fn rest(&mut self, finish: RunFinish) -> Result<(), CommandError> {
        self.slot = None;
        self.run.slot = None;
        if let Some((usage, cost)) = finish.usage {
            (self.run.usage, self.run.cost) = (usage, cost);
        }
        self.used_before = (self.run.usage, self.run.cost);
        let has_worked = self.run.usage.output.is_some_and(|output| output > 0);
        if let Some(session) = self.run.session.as_ref().filter(|_| has_worked) {
            self.order.resumes = Some(session.to_string());
            self.order.go_on = Some(GO_ON.to_string());
        }
        self.run.reason = finish.reason;
        self.run.doing = None;
        self.keep_again();
        if self.run.state == RunState::Limited {
            return Ok(self.mesh.runs().put(&self.run)?);
        }
        self.set_state(RunState::Limited)
    }

    fn attempt(&mut self) -> Result<RunFinish, CommandError> {
        let slot = loop {
            if let Some(finish) = self.keep_place()? {
                return Ok(finish);
            }
            let worker = self.worker.as_ref().filter(|_| !self.run.reserve.is_empty()).cloned();
            let gives_way = |run: &Run| match &worker {
                Some(worker) => has_to_give_way(self.op, self.mesh, run, worker),
                None => Ok(false),
            };
            // Whoever is reviewed waits for it: how long that waits counts as well.
            let latest = self.deadline().filter(|_| self.run.reviews.is_some());
            match wait_for_slot(self.op, self.mesh, &mut self.run, latest, gives_way)? {
                TurnOutcome::Stopped(order) => {
                    return Ok(RunFinish::new(RunState::Stopped, format!("stopped by {}", order.by)));
                }
                TurnOutcome::TooLate => {
                    let seconds = self.order.timeout_seconds.unwrap_or_default();
                    let text = format!("it waited until its {seconds} s were over");
                    return Ok(RunFinish::new(RunState::Stopped, text));
                }
                TurnOutcome::GivesWay => self.give_way(),
                TurnOutcome::Slot(slot) => break slot,
            }
        };
        self.run.slot = Some(slot.number);
        self.slot = Some(slot);
        // Whoever set a mode while it waited means it, too.
        let work = (self.run.profile.as_str(), &self.order);
        if let Err(refused) = mode_gate::check(self.op, self.mesh, Path::new(&self.run.root), work) {
            return Ok(RunFinish::new(RunState::Stopped, refused.message));
        }
        // The same task may have failed too often since.
        match check_loop(self.mesh, &self.run.prompt, &self.run.profile) {
            Err(refused) if refused.kind == CommandErrorKind::Gate => {
                return Ok(RunFinish::new(RunState::Stopped, refused.message));
            }
            checked => checked?,
        }
        // Somebody may have taken its name while it waited.
        match check_name(self.mesh, &self.run.id, &self.order) {
            Err(refused) if refused.kind == CommandErrorKind::NameTaken => {
                return Ok(RunFinish::new(RunState::Stopped, refused.message));
            }
            checked => checked?,
        }
        self.run.started_at = Some(clock::now());
        self.set_state(RunState::Starting)?;
        // One that goes on after a limit has its worktree.
        if self.work.is_none()
            && let Some(finish) = self.make_worktree()?
        {
            return Ok(finish);
        }
        if self.order.crew.as_ref().is_some_and(|crew| crew.is_worked) {
            return self.finish_of_earlier();
        }
        let dir = self.mesh.runs().dir(&self.run.id);
        let launch = worker_call::launch(
            &self.run,
            &self.spent.raised(&self.order),
            (&self.op.home, &self.op.location.to_string()),
            &dir,
        )?;
        for (path, content) in &launch.files {
            files::replace_beside(path, content.as_bytes(), 0o600)?;
        }
        // The session is written down before the start, so that a run that is cut short can be resumed.
        self.run.session = launch.session.clone();
        self.mesh.runs().put(&self.run)?;
        self.remember_parent_tree();
        if let Some(pane) = self.order.pane.clone() {
            return self.attempt_in_pane(&pane, &launch);
        }
        // Without a watch it looks every second.
        let watch = self.mesh.watch(WatchTarget::Run(&self.run.id))?.ok();
        let call = KeptCall {
            program: &launch.program,
            args: &launch.args,
            env: &launch.env,
            dir: self.run.root.as_ref(),
            input: launch.input.as_deref(),
        };
        let started = KeptProgram::start(&call);
        let (program, kept) = started.map_err(|error| {
            CommandError::new(CommandErrorKind::Io, format!("the worker could not be started: {error}"))
        })?;
        let output = WorkerOutput::read(kept, &dir).map_err(|error| {
            CommandError::new(CommandErrorKind::Io, format!("its output can't be kept: {error}"))
        })?;
        Watcher::new(self, program, output, watch, launch).run()
    }
}
