//! `msg evict`: removes an agent, mainly one whose process can't be checked.

use std::rc::Rc;

use crate::domain::{Agent, AgentName, EventKind, Liveness};
use crate::ops::link::elsewhere;
use crate::store::{Claim, GoneReason, Mesh};
use crate::sys::{clock, process};

use super::identity;
use super::names::{self, with_nearest};
use super::profile::AgentProfile;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::ask::poke;
use crate::ops::person_required;
use crate::ops::reservations::waiting;
use crate::ops::tasks::claim_upkeep;

#[derive(Clone, Debug)]
pub struct EvictOutcome {
    /// The agent before it was evicted.
    pub profile: AgentProfile,
    pub unclaimed: Vec<Claim>,
}

/// Whether an agent may be evicted that is alive.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EvictPolicy {
    NotIfAlive,
    EvenIfAlive,
}

/// Takes name, claims and reservations from an agent. If it is alive, its next command tells it, and its mail waits for
/// it.
pub fn evict(op: &Op, name: &AgentName, policy: EvictPolicy) -> Result<EvictOutcome, CommandError> {
    if policy == EvictPolicy::EvenIfAlive {
        person_required::required(|| person_required::with_mesh(op, &format!("msg evict {name} --force")))?;
    }
    let (mesh, by) = evictor(op)?;
    let now = clock::now();
    let known = mesh.registry().census()?;
    if let Some(record) = known.find(name, now) {
        elsewhere::refuse(&record.agent, "evict")?;
    }
    let mut locked = match known.find(name, now) {
        Some(record) => mesh.lock_for(&record.agent)?,
        None => mesh.lock()?,
    };
    let census = locked.census()?;
    let Some(record) = census.find(name, now) else {
        if let Some(file) = census.unreadable(name) {
            return Err(names::unreadable(name, file));
        }
        let error = CommandError::new(CommandErrorKind::UnknownAgent, format!("no agent is called {name}"));
        return Err(with_nearest(error, name, &census));
    };
    let agent = &record.agent;
    elsewhere::refuse(agent, "evict")?;
    if by.as_ref().is_some_and(|by| agent.is_same_session(by)) {
        let text = format!("{} is you", agent.name);
        return Err(CommandError::new(CommandErrorKind::StillAlive, text).hint("`msg leave` leaves"));
    }
    let liveness = process::liveness(&agent.process);
    if liveness == Liveness::Alive && policy == EvictPolicy::NotIfAlive {
        let text = format!("{} is alive: process {} runs", agent.name, agent.process.pid());
        let line = person_required::with_mesh(op, &format!("msg evict {} --force", agent.name));
        let hint = match person_required::harness() {
            Some(_) => format!("if it must go, ask a person to type this at a terminal: {line}"),
            None => format!("`{line}` takes its name, tasks and paths all the same"),
        };
        return Err(CommandError::new(CommandErrorKind::StillAlive, text)
            .hint(hint)
            .fact("agent", agent.name.as_str()));
    }
    let profile = AgentProfile::with_liveness(op, &mesh, agent.clone(), &locked.claims()?, liveness)?;
    let mut change = locked.change();
    let unclaimed = claim_upkeep::give_up(&mut change, agent)?;
    change.commit_and_bury(record, GoneReason::Evicted, now, by.as_ref().map(|by| by.name.as_str()))?;
    waiting::notify_waiting_or_warn(op, &mesh, &mut locked);
    let teller = by.map_or_else(AgentName::of_program, |by| by.name);
    op.feed(EventKind::Evict, &teller, Some(agent.name.as_str()), None);
    drop(locked);
    poke(op, &mesh);
    Ok(EvictOutcome { profile, unclaimed })
}

/// The mesh, and the agent that evicts: `None` for a person, who need not have joined.
fn evictor(op: &Op) -> Result<(Rc<Mesh>, Option<Agent>), CommandError> {
    match identity::caller(op) {
        Ok((mesh, caller)) => Ok((mesh, Some(caller.agent))),
        Err(error)
            if error.kind == CommandErrorKind::NotJoined
                && op.acting_as.is_none()
                && person_required::harness().is_none() =>
        {
            Ok((op.mesh()?.ok_or(error)?, None))
        }
        Err(error) => Err(error),
    }
}
