//! Whom somebody means who wants to watch an agent: by its name, or by its run.

use std::rc::Rc;

use crate::domain::runs::{Run, RunId};
use crate::domain::{Agent, AgentName, Liveness, SessionId};
use crate::ops::agents::list::grave_of;
use crate::ops::agents::names::with_nearest;
use crate::ops::agents::{identity, names};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::elsewhere;
use crate::ops::runs::RUN_VARIABLE;
use crate::ops::runs::list::{as_it_is, find as find_run, run_for};
use crate::ops::runs::own_run::{kept_session, run_of_agent, run_that_keeps};
use crate::store::Mesh;
use crate::sys::{clock, process};

/// Who is watched.
#[derive(Clone, Debug)]
pub(in crate::ops) enum Watched {
    /// An agent, and the run whose worker it is.
    Agent(Box<Agent>, Option<Box<Run>>),
    /// A run whose worker has not joined yet, or never did.
    Run(Box<Run>),
}

/// There is nothing to look at of a run that has ended without a worker that joined.
pub(in crate::ops) fn check_not_over(run: &Run) -> Result<(), CommandError> {
    if !run.state.is_final() {
        return Ok(());
    }
    let text = format!("run {} has ended, and its worker never joined: {}", run.id, run.outcome());
    Err(CommandError::new(CommandErrorKind::NotRunning, text)
        .hint(format!("`msg runs show {}` shows what became of it", run.id))
        .fact("state", run.state.name()))
}

/// The mesh that the agent of that name is in.
pub(in crate::ops) fn mesh(op: &Op, name: &str) -> Result<Rc<Mesh>, CommandError> {
    op.mesh()?.ok_or_else(|| {
        CommandError::new(CommandErrorKind::UnknownAgent, format!("no agent is called {name}"))
            .hint("nobody has joined this mesh yet")
            .hint("agents join by their hooks (`msg install`), with `msg join`, or as workers of `msg run`")
    })
}

/// The agent with that name, also if it is gone, or the worker of that run. A run whose worker is to have the name and has
/// not joined yet comes before an agent that is gone.
pub(in crate::ops) fn find(op: &Op, mesh: &Mesh, name: &str) -> Result<Watched, CommandError> {
    let by_name = match AgentName::new(name) {
        Ok(name) => match run_before_join(mesh, &name)? {
            Some(run) => return worker_of(mesh, run),
            None => agent_named(mesh, &name),
        },
        Err(error) => Err(error.into()),
    };
    let by_name = match by_name {
        Err(error) if error.kind == CommandErrorKind::UnknownAgent => match find_run(op, name) {
            Ok(run) => return worker_of(mesh, run),
            // Of several runs that may be meant, it says which.
            Err(of_run) if of_run.kind == CommandErrorKind::UnknownRun && of_run.facts.is_empty() => {
                Err(error.hint("`msg runs` lists runs; the id of one names its worker"))
            }
            Err(of_run) => return Err(of_run),
        },
        by_name => by_name,
    };
    let agent = by_name?;
    let run = run_of(mesh, &agent)?;
    Ok(Watched::Agent(Box::new(agent), run.map(Box::new)))
}

/// The run whose worker is to have that name, and has not joined yet. Its supervisor may keep the place.
fn run_before_join(mesh: &Mesh, name: &AgentName) -> Result<Option<Run>, CommandError> {
    let census = mesh.registry().census()?;
    match census.find(name, clock::now()).filter(|record| record.is_live()) {
        Some(record) => Ok(run_that_keeps(mesh, &record.agent)?.map(|run| as_it_is(mesh, run))),
        None if census.unreadable(name).is_some() => Ok(None),
        None => run_for(mesh, name),
    }
}

/// The agent that has this name, or had it last.
fn agent_named(mesh: &Mesh, name: &AgentName) -> Result<Agent, CommandError> {
    let census = mesh.registry().census()?;
    if let Some(record) = census.find(name, clock::now()) {
        elsewhere::refuse(&record.agent, "look")?;
        return Ok(record.agent.clone());
    }
    if let Some(file) = census.unreadable(name) {
        return Err(names::unreadable(name, file));
    }
    if let Some((agent, _)) = grave_of(mesh, name)? {
        return Ok(agent);
    }
    let unknown = CommandError::new(CommandErrorKind::UnknownAgent, format!("no agent is called {name}"));
    Err(with_nearest(unknown, name, &census))
}

/// The worker of a run that may have ended by now.
fn worker_of(mesh: &Mesh, run: Run) -> Result<Watched, CommandError> {
    let agent = match (worker(mesh, &run)?, mesh.runs().worker(&run.id)?) {
        (Some(agent), _) => Some(agent),
        // It has joined, and is gone. Its supervisor may keep the place until it goes on.
        (None, Some(name)) => Some(agent_named(mesh, &name)?).filter(|agent| agent.process != run.owner),
        (None, None) => None,
    };
    Ok(match agent {
        Some(agent) => Watched::Agent(Box::new(agent), Some(Box::new(run))),
        None => Watched::Run(Box::new(run)),
    })
}

/// The worker of a run, if it has joined and is there. The run knows it by name, and somebody else may have the name by
/// now.
pub(super) fn worker(mesh: &Mesh, run: &Run) -> Result<Option<Agent>, CommandError> {
    let Some(name) = mesh.runs().worker(&run.id)?.or_else(|| run.agent.clone()) else { return Ok(None) };
    let census = mesh.registry().local_census()?;
    let found = census.find(&name, clock::now()).filter(|record| record.is_live());
    // Its supervisor keeps the place of a worker that has not joined yet.
    let Some(record) = found.filter(|record| record.agent.process != run.owner) else { return Ok(None) };
    let is_its = run_of_agent(mesh, &record.agent)?.is_some_and(|its| its.id == run.id);
    Ok(is_its.then(|| record.agent.clone()))
}

/// The run whose worker the agent is. Another client that the worker has started is not: it is below the same supervisor
/// and has the same variable, but another name.
fn run_of(mesh: &Mesh, agent: &Agent) -> Result<Option<Run>, CommandError> {
    match process::liveness(&agent.process) {
        Liveness::Alive => {}
        Liveness::Gone => return last_run_of(mesh, agent),
        Liveness::Unknown => return Ok(None),
    }
    let told = process::first_value(agent.process.pid(), RUN_VARIABLE);
    let Some(id) = told.and_then(|id| RunId::new(&id).ok()) else { return Ok(None) };
    let Some(run) = run_of_agent(mesh, agent)?.filter(|run| run.id == id) else { return Ok(None) };
    let worker = mesh.runs().worker(&id)?.or_else(|| run.agent.clone());
    Ok(worker.is_some_and(|name| name == agent.name).then_some(run))
}

/// The run whose worker an agent was that is gone: the last one that knew it by its name while it was here.
fn last_run_of(mesh: &Mesh, agent: &Agent) -> Result<Option<Run>, CommandError> {
    let was_here = |run: &Run| {
        let has_begun = run.queued_at <= agent.started_at;
        let is_then = has_begun && run.ended_at.is_none_or(|ended| agent.started_at <= ended);
        is_then || run.session.as_ref() == Some(&agent.session)
    };
    let mut runs: Vec<Run> = mesh.runs().list()?.runs.into_iter().filter(was_here).collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.queued_at));
    for run in runs {
        let worker = mesh.runs().worker(&run.id)?.or_else(|| run.agent.clone());
        if worker.as_ref() == Some(&agent.name) {
            return Ok(Some(as_it_is(mesh, run)));
        }
    }
    Ok(None)
}

impl Watched {
    pub(in crate::ops) fn agent(&self) -> Option<&Agent> {
        match self {
            Self::Agent(agent, _) => Some(agent),
            Self::Run(_) => None,
        }
    }

    /// The run whose worker it is.
    pub(in crate::ops) fn its_run(&self) -> Option<&Run> {
        match self {
            Self::Agent(_, run) => run.as_deref(),
            Self::Run(run) => Some(run),
        }
    }

    /// Its name, or the id of the run whose worker has not joined yet: every command takes both.
    pub(in crate::ops) fn name(&self) -> &str {
        match self {
            Self::Agent(agent, _) => agent.name.as_str(),
            Self::Run(run) => run.id.as_str(),
        }
    }

    /// The session whose hooks tell about it. Before it has joined, that under which its place is kept.
    pub(in crate::ops) fn session(&self) -> Result<SessionId, CommandError> {
        match self {
            Self::Agent(agent, _) => Ok(agent.session.clone()),
            Self::Run(run) => Ok(kept_session(&run.id)?),
        }
    }

    /// Reads again what its run is, and who its worker is.
    pub(in crate::ops) fn refresh(&mut self, mesh: &Mesh) -> Result<(), CommandError> {
        let Some(id) = self.its_run().map(|run| run.id.clone()) else { return Ok(()) };
        let now = mesh.runs().get(&id)?.map(|run| Box::new(as_it_is(mesh, run)));
        match (&mut *self, now) {
            (Self::Agent(_, run), now) => *run = now,
            (Self::Run(run), Some(now)) => {
                **run = *now;
                if let Some(agent) = worker(mesh, run)? {
                    *self = Self::Agent(Box::new(agent), Some(run.clone()));
                }
            }
            // Somebody has removed its record.
            (Self::Run(_), None) => {}
        }
        Ok(())
    }

    /// Whether the caller asked for its run, and is told of its end.
    pub(in crate::ops) fn is_callers_worker(&self, op: &Op, mesh: &Mesh) -> Result<bool, CommandError> {
        let Some(run) = self.its_run().filter(|run| !run.state.is_final()) else { return Ok(false) };
        let census = mesh.registry().census()?;
        Ok(match (&run.parent.session, identity::caller_if_certain(op, mesh, &census)) {
            (Some(session), Some(caller)) => caller.session == *session,
            _ => false,
        })
    }
}
