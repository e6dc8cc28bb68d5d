//! The way out when nobody can tell whether an agent lives.

use crate::domain::{AgentName, EventKind, Liveness};
use crate::store::{Claim, Why};
use crate::sys::{clock, process};

use super::claims;
use super::context::Context;
use super::error::{CommandError, Kind};
use super::feed;
use super::identity::{self, with_nearest};
use super::names;
use super::profile::Profile;
use super::waiting;

#[derive(Clone, Debug)]
pub struct Evicted {
    /// As it was before.
    pub profile: Profile,
    pub unclaimed: Vec<Claim>,
}

/// Takes name, claims and reservations from an agent. One that lives must be meant, by `force`: it is told at its
/// next command, and its mail waits for it.
pub fn evict(ctx: &Context, name: &AgentName, force: bool) -> Result<Evicted, CommandError> {
    let (mesh, caller) = identity::caller(ctx)?;
    let locked = mesh.lock()?;
    let census = locked.census()?;
    let now = clock::now();
    let Some(record) = census.find(name, now) else {
        if let Some(file) = census.unreadable(name) {
            return Err(names::unreadable(name, file));
        }
        let error = CommandError::new(Kind::UnknownAgent, format!("no agent is called {name}"));
        return Err(with_nearest(error, name, &census));
    };
    let agent = &record.agent;
    if agent.is_same_session(&caller.agent) {
        let text = format!("{} is you", agent.name);
        return Err(CommandError::new(Kind::StillAlive, text).hint("`msg leave` leaves"));
    }
    let liveness = process::liveness(&agent.process);
    if liveness == Liveness::Alive && !force {
        let text = format!("{} is alive: process {} runs", agent.name, agent.process.pid());
        return Err(CommandError::new(Kind::StillAlive, text)
            .hint(format!("`msg evict {} --force` takes its name, tasks and paths all the same", agent.name))
            .fact("agent", agent.name.as_str()));
    }
    let profile = Profile::with_liveness(ctx, &mesh, agent.clone(), &locked.claims()?, liveness)?;
    let unclaimed = claims::give_up(&locked, agent)?;
    locked.bury(record, Why::Evicted, now, Some(caller.agent.name.as_str()))?;
    waiting::tell_or_note(ctx, &mesh, &locked);
    feed::tell(ctx, &mesh, EventKind::Evict, &caller.agent.name, Some(agent.name.as_str()), None);
    Ok(Evicted { profile, unclaimed })
}
