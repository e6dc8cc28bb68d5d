//! `msg rename`: gives an agent a new name; its claims, reservations and mail go along.
//!
//! The new registration names the old one in `formerly`. While both files exist, the new one replaces the old one for
//! every reader, so nobody ever sees two agents or none. `tests/model/renaming.rs` checks every interleaving.

use jiff::{SignedDuration, Timestamp};

use crate::domain::{Agent, AgentName, EventKind, FormerName};
use crate::store::{LockedMesh, Mesh};
use crate::sys::clock;
use crate::sys::files::Published;

use super::bury::settled_census;
use super::identity;
use super::linked_name;
use super::names::{self, holder, name_taken};
use super::profile::AgentProfile;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::ask::{self, LinkGrant};
use crate::ops::link::is_linked;
use crate::ops::tasks::claim_upkeep;

/// How long the old name stays taken and leads to the new one.
const FORMER_NAME_LIFETIME: SignedDuration = SignedDuration::from_mins(10);

/// Returns the agent and its former name.
pub fn rename(op: &Op, new: &AgentName) -> Result<(AgentProfile, AgentName), CommandError> {
    let (mesh, caller) = identity::own_caller(op)?;
    let old = caller.name.clone();
    let agent = if old.as_str() == new.as_str() {
        caller
    } else if old == *new {
        // On some file systems it would be the same file.
        let text = format!("names are case-insensitive: you are already {old}");
        return Err(CommandError::new(CommandErrorKind::NameTaken, text).fact("name", new.as_str()));
    } else {
        change(op, &mesh, &caller, new)?
    };
    let profile = AgentProfile::look(op, &mesh, agent)?;
    Ok((profile, old))
}

/// Publishes the new registration, rewrites the claims, removes the old one. A crash after any step leaves one agent
/// under one name, because a registration that names another in `formerly` replaces it.
fn change(op: &Op, mesh: &Mesh, caller: &Agent, new: &AgentName) -> Result<Agent, CommandError> {
    if mesh.tasks().claims().is_ok_and(|claims| !claims.of(caller).is_empty()) {
        // Mail may have to be moved. `swarm.lock` is free meanwhile: pi-messenger does not wait for long.
        clear_name(&mut mesh.lock()?, caller, new, clock::now())?;
    }
    // It outlives the lock.
    let granted = decide_name(op, mesh, caller, new)?;
    let mut locked = mesh.lock_for(caller)?;
    let now = clock::now();
    clear_name(&mut locked, caller, new, now)?;
    let old = locked.own_record(caller)?;
    let mut renamed = old.clone();
    renamed.agent.name = new.clone();
    let mut formerly = Vec::new();
    for former in old.agent.formerly.iter().filter(|former| former.name != *new) {
        // An expired former name is of use only while there is mail under it.
        if former.until > now || mesh.inboxes().has_mail(&former.name)? {
            formerly.push(former.clone());
        }
    }
    formerly.push(FormerName { name: old.agent.name.clone(), until: now + FORMER_NAME_LIFETIME });
    renamed.agent.formerly = formerly;
    let mut change = locked.change();
    claim_upkeep::carry_over(&mut change, &old.agent, &renamed.agent)?;
    mesh.outboxes().continue_stamps_of(&old.agent.name, new)?;
    if change.locked().register(&renamed)? == Published::Exists {
        return Err(name_taken(new, "an agent of pi-messenger, who was faster"));
    }
    // From here on it has the new name, whatever else fails.
    op.feed(EventKind::Rename, &old.agent.name, Some(new.as_str()), None);
    change.commit()?;
    locked.unregister(&old.agent.name, new)?;
    // A `watch` of this agent has two inboxes to watch from now on.
    locked.touch_inbox(&old.agent.name)?;
    drop(locked);
    granted.into_iter().for_each(LinkGrant::keep);
    ask::poke(op, mesh);
    mesh.presence().touch(new)?;
    Ok(renamed.agent)
}

/// Lets the server of a linked mesh decide about a name that is free here.
fn decide_name<'a>(
    op: &'a Op,
    mesh: &'a Mesh,
    caller: &Agent,
    new: &AgentName,
) -> Result<Option<LinkGrant<'a>>, CommandError> {
    if !is_linked(mesh) || holder(&mesh.registry().census()?, new, Some(caller), clock::now()).is_some() {
        return Ok(None);
    }
    linked_name::decide(op, mesh, new, &caller.session)
}

/// Clears the new name, unless another agent has it.
fn clear_name(
    locked: &mut LockedMesh<'_>,
    caller: &Agent,
    new: &AgentName,
    now: Timestamp,
) -> Result<(), CommandError> {
    let census = settled_census(locked)?;
    let own = locked.own_record(caller)?.agent;
    if let Some(holder) = holder(&census, new, Some(&own), now) {
        return Err(name_taken(new, &holder));
    }
    // Fail here if claims can't be read, while nothing has changed.
    locked.claims()?;
    Ok(names::clear(locked, &census, new, now)?)
}
