//! Posting what the program itself tells an agent.

use jiff::SignedDuration;

use crate::domain::{AgentName, Message, Notice};
use crate::store::{Locked, Mesh};
use crate::sys::{clock, random};

use super::error::{CommandError, Kind};

/// What was told is kept for so long, and so many; one in so many notices looks whether there is too much.
const KEPT: SignedDuration = SignedDuration::from_hours(24 * 7);
const KEPT_AT_MOST: usize = 1_000;
const PRUNE_ONE_IN: u32 = 64;

/// Posts a notice. `false`: there is no such inbox. Only `runner` calls this, when no lock is held.
pub(super) fn post(mesh: &Mesh, to: &AgentName, notice: &Notice) -> Result<bool, CommandError> {
    let from = AgentName::of_program();
    let mut outbox = mesh.outbox(&from)?;
    let stamp = outbox.stamp()?;
    let message = Message::new(stamp, &from, to, notice.text());
    let posted = outbox.post(stamp, to, message)?.is_some();
    drop(outbox);
    // Nobody reads as the program, so nobody else would.
    if random::number().is_multiple_of(PRUNE_ONE_IN) {
        mesh.prune(&from, clock::now() - KEPT, KEPT_AT_MOST)?;
    }
    Ok(posted)
}

/// Posts a notice that the mesh owes to an agent, with `mesh.lock` held.
///
/// This is the one notice that does not wait for the end of the op. That it is owed stands in the mesh until the agent
/// was told, and both happen under one lock: the message first, then the note that it was told. So of several processes
/// one tells, and a process that is killed in between is made up for by whoever looks next: told twice is better than
/// never.
pub(super) fn post_owed(
    _: &Locked<'_>,
    mesh: &Mesh,
    to: &AgentName,
    notice: &Notice,
) -> Result<bool, CommandError> {
    post(mesh, to, notice)
}

pub(super) fn no_inbox(name: &AgentName) -> CommandError {
    CommandError::new(Kind::NotRunning, format!("{name} has no inbox"))
}
