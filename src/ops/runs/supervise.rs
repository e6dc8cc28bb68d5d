//! The supervisor of a run: waits for a slot, starts the worker, reads what it prints, and judges how it ended.
//!
//! It is the only writer of `run.json`. What others want of it (to stop) they write beside it, and it watches that.

use std::time::{Duration, Instant};

use crossbeam_channel::{after, never, select};
use nix::sys::signal::{Signal, kill};

use crate::domain::runs::{Cost, Run, RunEvidence, RunId, RunState, Usage, judge_end};
use crate::domain::{Agent, AgentName, Harness, Pid, RecordedProcess, SessionId};
use crate::harness::worker::{WorkerEvent, WorkerExit, WorkerReader};
use crate::store::{HeldSlot, Mesh, RunOrder, StopOrder, StopUrgency, WatchTarget};
use crate::sys::keeper::KeptExit;
use crate::sys::keeper::descendants::own_descendants;
use crate::sys::keeper::kept::{KeptCall, KeptNews, KeptProgram};
use crate::sys::watch::DirWatch;
use crate::sys::{clock, files, process};

use super::RUN_VARIABLE;
use super::budget::{OVER_BUDGET, is_over, over_budget};
use super::command_end;
use super::telling;
use super::turn::{TurnOutcome, wait_for_slot};
use super::worker_call::{self, WorkerLaunch};
use super::worker_output::WorkerOutput;
use crate::ops::agents::join::{JoinRequest, join};
use crate::ops::agents::leave::leave_as;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runner::carry_out;

/// How long a worker that is stopped has to wrap up.
const WRAP_UP: Duration = Duration::from_secs(30);
/// How often what changes all the time is written at most.
const WRITE_PAUSE: Duration = Duration::from_millis(300);
/// How much of a worker's last words the ledger keeps.
const MOST_RESULT: usize = 256 * 1024;
/// How long leftovers of a worker may take to end after SIGKILL, and its output to be closed.
const END_LIMIT: Duration = Duration::from_secs(10);
/// How often it looks although nothing happened.
const TICK: Duration = Duration::from_secs(1);

/// Supervises the run until its end. Whatever happens, the run gets a final state.
pub fn supervise(op: &Op, id: &RunId) -> Result<(), CommandError> {
    let gone = || CommandError::new(CommandErrorKind::Io, "the mesh is gone");
    let mesh = op.mesh()?.ok_or_else(gone)?;
    let mut run = mesh.runs().draft(id)?;
    run.owner = RecordedProcess::Pinned(process::identify(process::own_pid()).ok_or_else(gone)?);
    mesh.runs().put(&run)?;
    adopt_orphans();
    let order = mesh.runs().order(id)?;
    let mut supervisor = Supervisor { op, mesh: &mesh, run, order, slot: None, worker: None };
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

/// How a run ended.
#[derive(Debug, Default)]
struct RunFinish {
    state: Option<RunState>,
    reason: Option<String>,
    result: Option<String>,
    usage: Option<(Usage, Cost)>,
}

impl RunFinish {
    fn new(state: RunState, reason: impl Into<String>) -> Self {
        Self { state: Some(state), reason: Some(reason.into()), ..Self::default() }
    }

    fn failed(reason: impl Into<String>) -> Self {
        Self::new(RunState::Failed, reason)
    }
}

struct Supervisor<'a> {
    op: &'a Op,
    mesh: &'a Mesh,
    run: Run,
    order: RunOrder,
    slot: Option<HeldSlot>,
    /// The worker as an agent, if we registered it ourselves.
    worker: Option<Agent>,
}

/// Why a worker that is running is made to end.
#[derive(Clone, Debug)]
struct Ending {
    state: RunState,
    reason: String,
    /// When it is asked to end, if it has not.
    terminate_at: Instant,
    is_terminated: bool,
}

impl Supervisor<'_> {
    fn work(&mut self) -> Result<RunFinish, CommandError> {
        match wait_for_slot(self.op, self.mesh, &self.run)? {
            TurnOutcome::Stopped(order) => {
                return Ok(RunFinish::new(RunState::Stopped, format!("stopped by {}", order.by)));
            }
            TurnOutcome::Slot(slot) => {
                self.run.slot = Some(slot.number);
                self.slot = Some(slot);
            }
        }
        let dir = self.mesh.runs().dir(&self.run.id);
        let launch = worker_call::launch(
            &self.run,
            &self.order,
            (&self.op.home, &self.op.location.to_string()),
            &dir,
        )?;
        for (path, content) in &launch.files {
            files::replace_beside(path, content.as_bytes(), 0o600)?;
        }
        // The session is written down before the start, so that a run that is cut short can be resumed.
        self.run.session = launch.session.clone();
        self.run.started_at = Some(clock::now());
        self.set_state(RunState::Starting)?;
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

    fn set_state(&mut self, state: RunState) -> Result<(), CommandError> {
        debug_assert!(self.run.state.may_become(state), "{:?} → {state:?}", self.run.state);
        self.run.state = state;
        Ok(self.mesh.runs().put(&self.run)?)
    }

    /// Writes the final state, once, and tells the parent.
    fn end(mut self, finish: RunFinish) -> Result<(), CommandError> {
        end_leftovers(&self.run.id);
        let RunFinish { state, reason, result, usage } = finish;
        if let Some((usage, cost)) = usage {
            (self.run.usage, self.run.cost) = (usage, cost);
        }
        // A name that can't be read must not keep the run from its end.
        self.run.agent = self.mesh.runs().worker(&self.run.id).ok().flatten().or(self.run.agent.take());
        self.run.reason = reason;
        self.run.result = result.map(|text| cut(text, MOST_RESULT));
        self.run.ended_at = Some(clock::now());
        self.run.doing = None;
        self.run.until = None;
        self.set_state(state.unwrap_or(RunState::Failed))?;
        // The slot is free before the parent is told: it may want the next one.
        self.slot = None;
        if let Some(worker) = self.worker.take()
            && let Err(error) = leave_as(self.op, self.mesh, &worker)
        {
            self.op.warn(format!("{} could not leave: {error}", worker.name));
        }
        telling::tell_end(self.op, self.mesh, &self.run)
    }
}

fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        let left_out = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("\n[… {left_out} bytes were left out here …]"));
    }
    text
}

/// Ends whatever still carries the id of the run, and what its keeper left to us. After an orderly end there is nothing.
/// What can't be ended in time is named by nobody but the system.
fn end_leftovers(id: &RunId) {
    let until = Instant::now() + END_LIMIT;
    while Instant::now() < until {
        let own = process::own_pid();
        let mut left: Vec<Pid> = process::started_with(RUN_VARIABLE, id.as_str());
        left.extend(own_descendants());
        let left: Vec<Pid> =
            left.into_iter().filter(|pid| *pid != own && process::identify(*pid).is_some()).collect();
        if left.is_empty() {
            return;
        }
        for pid in left {
            // It may have just ended.
            let _ = kill(nix::unistd::Pid::from_raw(pid.get()), Signal::SIGKILL);
        }
        clock::pause(Duration::from_millis(2));
    }
}

/// Watches one worker.
struct Watcher<'s, 'a> {
    supervisor: &'s mut Supervisor<'a>,
    program: KeptProgram,
    output: WorkerOutput,
    watch: Option<DirWatch>,
    reader: Option<Box<dyn WorkerReader>>,
    /// What a command printed: its result.
    printed: String,
    deadline: Option<Instant>,
    ending: Option<Ending>,
    exit: Option<KeptExit>,
    /// When what is new was last written, if something is not yet.
    written_at: Instant,
    is_unwritten: bool,
}

impl<'s, 'a> Watcher<'s, 'a> {
    fn new(
        supervisor: &'s mut Supervisor<'a>,
        program: KeptProgram,
        output: WorkerOutput,
        watch: Option<DirWatch>,
        launch: WorkerLaunch,
    ) -> Self {
        let timeout = supervisor.order.timeout_seconds.map(Duration::from_secs);
        Self {
            supervisor,
            program,
            output,
            watch,
            reader: launch.reader,
            printed: String::new(),
            deadline: timeout.map(|timeout| Instant::now() + timeout),
            ending: None,
            exit: None,
            written_at: Instant::now(),
            is_unwritten: false,
        }
    }

    fn run(mut self) -> Result<RunFinish, CommandError> {
        let (mut lines, news) = (self.output.lines.clone(), self.output.news.clone());
        let mut has_lost_keeper = false;
        loop {
            self.look_for_stop()?;
            self.act_when_due()?;
            let due = after(
                self.next_due().map_or(TICK, |due| due.saturating_duration_since(Instant::now()).min(TICK)),
            );
            let hints = self.watch.as_ref().map_or_else(never, |watch| watch.hints().clone());
            select! {
                recv(lines) -> line => match line {
                    Ok(line) => self.line(&line)?,
                    Err(_) => lines = never(),
                },
                recv(news) -> one => match one {
                    Ok(KeptNews::Started(pid)) => self.started(pid)?,
                    Ok(KeptNews::Ended(exit)) => self.exit = Some(exit),
                    Ok(KeptNews::Clean) => break,
                    Ok(KeptNews::KeeperGone) | Err(_) => { has_lost_keeper = true; break; }
                },
                recv(hints) -> _ => {}
                recv(due) -> _ => {}
            }
        }
        if has_lost_keeper {
            end_leftovers(&self.supervisor.run.id);
        }
        self.drain()?;
        self.finish(has_lost_keeper)
    }

    /// The lines that were printed before the end.
    fn drain(&mut self) -> Result<(), CommandError> {
        let (lines, until) = (self.output.lines.clone(), Instant::now() + END_LIMIT);
        // Everything that could hold the pipe open has ended, unless it could not be found.
        while let Ok(line) = lines.recv_deadline(until) {
            self.line(&line)?;
        }
        Ok(())
    }

    fn next_due(&self) -> Option<Instant> {
        let terminate =
            self.ending.as_ref().filter(|ending| !ending.is_terminated).map(|ending| ending.terminate_at);
        let deadline = self.deadline.filter(|_| self.ending.is_none());
        let write = self.is_unwritten.then(|| self.written_at + WRITE_PAUSE);
        [terminate, deadline, write].into_iter().flatten().min()
    }

    fn act_when_due(&mut self) -> Result<(), CommandError> {
        let now = Instant::now();
        if self.ending.is_none()
            && self.exit.is_none()
            && self.deadline.is_some_and(|deadline| deadline <= now)
        {
            let seconds = self.supervisor.order.timeout_seconds.unwrap_or_default();
            self.end_worker(RunState::Timeout, format!("it took more than {seconds} s"), now);
        }
        if let Some(ending) =
            self.ending.as_mut().filter(|ending| !ending.is_terminated && ending.terminate_at <= now)
        {
            ending.is_terminated = true;
            // If the keeper is gone, that is noticed elsewhere.
            drop(self.program.terminate());
        }
        if self.is_unwritten && self.written_at + WRITE_PAUSE <= now {
            // If that fails, it is tried again: a worker must not end because its progress can't be written.
            self.is_unwritten = self.supervisor.mesh.runs().put(&self.supervisor.run).is_err();
            self.written_at = now;
        }
        Ok(())
    }

    /// Makes the worker end at that time. The first reason counts, but a later one may be sooner.
    fn end_worker(&mut self, state: RunState, reason: String, terminate_at: Instant) {
        match &mut self.ending {
            Some(ending) => ending.terminate_at = ending.terminate_at.min(terminate_at),
            None => self.ending = Some(Ending { state, reason, terminate_at, is_terminated: false }),
        }
    }

    fn look_for_stop(&mut self) -> Result<(), CommandError> {
        // What has ended by itself is not stopped.
        if self.exit.is_some() {
            return Ok(());
        }
        let Some(StopOrder { by, urgency }) =
            self.supervisor.mesh.runs().stop_order(&self.supervisor.run.id)?
        else {
            return Ok(());
        };
        let is_new = self.ending.is_none();
        let worker = self.worker_agent()?;
        let at = match (urgency, &worker) {
            (StopUrgency::WrapUp, Some(_)) if is_new => Instant::now() + WRAP_UP,
            (StopUrgency::WrapUp, _) if !is_new => return Ok(()),
            _ => Instant::now(),
        };
        if let (StopUrgency::WrapUp, Some(worker)) = (urgency, worker)
            && is_new
        {
            telling::tell_to_wrap_up(self.supervisor.op, &worker, &by, WRAP_UP.as_secs() as usize);
            carry_out(self.supervisor.op);
        }
        self.end_worker(RunState::Stopped, format!("stopped by {by}"), at);
        Ok(())
    }

    /// The worker as an agent whose hooks will tell it something; a command has none.
    fn worker_agent(&self) -> Result<Option<Agent>, CommandError> {
        if self.reader.is_none() {
            return Ok(None);
        }
        let Some(name) = self.supervisor.mesh.runs().worker(&self.supervisor.run.id)? else {
            return Ok(None);
        };
        Ok(self.supervisor.mesh.registry().get(&name)?.map(|record| record.agent))
    }

    fn started(&mut self, pid: Pid) -> Result<(), CommandError> {
        if self.reader.is_none() {
            self.enrol(pid);
        }
        self.supervisor.set_state(RunState::Running)
    }

    /// A command has no hooks that would join, so we do it. Without a name in the mesh it works all the same.
    fn enrol(&mut self, pid: Pid) {
        let run = &mut self.supervisor.run;
        let request = JoinRequest {
            name: self.supervisor.order.name.clone().and_then(|name| AgentName::new(name).ok()),
            harness: Some(Harness::OTHER),
            session: SessionId::new(format!("run-{}", run.id)).ok(),
            pid: Some(pid.get().into()),
            model: run.model.clone(),
            ..JoinRequest::default()
        };
        match join(self.supervisor.op, &request) {
            Ok(joined) => {
                run.agent = Some(joined.profile.agent.name.clone());
                self.supervisor.worker = Some(joined.profile.agent);
                carry_out(self.supervisor.op);
            }
            // A command may have ended by now.
            Err(error) => tracing::debug!("the worker did not join: {error}"),
        }
    }

    fn line(&mut self, line: &str) -> Result<(), CommandError> {
        let Some(reader) = &mut self.reader else {
            if self.printed.len() < 2 * MOST_RESULT {
                self.printed.push_str(line);
                self.printed.push('\n');
            }
            return Ok(());
        };
        for event in reader.line(line) {
            self.event(event)?;
        }
        Ok(())
    }

    fn event(&mut self, event: WorkerEvent) -> Result<(), CommandError> {
        let run = &mut self.supervisor.run;
        match event {
            WorkerEvent::Session(session) => run.session = Some(session),
            WorkerEvent::Model(model) => run.model = Some(model),
            WorkerEvent::Doing(what) => run.doing = Some(what),
            WorkerEvent::Used(usage, cost) => {
                (run.usage, run.cost) = (usage, cost);
                self.check_budget();
            }
            WorkerEvent::Denied(_) => {}
            WorkerEvent::Limited(until) => run.until = until,
        }
        self.is_unwritten = true;
        Ok(())
    }

    fn check_budget(&mut self) {
        let run = &self.supervisor.run;
        if is_over(&self.supervisor.order, run.usage, run.cost) {
            self.end_worker(RunState::OverBudget, OVER_BUDGET.to_string(), Instant::now());
        }
    }

    fn finish(mut self, has_lost_keeper: bool) -> Result<RunFinish, CommandError> {
        let (errors, troubles) = self.output.finish(Instant::now() + END_LIMIT);
        for trouble in troubles {
            self.supervisor.op.warn(format!("what the worker printed was not kept: {trouble}"));
        }
        self.program.reap().map_err(|error| CommandError::new(CommandErrorKind::Io, error.to_string()))?;
        let dir = self.supervisor.mesh.runs().dir(&self.supervisor.run.id);
        let exit = match self.exit {
            Some(KeptExit::Code(code)) => WorkerExit::Code(code),
            Some(KeptExit::Signal(signal)) => WorkerExit::Signal(signal),
            None => WorkerExit::Signal(Signal::SIGKILL as i32),
        };
        let end = match self.reader.take() {
            Some(reader) => reader.end(exit, &errors, &dir.join("scratch")),
            None => {
                command_end::read(std::mem::take(&mut self.printed), exit, &errors, &dir.join("usage.json"))
            }
        };
        let usage = Some((end.usage, end.cost));
        if let Some(ending) = self.ending.take() {
            let (state, reason) = (Some(ending.state), Some(ending.reason));
            return Ok(RunFinish { state, reason, result: end.result, usage });
        }
        if has_lost_keeper && self.exit.is_none() {
            let reason = Some("its keeper was killed, and the worker with it".to_string());
            return Ok(RunFinish { state: Some(RunState::Failed), reason, result: end.result, usage });
        }
        if let Some(reason) = over_budget(&self.supervisor.order, &end) {
            return Ok(RunFinish {
                state: Some(RunState::OverBudget),
                reason: Some(reason),
                result: end.result,
                usage,
            });
        }
        let evidence = RunEvidence {
            result: end.result.clone(),
            failure: end.failure.as_ref().map(ToString::to_string),
            denied: end.denied,
            has_changed: None,
            is_to_write: self.supervisor.order.is_to_write,
        };
        let (state, reason) = judge_end(&evidence);
        Ok(RunFinish { state: Some(state), reason, result: end.result, usage })
    }
}
