//! Messages, by their six letters.

use crate::domain::{Agent, Message};
use crate::ops::agents::identity;
use crate::ops::context::Context;
use crate::ops::error::CommandError;
use crate::store::{Mesh, MessageLocation};

use super::{LiveCandidate, LiveValue};

/// How many messages of the past are read.
const LATEST: usize = 100;

/// The caller's messages: what is unread first, then the latest.
pub(super) fn messages(
    ctx: &Context,
    mesh: &Mesh,
    kind: LiveValue,
) -> Result<Vec<LiveCandidate>, CommandError> {
    let census = mesh.registry().census()?;
    let Some(me) = identity::caller_if_certain(ctx, mesh, &census) else { return Ok(Vec::new()) };
    if kind == LiveValue::OwedAcks {
        let mut owed = mesh.archive().owed_acks(&me)?;
        owed.reverse();
        return Ok(owed.iter().map(|stored| received(stored.stem.short_id(), &stored.message)).collect());
    }
    let mut found = Vec::new();
    if kind != LiveValue::Sent {
        found.extend(unread(mesh, &me)?);
    }
    let history = mesh.archive().history(&me, None, LATEST, |_| true)?;
    for stored in history.iter().rev() {
        let id = stored.stem.short_id();
        match (&stored.place, kind) {
            (MessageLocation::Sent(_), LiveValue::Received) => {}
            (MessageLocation::Sent(_), _) => found.push(sent(id, &stored.message)),
            (_, LiveValue::Sent) => {}
            (_, LiveValue::Received) if stored.message.is_notice() => {}
            (_, _) => found.push(received(id, &stored.message)),
        }
    }
    Ok(found)
}

fn unread(mesh: &Mesh, me: &Agent) -> Result<Vec<LiveCandidate>, CommandError> {
    let scan = mesh.inboxes().scan(me)?;
    let waiting = scan.waiting.iter().chain(&scan.parked);
    Ok(waiting.map(|unread| received(unread.stem.short_id(), &unread.message)).collect())
}

fn received(id: &str, message: &Message) -> LiveCandidate {
    LiveCandidate::new(id, &format!("from {}: {}", message.from, message.text))
}

fn sent(id: &str, message: &Message) -> LiveCandidate {
    LiveCandidate::new(id, &format!("to {}: {}", message.to, message.text))
}
