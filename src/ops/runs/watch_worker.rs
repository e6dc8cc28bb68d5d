//! Watching one worker: what it prints, what others want of it, when its time is over, and how it ended.

use std::time::{Duration, Instant};

use crossbeam_channel::{after, never, select};
use jiff::Timestamp;
use nix::sys::signal::Signal;

use crate::domain::runs::{RunEvidence, RunState, judge_end};
use crate::domain::{Agent, AgentName, Harness, Pid};
use crate::harness::worker::{WorkerEvent, WorkerExit, WorkerFailure, WorkerReader};
use crate::store::{StopOrder, StopUrgency};
use crate::sys::clock;
use crate::sys::keeper::KeptExit;
use crate::sys::keeper::kept::{KeptNews, KeptProgram};
use crate::sys::watch::DirWatch;

use super::budget::{OVER_BUDGET, OVER_WITH_OTHERS, is_over, over_budget};
use super::command_end;
use super::ending::{Ending, WRAP_UP};
use super::hold::record_limit;
use super::own_run::kept_session;
use super::supervisor::{END_LIMIT, MOST_WHOLE_RESULT, RunFinish, Supervisor, end_leftovers};
use super::telling;
use super::watch_question::QuestionWatch;
use super::worker_call::WorkerLaunch;
use super::worker_output::WorkerOutput;
use crate::ops::agents::join::{JoinRequest, join};
use crate::ops::context::{Context, GlobalOptions};
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runner::{self, carry_out};

/// How often what changes all the time is written at most.
const WRITE_PAUSE: Duration = Duration::from_millis(300);
/// How often it looks although nothing happened.
const TICK: Duration = Duration::from_secs(1);
/// How often it is looked at most at what the runs of the worker take: that reads the whole ledger.
const COMPARE: Duration = Duration::from_secs(5);

/// Watches one worker.
pub(super) struct Watcher<'s, 'a> {
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
    questions: QuestionWatch,
    /// When what it used was last compared with what is left of its budget.
    compared_at: Option<Instant>,
}

impl<'s, 'a> Watcher<'s, 'a> {
    pub(super) fn new(
        supervisor: &'s mut Supervisor<'a>,
        program: KeptProgram,
        output: WorkerOutput,
        watch: Option<DirWatch>,
        launch: WorkerLaunch,
    ) -> Self {
        let deadline = supervisor.deadline();
        Self {
            supervisor,
            program,
            output,
            watch,
            reader: launch.reader,
            printed: String::new(),
            deadline,
            ending: None,
            exit: None,
            written_at: Instant::now(),
            is_unwritten: false,
            questions: QuestionWatch::default(),
            compared_at: None,
        }
    }

    pub(super) fn run(mut self) -> Result<RunFinish, CommandError> {
        let (mut lines, news) = (self.output.lines.clone(), self.output.news.clone());
        let mut has_lost_keeper = false;
        loop {
            self.look_for_stop()?;
            self.questions.look(self.supervisor)?;
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
        self.questions.end(self.supervisor)?;
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
        let terminate = Ending::due(self.ending.as_ref());
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
        if Ending::has_become_due(&mut self.ending, now) {
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

    fn end_worker(&mut self, state: RunState, reason: String, terminate_at: Instant) {
        Ending::set(&mut self.ending, state, reason, terminate_at);
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
        // It may have asked something already.
        match self.supervisor.run.state {
            RunState::Starting => self.supervisor.set_state(RunState::Running),
            _ => Ok(()),
        }
    }

    /// A command has no hooks that would join, so we do it. Without a name in the mesh it works all the same.
    fn enrol(&mut self, pid: Pid) {
        // What is kept for it stays as it is: the worker may call `msg` at this moment, and is known by its supervisor.
        if self.supervisor.worker.is_some() {
            return;
        }
        let run = &mut self.supervisor.run;
        let request = JoinRequest {
            name: self.supervisor.order.name.clone().and_then(|name| AgentName::new(name).ok()),
            harness: Some(Harness::OTHER),
            session: kept_session(&run.id).ok(),
            pid: Some(pid.get().into()),
            model: run.model.clone(),
            ..JoinRequest::default()
        };
        let joined = match run.project {
            None => join(self.supervisor.op, &request).inspect(|_| drop(carry_out(self.supervisor.op))),
            // Its folder is its worktree.
            Some(_) => {
                let mesh = Some(self.supervisor.op.location.to_string());
                let cwd = Some(run.root.clone().into());
                let ctx = Context::new(GlobalOptions { mesh, cwd, ..GlobalOptions::default() });
                ctx.and_then(|ctx| runner::run(ctx, |op| join(op, &request)).into_parts().0)
            }
        };
        match joined {
            Ok(joined) => {
                run.agent = Some(joined.profile.agent.name.clone());
                self.supervisor.worker = Some(joined.profile.agent);
            }
            // A command may have ended by now.
            Err(error) => tracing::debug!("the worker did not join: {error}"),
        }
    }

    fn line(&mut self, line: &str) -> Result<(), CommandError> {
        let Some(reader) = &mut self.reader else {
            if self.printed.len() < MOST_WHOLE_RESULT {
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
        let is_at_work = matches!(event, WorkerEvent::Doing(_) | WorkerEvent::Used(..));
        if is_at_work && self.supervisor.run.state == RunState::Limited {
            self.supervisor.run.until = None;
            self.supervisor.set_state(RunState::Running)?;
        }
        let run = &mut self.supervisor.run;
        match event {
            WorkerEvent::Session(session) => run.session = Some(session),
            WorkerEvent::Model(model) => run.model = Some(model),
            WorkerEvent::Doing(what) => run.doing = Some(what),
            WorkerEvent::Used(usage, cost) => {
                let (usage, cost) = self.supervisor.spent.taken_off(usage, cost);
                let all = self.supervisor.used_in_all(usage, cost);
                (self.supervisor.run.usage, self.supervisor.run.cost) = all;
                self.check_budget();
            }
            WorkerEvent::Denied(_) => {}
            WorkerEvent::Limited(until) => self.limited(until)?,
        }
        self.is_unwritten = true;
        Ok(())
    }

    /// The worker says that its account is at its limit. It may still wait for the reset by itself.
    fn limited(&mut self, until: Option<Timestamp>) -> Result<(), CommandError> {
        let until = record_limit(self.supervisor.op, &self.supervisor.run, until);
        self.supervisor.run.until = Some(until);
        if self.supervisor.run.state == RunState::Running {
            self.supervisor.set_state(RunState::Limited)?;
        }
        Ok(())
    }

    fn check_budget(&mut self) {
        let run = &self.supervisor.run;
        if is_over(&self.supervisor.order, run.usage, run.cost) {
            return self.end_worker(RunState::OverBudget, OVER_BUDGET.to_string(), Instant::now());
        }
        if self.compared_at.is_none_or(|at| at.elapsed() > COMPARE) {
            self.compared_at = Some(Instant::now());
            if self.supervisor.is_over_with_others() {
                self.end_worker(RunState::OverBudget, OVER_WITH_OTHERS.to_string(), Instant::now());
            }
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
        let mut end = match self.reader.take() {
            Some(reader) => reader.end(exit, &errors, &dir.join("scratch")),
            None => {
                command_end::read(std::mem::take(&mut self.printed), exit, &errors, &dir.join("usage.json"))
            }
        };
        (end.usage, end.cost) = self.supervisor.spent.taken_off(end.usage, end.cost);
        (end.usage, end.cost) = self.supervisor.used_in_all(end.usage, end.cost);
        let usage = Some((end.usage, end.cost));
        (self.supervisor.run.usage, self.supervisor.run.cost) = (end.usage, end.cost);
        if let Some(ending) = self.ending.take() {
            let (state, reason) = (Some(ending.state), Some(ending.reason));
            return Ok(RunFinish { state, reason, result: end.result, usage });
        }
        if has_lost_keeper && self.exit.is_none() {
            let reason = Some("its keeper was killed, and the worker with it".to_string());
            return Ok(RunFinish { state: Some(RunState::Failed), reason, result: end.result, usage });
        }
        let with_others = || self.supervisor.is_over_with_others().then(|| OVER_WITH_OTHERS.to_string());
        if let Some(reason) = over_budget(&self.supervisor.order, &end).or_else(with_others) {
            return Ok(RunFinish {
                state: Some(RunState::OverBudget),
                reason: Some(reason),
                result: end.result,
                usage,
            });
        }
        if let Some(failure @ WorkerFailure::Limited { until, .. }) = &end.failure {
            let named = until.or(self.supervisor.run.until.filter(|until| *until > clock::now()));
            self.supervisor.run.until = Some(record_limit(self.supervisor.op, &self.supervisor.run, named));
            let (state, reason) = (Some(RunState::Limited), Some(failure.to_string()));
            return Ok(RunFinish { state, reason, result: end.result, usage });
        }
        self.supervisor.commit_work();
        let evidence = RunEvidence {
            result: end.result.clone(),
            failure: end.failure.as_ref().map(ToString::to_string),
            // A refusal by an answer is a decision, and the worker was told of it.
            denied: end.denied.filter(|_| !self.questions.is_last_denied),
            has_changed: self.supervisor.has_changed(),
            is_to_write: self.supervisor.order.is_to_write,
        };
        let (mut state, mut reason) = judge_end(&evidence);
        if let Some(question) = self.questions.unanswered.filter(|_| state != RunState::Failed) {
            (state, reason) =
                (RunState::Denied, Some(format!("nobody answered its question in time: {question}")));
        }
        Ok(RunFinish { state: Some(state), reason, result: end.result, usage })
    }
}
