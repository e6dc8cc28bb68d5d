//! Posts messages from the program itself.

use jiff::SignedDuration;

use crate::domain::{AgentName, Message, Notice};
use crate::store::{LockedMesh, Mesh};
use crate::sys::{clock, random};

use super::error::{CommandError, CommandErrorKind};

/// Notices are kept for this long, and at most this many; one notice in `PRUNE_ONE_IN` prunes them.
const KEPT: SignedDuration = SignedDuration::from_hours(24 * 7);
const KEPT_AT_MOST: usize = 1_000;
const PRUNE_ONE_IN: u32 = 64;

/// Posts a notice. `false`: there is no such inbox. Only `runner` calls this, when no lock is held.
pub(super) fn post(mesh: &Mesh, to: &AgentName, notice: &Notice) -> Result<bool, CommandError> {
    let from = AgentName::of_program();
    let mut outbox = mesh.outboxes().lock(&from)?;
    let stamp = outbox.stamp()?;
    let message = Message::new(stamp, &from, to, notice.text());
    let posted = outbox.post(stamp, to, message)?.is_some();
    drop(outbox);
    // Nobody reads as the program, so nobody else would prune this.
    if random::number().is_multiple_of(PRUNE_ONE_IN) {
        mesh.archive().prune(&from, clock::now() - KEPT, KEPT_AT_MOST)?;
    }
    Ok(posted)
}

/// Posts a notice that the mesh owes to an agent, with `mesh.lock` held.
///
/// This is the only notice that does not wait for the end of the op. The mesh records that it is owed until the agent
/// was told, and both happen under one lock: first the message, then the record that it was told. So only one of
/// several processes tells it, and if that one is killed in between, the next one tells it again: twice is better than
/// never.
pub(super) fn post_owed(
    _: &LockedMesh<'_>,
    mesh: &Mesh,
    to: &AgentName,
    notice: &Notice,
) -> Result<bool, CommandError> {
    post(mesh, to, notice)
}

pub(super) fn no_inbox(name: &AgentName) -> CommandError {
    CommandError::new(CommandErrorKind::NotRunning, format!("{name} has no inbox"))
}
