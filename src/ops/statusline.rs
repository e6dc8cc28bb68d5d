//! `msg statusline`: one short line for a status bar: the agent's name, the number of peers, unread mail. It is called
//! all the time, so it reads no more than it must.

use std::path::Path;

use crate::domain::{Agent, AgentName, Liveness, Pid, SessionId};
use crate::harness::ancestry;
use crate::store::{ListedAgent, Mesh, Registration};
use crate::sys::process;

use crate::ops::agents::identity;
use crate::ops::context::{Context, is_same_folder};
use crate::ops::error::CommandError;

/// The agent whose line is wanted, if the environment doesn't say.
#[derive(Clone, Debug, Default)]
pub struct StatusLineSubject {
    /// The session that the harness reports.
    pub session: Option<SessionId>,
    /// The first process in a terminal pane: the agent that runs beneath it is meant.
    pub pane: Option<Pid>,
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct StatusLine {
    /// `None`: the caller has not joined.
    pub name: Option<AgentName>,
    /// How many other agents are here.
    pub peers: usize,
    pub unread: usize,
}

pub fn statusline(ctx: &Context, asked: &StatusLineSubject) -> Result<StatusLine, CommandError> {
    let Some(mesh) = ctx.mesh()? else { return Ok(StatusLine::default()) };
    let registry = mesh.registry().indexed()?;
    let roll = registry.all_agents()?;
    let me = match asked.pane {
        Some(pane) => in_pane(&mesh, &roll, pane)?,
        None => identity::at_statusline(ctx, &mesh, &registry, asked.session.as_ref())?,
    };
    let unread = me.as_ref().map(|me| mesh.inboxes().unread_count(me)).transpose()?.unwrap_or(0);
    let peers = peers(ctx, &mesh, roll, me.as_ref())?;
    Ok(StatusLine { name: me.map(|me| me.name), peers, unread })
}

/// The agent that runs in that pane; the outermost, if one was started by another.
fn in_pane(mesh: &Mesh, roll: &[ListedAgent], pane: Pid) -> Result<Option<Agent>, CommandError> {
    let distance = |pid: i32| {
        let pid = Pid::new(pid.into()).ok()?;
        ancestry::above(pid).iter().position(|above| *above == pane)
    };
    let mut near = Vec::new();
    for listed in roll {
        let (name, pid) = match listed {
            ListedAgent::Known { name, pid, .. } => (name.clone(), *pid),
            ListedAgent::Read(record) => (record.agent.name.to_string(), record.agent.process.pid().get()),
        };
        near.extend(distance(pid).map(|distance| (distance, name)));
    }
    near.sort();
    // Several agents in one process can't be told apart here.
    let is_alone = near.len() < 2 || near[0].0 < near[1].0;
    let Some((_, name)) = near.into_iter().next().filter(|_| is_alone) else { return Ok(None) };
    let record = mesh.registry().get(&AgentName::new(name)?)?;
    Ok(record.filter(Registration::is_live).map(|record| record.agent))
}

fn peers(
    ctx: &Context,
    mesh: &Mesh,
    roll: Vec<ListedAgent>,
    me: Option<&Agent>,
) -> Result<usize, CommandError> {
    let is_me = |name: &str| me.is_some_and(|me| me.name.as_str() == name);
    if ctx.settings.scope_to_folder {
        // The folder of an agent is only in its registration.
        let all = mesh.registry().local_census()?.records;
        let is_peer = |agent: &Agent| {
            !is_me(agent.name.as_str())
                && is_same_folder(Path::new(&agent.cwd), &ctx.cwd)
                && process::liveness(&agent.process) != Liveness::Gone
        };
        return Ok(all.iter().filter(|record| is_peer(&record.agent)).count());
    }
    let elsewhere = mesh.remote().agents()?;
    let is_reached = |record: &&Registration| {
        let machine = record.agent.machine.as_ref();
        machine.is_some_and(|machine| machine.away_since.is_none()) && !is_me(record.agent.name.as_str())
    };
    let mut peers = elsewhere.iter().filter(is_reached).count();
    for listed in roll {
        let is_there = match &listed {
            ListedAgent::Known { name, .. } if is_me(name) => false,
            ListedAgent::Known { name, pid, written } => {
                let is_running =
                    Pid::new((*pid).into()).is_ok_and(|pid| process::has_run_since(pid, *written));
                is_running || is_registered_and_there(mesh, name)?
            }
            ListedAgent::Read(record) => !is_me(record.agent.name.as_str()) && record.is_live(),
        };
        peers += usize::from(is_there);
    }
    Ok(peers)
}

/// An agent whose process can't be seen may be on another machine or in a container.
fn is_registered_and_there(mesh: &Mesh, name: &str) -> Result<bool, CommandError> {
    let Ok(name) = AgentName::new(name) else { return Ok(false) };
    Ok(mesh.registry().get(&name)?.is_some_and(|record| record.is_live()))
}
