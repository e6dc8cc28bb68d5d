//! Is a name free, and what has to be cleared away before somebody takes it?

use jiff::Timestamp;

use crate::domain::{Agent, AgentName, Liveness};
use crate::store::{Census, Locked, Record, StoreError, Unreadable, Why};
use crate::sys::process;

use super::bury::bury_dead;
use super::error::{CommandError, Kind};

/// Not proven dead: it keeps what it has.
pub(super) fn is_live(record: &Record) -> bool {
    process::liveness(&record.agent.process) != Liveness::Gone
}

/// Who but `own` has the name, in words; `None` if it is free. Those who are gone have nothing.
pub(super) fn holder(
    census: &Census,
    name: &AgentName,
    own: Option<&Agent>,
    now: Timestamp,
) -> Option<String> {
    if let Some(file) = census.unreadable(name) {
        return Some(format!("a registration that can't be read (`{}`)", file.path));
    }
    let others =
        census.records.iter().filter(|record| own.is_none_or(|own| !record.agent.is_same_session(own)));
    let agent =
        &others.filter(|record| record.agent.answers_to(name, now)).find(|record| is_live(record))?.agent;
    Some(match agent.name == *name {
        true => format!("process {}", agent.process.pid()),
        false => format!("{}, who was called that", agent.name),
    })
}

/// The registration of that name is there, but nobody can tell what it says.
pub(super) fn unreadable(name: &AgentName, file: &Unreadable) -> CommandError {
    let text = format!("the registration of {name}, `{}`, can't be read: {}", file.path, file.reason);
    CommandError::new(Kind::Corrupt, text)
        .hint("look at the file; if nobody needs it, move it away")
        .fact("file", file.path.as_str())
}

/// Somebody may hold something, and nobody can tell what.
pub(super) fn unknown_reservations(file: &Unreadable) -> CommandError {
    let text = format!("what `{}` reserves is not known: {}", file.path, file.reason);
    CommandError::new(Kind::Corrupt, text)
        .hint("look at the file; if nobody needs it, move it away")
        .fact("file", file.path.as_str())
}

pub(super) fn name_taken(name: &AgentName, holder: &str) -> CommandError {
    CommandError::new(Kind::NameTaken, format!("the name {name} is taken by {holder}"))
        .hint("choose another; `msg join` alone makes one up")
        .fact("name", name.as_str())
}

/// Buries the dead, and makes room under a name that is free: what still lies there is not for who takes it. Whoever
/// had the name before a rename gives it up for good, and gets the mail that lies under it.
pub(super) fn clear(
    locked: &Locked<'_>,
    census: &Census,
    name: &AgentName,
    now: Timestamp,
) -> Result<(), StoreError> {
    bury_dead(locked, census, now)?;
    let dead = census.records.iter().find(|record| record.agent.name == *name && record.agent.is_foreign());
    if let Some(record) = dead {
        locked.bury(record, Why::Died, now, None)?;
    }
    let had_it = |agent: &Agent| agent.formerly.iter().any(|former| former.name == *name);
    if let Some(owner) = census.records.iter().find(|record| had_it(&record.agent) && is_live(record)) {
        locked.forward_mail(name, &owner.agent.name)?;
        locked.edit(&owner.agent, |agent| agent.formerly.retain(|former| former.name != *name))?;
    }
    locked.bury_lost_mail(name, now)?;
    locked.forget_presence(name)
}
