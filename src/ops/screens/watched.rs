//! Whom somebody means who wants to watch an agent: by its name, or by its run.

use std::rc::Rc;

use crate::domain::runs::{Run, RunId};
use crate::domain::{Agent, AgentName};
use crate::ops::agents::list::grave_of;
use crate::ops::agents::names::with_nearest;
use crate::ops::agents::{identity, names};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runs::list::find as find_run;
use crate::ops::runs::{RUN_VARIABLE, own_run};
use crate::store::Mesh;
use crate::sys::{clock, process};

use super::agent_pane::is_here;

/// An agent that is watched.
#[derive(Clone, Debug)]
pub(in crate::ops) struct WatchedAgent {
    pub(in crate::ops) agent: Agent,
    /// The run whose worker it is.
    pub(in crate::ops) run: Option<Run>,
}

/// The mesh that the agent of that name is in.
pub(in crate::ops) fn mesh(op: &Op, name: &str) -> Result<Rc<Mesh>, CommandError> {
    op.mesh()?.ok_or_else(|| {
        CommandError::new(CommandErrorKind::UnknownAgent, format!("no agent is called {name}"))
            .hint("nobody has joined this mesh yet")
            .hint("agents join by their hooks (`msg install`), with `msg join`, or as workers of `msg run`")
    })
}

/// The agent with that name, also if it is gone, or the worker of that run.
pub(in crate::ops) fn find(op: &Op, mesh: &Mesh, name: &str) -> Result<WatchedAgent, CommandError> {
    let by_name = AgentName::new(name).map_err(CommandError::from).and_then(|name| agent_named(mesh, &name));
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
    Ok(WatchedAgent { agent, run })
}

/// The agent that has this name, or had it last.
fn agent_named(mesh: &Mesh, name: &AgentName) -> Result<Agent, CommandError> {
    let census = mesh.registry().census()?;
    if let Some(record) = census.find(name, clock::now()) {
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

fn worker_of(mesh: &Mesh, run: Run) -> Result<WatchedAgent, CommandError> {
    let agent = match (&run.agent, identity::registered(mesh, &own_run::kept_session(&run.id)?)?) {
        (Some(name), _) => agent_named(mesh, name)?,
        (None, Some(kept)) => kept,
        (None, None) => {
            let text = format!("run {} has no worker: it is {}", run.id, run.outcome());
            return Err(CommandError::new(CommandErrorKind::NotRunning, text)
                .hint(format!("`msg runs show {}` shows what became of it", run.id))
                .fact("state", run.state.name()));
        }
    };
    Ok(WatchedAgent { agent, run: Some(run) })
}

/// The run whose worker the agent is. Another client that the worker has started is not: it is below the same supervisor
/// and has the same variable, but another name.
fn run_of(mesh: &Mesh, agent: &Agent) -> Result<Option<Run>, CommandError> {
    if !is_here(agent) {
        return Ok(None);
    }
    let told = process::first_value(agent.process.pid(), RUN_VARIABLE);
    let Some(id) = told.and_then(|id| RunId::new(&id).ok()) else { return Ok(None) };
    let Some(run) = own_run::run_of_agent(mesh, agent)?.filter(|run| run.id == id) else { return Ok(None) };
    let worker = mesh.runs().worker(&id)?.or_else(|| run.agent.clone());
    Ok(worker.is_some_and(|name| name == agent.name).then_some(run))
}

impl WatchedAgent {
    /// Whether the caller asked for its run, and is told of its end.
    pub(in crate::ops) fn is_callers_worker(&self, op: &Op, mesh: &Mesh) -> Result<bool, CommandError> {
        let Some(run) = self.run.as_ref().filter(|run| !run.state.is_final()) else { return Ok(false) };
        let census = mesh.registry().census()?;
        Ok(match (&run.parent.session, identity::caller_if_certain(op, mesh, &census)) {
            (Some(session), Some(caller)) => caller.session == *session,
            _ => false,
        })
    }
}
