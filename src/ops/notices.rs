//! Posts messages from the program itself.

use jiff::SignedDuration;

use crate::domain::{Agent, AgentName, Importance, Notice};
use crate::ops::link::ask::poke;
use crate::store::{LockedMesh, Mesh};
use crate::sys::{clock, random};

use super::effects::{AddressedNotice, NoticeUrgency, Op};
use super::error::CommandError;
use super::messages::post_to_agent::{OutgoingText, post_text, post_texts};

/// Notices are kept for this long, and at most this many; one call in `PRUNE_ONE_IN` prunes them.
const KEPT: SignedDuration = SignedDuration::from_hours(24 * 7);
const KEPT_AT_MOST: usize = 1_000;
const PRUNE_ONE_IN: u32 = 64;

/// Posts notices in order, under one lock of the program's outbox. Returns the present name of each recipient that got
/// its notice. Only `runner` calls this, when no lock is held.
pub(super) fn post(
    op: &Op,
    mesh: &Mesh,
    notices: &[AddressedNotice],
) -> Vec<Result<AgentName, CommandError>> {
    if notices.is_empty() {
        return Vec::new();
    }
    let texts: Vec<(&Agent, OutgoingText<'_>)> =
        notices.iter().map(|one| (&*one.to, outgoing(one))).collect();
    let from = AgentName::of_program();
    let posted = post_texts(op, mesh, &from, &|| mesh.outboxes().lock(&from), &texts);
    if texts.iter().any(|(to, _)| to.is_remote()) {
        poke(op, mesh);
    }
    if let Err(error) = prune_sometimes(mesh) {
        op.warn(format!("old notices could not be pruned: {error}"));
    }
    posted
}

fn outgoing(one: &AddressedNotice) -> OutgoingText<'_> {
    let text = OutgoingText::new(one.notice.text());
    match one.urgency {
        NoticeUrgency::Wakes => text,
        NoticeUrgency::NextHook { until } => {
            OutgoingText { importance: Importance::Low, expires_at: Some(until), ..text }
        }
    }
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
    importance: Importance,
) -> Result<bool, CommandError> {
    let from = AgentName::of_program();
    let text = OutgoingText { importance, ..OutgoingText::new(notice.text()) };
    let mut outbox = mesh.outboxes().lock(&from)?;
    let is_posted = post_text(&mut outbox, &from, to, &text)?.is_some();
    drop(outbox);
    prune_sometimes(mesh)?;
    Ok(is_posted)
}

/// Nobody reads as the program, so nobody else would prune its messages.
fn prune_sometimes(mesh: &Mesh) -> Result<(), CommandError> {
    if random::number().is_multiple_of(PRUNE_ONE_IN) {
        mesh.archive().prune(&AgentName::of_program(), clock::now() - KEPT, KEPT_AT_MOST)?;
    }
    Ok(())
}
