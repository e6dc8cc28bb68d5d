//! Decides whether an agent name is free, and clears mail and counts of its last owner.

use jiff::Timestamp;

use crate::domain::{Agent, AgentName, suggestions};
use crate::store::{Census, GoneReason, Grave, LockedMesh, Mesh, StoreError, UnreadableFile};
use crate::sys::clock;

use super::bury::bury_dead;
use crate::ops::error::{CommandError, CommandErrorKind};

/// Describes who other than `own` has the name; `None` if it is free. Dead agents have no name.
pub(in crate::ops) fn holder(
    census: &Census,
    name: &AgentName,
    own: Option<&Agent>,
    now: Timestamp,
) -> Option<String> {
    let is_gone = |file: &&UnreadableFile| file.told.as_ref().is_some_and(|record| !record.is_live());
    if let Some(file) = census.unreadable(name).filter(|file| !is_gone(file)) {
        return Some(format!("a registration that can't be read (`{}`)", file.path));
    }
    // A machine whose lease is over has no names any more.
    let is_away = |agent: &Agent| agent.machine.as_ref().is_some_and(|machine| machine.away_since.is_some());
    let others =
        census.records.iter().filter(|record| own.is_none_or(|own| !record.agent.is_same_session(own)));
    let agent = &others
        .filter(|record| record.agent.answers_to(name, now) && !is_away(&record.agent))
        .find(|record| record.is_live())?
        .agent;
    if let Some(machine) = &agent.machine {
        return Some(match agent.name == *name {
            true => format!("an agent on {}", machine.name),
            false => format!("{} on {}, who was called that", agent.name, machine.name),
        });
    }
    Some(match agent.name == *name {
        true => format!("process {}", agent.process.pid()),
        false => format!("{}, who was called that", agent.name),
    })
}

/// The error for a registration of that name that can't be read.
pub(in crate::ops) fn unreadable(name: &AgentName, file: &UnreadableFile) -> CommandError {
    let text = format!("the registration of {name}, `{}`, can't be read: {}", file.path, file.reason);
    CommandError::new(CommandErrorKind::Corrupt, text)
        .hint("inspect the file, then repair or remove it")
        .fact("file", file.path.as_str())
}

/// The error for a registration that can't be read and may hold any reservation.
pub(in crate::ops) fn unknown_reservations(file: &UnreadableFile) -> CommandError {
    let text = format!("cannot tell what `{}` reserves: {}", file.path, file.reason);
    CommandError::new(CommandErrorKind::Corrupt, text)
        .hint("inspect the file, then repair or remove it")
        .fact("file", file.path.as_str())
}

/// Fails for a name that nobody has or had before they left. A registration that can't be read may be anybody's.
pub(in crate::ops) fn must_be_known(mesh: &Mesh, name: &AgentName) -> Result<(), CommandError> {
    let census = mesh.registry().census()?;
    if census.find(name, clock::now()).is_some() || census.unreadable(name).is_some() {
        return Ok(());
    }
    let is_of = |grave: &Grave| grave.id.name().eq_ignore_ascii_case(name.as_str());
    if mesh.graves().all()?.graves.iter().any(is_of) {
        return Ok(());
    }
    let error = CommandError::new(CommandErrorKind::UnknownAgent, format!("no agent is called {name}"));
    Err(with_nearest(error, name, &census))
}

pub(in crate::ops) fn name_taken(name: &AgentName, holder: &str) -> CommandError {
    CommandError::new(CommandErrorKind::NameTaken, format!("the name {name} is taken by {holder}"))
        .hint("choose another; without a name, `msg join` picks one")
        .fact("name", name.as_str())
}

/// Buries the dead in a settled census, and clears a name that is free: what is left there is not for the agent that
/// takes it. An agent that had the name before a rename loses it for good, and gets the mail that is left under it.
pub(in crate::ops) fn clear(
    locked: &mut LockedMesh<'_>,
    census: &Census,
    name: &AgentName,
    now: Timestamp,
) -> Result<(), StoreError> {
    bury_dead(locked, census, now)?;
    let dead = census.records.iter().find(|record| record.agent.name == *name && record.agent.is_foreign());
    if let Some(record) = dead {
        locked.bury(record, GoneReason::Died, now, None)?;
    }
    if census.unreadable(name).is_some_and(|file| file.told.is_some()) {
        locked.put_registration_aside(name, "its agent is gone, and another takes its name")?;
    }
    let had_it = |agent: &Agent| agent.formerly.iter().any(|former| former.name == *name);
    if let Some(owner) = census.local().find(|record| had_it(&record.agent) && record.is_live()) {
        let mut change = locked.change();
        change.edit(&owner.agent, |agent| agent.formerly.retain(|former| former.name != *name))?;
        change.locked().forward_mail(name, &owner.agent.name)?;
        change.commit()?;
    }
    locked.bury_lost_mail(name, now)?;
    locked.forget_presence(name)
}

/// Adds the names that the caller may have meant.
pub(in crate::ops) fn with_nearest(error: CommandError, name: &AgentName, census: &Census) -> CommandError {
    let names: Vec<&str> = census.records.iter().map(|record| record.agent.name.as_str()).collect();
    match suggestions(name.as_str(), names.iter().copied()).as_slice() {
        [] => error.hint("`msg agents` lists who is here"),
        near => {
            let near: Vec<String> = near.iter().map(|name| name.to_string()).collect();
            error.hint(format!("did you mean {}?", near.join(" or "))).facts("nearest", near)
        }
    }
}
