//! The place of a worker: its supervisor registers it as an agent before it starts, if something is to be held for it.
//!
//! The registration has the supervisor's process, so it holds nothing once the supervisor is dead. A worker that is a
//! command keeps it that way: what it calls is below the supervisor. The hooks of another take the place over when its
//! session begins, and from then on the worker's own process counts.

use std::path::Path;
use std::time::Duration;

use crate::domain::runs::{EarlierRun, Run, RunState};
use crate::domain::{Agent, AgentName, Harness, SessionId};
use crate::harness;
use crate::store::{Mesh, RunOrder, StoreError, TaskOrder};
use crate::sys::git::WorkTree;
use crate::sys::{clock, process};

use super::admission::as_refusal;
use super::gate::Gate;
use super::own_run::kept_session;
use super::reserved_gate::{as_gate, refusal, refusal_of_waiting, waiting_reason, wanted};
use super::supervisor::{RunFinish, Supervisor};
use crate::ops::agents::join::{JoinRequest, join};
use crate::ops::agents::leave::leave_as;
use crate::ops::agents::roster::Roster;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind, ErrorDetail};
use crate::ops::reservations::run_paths::{release_for_run, take_for_run};
use crate::ops::runner::carry_out;
use crate::ops::tasks::claim_for_run;

/// How often a run that waits for paths looks: nothing tells it of the end of an agent.
const LOOK: Duration = Duration::from_millis(200);

/// What became of the place before something is a run.
pub(super) enum KeptAtOnce {
    /// There is nothing to hold, or the run waits for it.
    NotNow,
    Kept(Box<Agent>),
    /// It will not be a run; why is recorded.
    Refused,
}

/// Keeps the place, if the run does not wait for it.
pub(super) fn keep_at_once(
    op: &Op,
    mesh: &Mesh,
    run: &mut Run,
    order: &RunOrder,
) -> Result<KeptAtOnce, CommandError> {
    if !order.holds_something() || order.is_to_wait {
        return Ok(KeptAtOnce::NotNow);
    }
    match keep(op, mesh, run, order) {
        Ok(worker) => Ok(KeptAtOnce::Kept(Box::new(worker))),
        Err(error) => {
            mesh.runs().put_refusal(&run.id, &as_refusal(error))?;
            Ok(KeptAtOnce::Refused)
        }
    }
}

/// Registers the worker, and reserves for it what the run asked for: all or nothing.
fn keep(op: &Op, mesh: &Mesh, run: &mut Run, order: &RunOrder) -> Result<Agent, CommandError> {
    if let Some(refused) = refusal(op, mesh, run)? {
        return Err(refused);
    }
    let agent = register(op, mesh, run, order)?;
    let held = hold(op, mesh, run, order, &agent);
    match &held {
        Ok(_) => run.agent = Some(agent.name.clone()),
        Err(_) => give_up(op, mesh, &agent),
    }
    // Before anything else: others wait to hear of it.
    carry_out(op);
    held.map_err(|error| as_gate(error, run))
}

fn hold(op: &Op, mesh: &Mesh, run: &mut Run, order: &RunOrder, agent: &Agent) -> Result<Agent, CommandError> {
    let roster = Roster::read(mesh)?;
    let wanted = wanted(op, mesh, run, &roster)?;
    wanted.compare(&roster, agent, clock::now());
    if let Some(TaskOrder { file, id, .. }) = &order.task {
        match claim_for_run(op, mesh, agent, (file.as_deref(), id), &run.id, &wanted) {
            Ok((agent, claim)) => {
                run.claim = Some(claim);
                return Ok(agent);
            }
            // It was given away since, so this session goes on without it.
            Err(error) if is_lost(error.kind) && is_going_on(run) => op.warn(error.message),
            Err(error) if is_lost(error.kind) => return Err(error.fact("gate", Gate::Task.name())),
            Err(error) => return Err(error),
        }
    }
    if wanted.reservations.is_empty() {
        return Ok(agent.clone());
    }
    take_for_run(op, mesh, agent, &wanted)
}

/// Reserves the paths again for a worker that only gave up those.
fn take_paths(op: &Op, mesh: &Mesh, run: &Run, worker: &Agent) -> Result<Agent, CommandError> {
    let roster = Roster::read(mesh)?;
    let wanted = wanted(op, mesh, run, &roster)?;
    wanted.compare(&roster, worker, clock::now());
    let taken = take_for_run(op, mesh, worker, &wanted);
    // Before anything else: others wait to hear of it.
    carry_out(op);
    taken
}

/// Whether the task itself is what is in the way.
fn is_lost(kind: CommandErrorKind) -> bool {
    use CommandErrorKind::{AlreadyClaimed, AlreadyCompleted, Blocked, UnknownTask};
    matches!(kind, AlreadyClaimed | AlreadyCompleted | Blocked | UnknownTask)
}

/// Whether the worker goes on with what it did before: in the session of an earlier run, or after a limit.
fn is_going_on(run: &Run) -> bool {
    matches!(run.earlier, Some(EarlierRun::Resumed(_))) || run.started_at.is_some()
}

fn register(op: &Op, mesh: &Mesh, run: &Run, order: &RunOrder) -> Result<Agent, CommandError> {
    let ordered = order.name.clone().map(AgentName::new).transpose()?;
    // Whoever goes on with a session keeps its name, if nobody else has it.
    let resumed = order.resumes.clone().map(SessionId::new).transpose()?;
    let former = resumed.map(|session| mesh.sessions().last_name(&session)).transpose()?.flatten();
    // So does one whose worker has ended, until the run does.
    let former = former.or(mesh.runs().worker(&run.id)?);
    let request = JoinRequest {
        name: ordered.clone().or(former),
        harness: Some(run.harness.as_deref().and_then(harness::parse).unwrap_or(Harness::OTHER)),
        session: Some(kept_session(&run.id)?),
        pid: Some(process::own_pid().get().into()),
        model: run.model.clone(),
        spec: order.task.as_ref().and_then(|task| task.file.clone()),
        ..JoinRequest::default()
    };
    let joined = match join(op, &request) {
        Err(error) if error.kind == CommandErrorKind::NameTaken && ordered.is_none() => {
            join(op, &JoinRequest { name: None, ..request })
        }
        joined => joined,
    };
    Ok(joined?.profile.agent)
}

/// Gives up what is held for a worker, if that has not taken it over.
pub(super) fn give_up(op: &Op, mesh: &Mesh, worker: &Agent) {
    match leave_as(op, mesh, worker) {
        // Its own hooks have taken it over, or somebody evicted it.
        Err(error) if error.kind == CommandErrorKind::NotJoined => {}
        Err(error) => op.warn(format!("{} could not leave: {error}", worker.name)),
        Ok(_) => {}
    }
}

impl Supervisor<'_> {
    /// Waits until everything is held for the worker. An end of the run if that is not possible.
    pub(super) fn keep_place(&mut self) -> Result<Option<RunFinish>, CommandError> {
        if !self.order.holds_something() || self.has_everything() {
            return Ok(None);
        }
        let mut told = None;
        loop {
            if let Some(order) = self.mesh.runs().stop_order(&self.run.id)? {
                return Ok(Some(RunFinish::new(RunState::Stopped, format!("stopped by {}", order.by))));
            }
            let refused = match refusal_of_waiting(self.op, self.mesh, &self.run) {
                Ok(Some(refused)) | Err(refused) => refused,
                Ok(None) => match self.take_place() {
                    Ok(worker) => {
                        self.worker = Some(worker);
                        self.run.reason = None;
                        self.mesh.runs().put(&self.run)?;
                        return Ok(None);
                    }
                    Err(error) => error,
                },
            };
            if !may_pass(&refused) {
                return Err(refused);
            }
            let obstacle = obstacle(&refused);
            if told.as_ref() != Some(&obstacle) {
                self.run.reason = Some(waiting_reason(&refused));
                self.mesh.runs().put(&self.run)?;
                told = Some(obstacle);
            }
            clock::pause(LOOK);
        }
    }

    /// Whether nothing of what is to be held is missing. A worker may have given way, and wait for its paths.
    fn has_everything(&self) -> bool {
        let has_paths = |worker: &Agent| self.run.reserve.is_empty() || !worker.reservations.is_empty();
        self.worker.as_ref().is_some_and(has_paths)
    }

    fn take_place(&mut self) -> Result<Agent, CommandError> {
        if let Some(worker) = &self.worker {
            match take_paths(self.op, self.mesh, &self.run, worker) {
                // Somebody evicted it meanwhile.
                Err(error) if error.kind == CommandErrorKind::NotJoined => self.worker = None,
                taken => return taken.map_err(|error| as_gate(error, &self.run)),
            }
        }
        keep(self.op, self.mesh, &mut self.run, &self.order)
    }

    /// Gives the paths up for now: another run has a slot, and needs them. The worker keeps its name and its task.
    pub(super) fn give_way(&mut self) {
        let Some(worker) = &self.worker else { return };
        match release_for_run(self.op, self.mesh, worker) {
            Ok(worker) => self.worker = Some(worker),
            // Somebody evicted it.
            Err(error) if error.kind == CommandErrorKind::NotJoined => self.worker = None,
            Err(error) => {
                self.op.warn(format!("{} could not give its paths up yet: {error}", worker.name));
            }
        }
        // Before anything else: others wait to hear of it.
        carry_out(self.op);
    }

    /// Notes that the worker works in the worktree of the run, if it has one.
    pub(super) fn move_place(&mut self) {
        if self.run.project.is_some() {
            self.move_place_to(self.run.root.clone());
        }
    }

    /// Notes that the worker, which has ended, is not in the worktree of the run any more.
    pub(super) fn move_place_out(&mut self) {
        if let Some(project) = self.run.project.clone() {
            self.move_place_to(project);
        }
    }

    fn move_place_to(&mut self, root: String) {
        let Some(worker) = &self.worker else { return };
        match moved(self.mesh, worker, &root) {
            Ok(worker) => self.worker = Some(worker),
            // Somebody evicted it.
            Err(StoreError::NoRegistration(_)) => {}
            Err(error) => {
                let name = &worker.name;
                self.op.warn(format!("that {name} works in `{root}` could not be noted: {error}"));
            }
        }
    }

    /// Holds everything again for a worker that has ended and will go on later. If that fails now, it is waited for then.
    pub(super) fn keep_again(&mut self) {
        if !self.order.holds_something() || self.is_place_kept() {
            return;
        }
        self.worker = match keep(self.op, self.mesh, &mut self.run, &self.order) {
            Ok(worker) => Some(worker),
            Err(error) => {
                tracing::info!("what run {} held is waited for after the limit: {error}", self.run.id);
                None
            }
        };
        self.move_place();
    }

    /// Whether the place is still ours: the worker has not taken it over.
    fn is_place_kept(&self) -> bool {
        let Some(worker) = &self.worker else { return false };
        let is_it = |agent: &Agent| agent.session == worker.session && !agent.is_remote();
        Roster::read(self.mesh).is_ok_and(|roster| roster.live().any(is_it))
    }
}

/// Notes that the agent works there. Its session and its process stay.
fn moved(mesh: &Mesh, agent: &Agent, root: &str) -> Result<Agent, StoreError> {
    let branch = WorkTree::containing(Path::new(root)).and_then(|tree| tree.branch());
    let mut locked = mesh.lock()?;
    let mut change = locked.change();
    let agent = change.edit(agent, |agent| {
        agent.cwd = root.to_string();
        agent.git_branch = branch;
    })?;
    change.commit()?;
    Ok(agent)
}

/// Whether it can be waited for: others hold the paths, or it can't be told now.
fn may_pass(error: &CommandError) -> bool {
    let gate = ErrorDetail::Text(Gate::Reserved.name().to_string());
    match error.kind {
        CommandErrorKind::Gate => error.facts.contains(&("gate", gate)),
        CommandErrorKind::LockTimeout | CommandErrorKind::Corrupt | CommandErrorKind::NotLinked => true,
        _ => false,
    }
}

/// What is in the way, without the sentence if that has an age in it, which is another one each second.
fn obstacle(error: &CommandError) -> (Vec<(&'static str, ErrorDetail)>, Option<String>) {
    let has_holders = error.facts.iter().any(|(name, _)| *name == "conflicts");
    (error.facts.clone(), (!has_holders).then(|| error.message.clone()))
}
