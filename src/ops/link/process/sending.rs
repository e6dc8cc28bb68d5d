//! Mail to other machines: what is queued here goes to the server, in the order of sending.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::receipts::Slice;
use super::send_error::SendError;
use super::table::{RecordTable, RecordValue};
use crate::domain::link::{MachineName, name_token};
use crate::domain::{AgentName, Message, Notice, PeerText};
use crate::ops::effects::Op;
use crate::store::link_format::Envelope;
use crate::store::{Mesh, MessageStem, QueuedContent, QueuedMessage};
use crate::sys::nats::{Nats, NatsError};

/// Sends what is queued, in the order of sending, for about that time. Whatever the server does not take stays queued, and
/// what follows it too, so that the order is kept.
pub(super) async fn send_queued(
    op: &Op,
    mesh: &Mesh,
    nats: &Nats,
    table: &RecordTable,
    time: Duration,
) -> Result<Slice, SendError> {
    // A file that can't be read keeps back what follows it to the same agent, and nothing else.
    let mut kept_back: Vec<AgentName> = Vec::new();
    let queued = mesh.remote().queued()?;
    let start = Instant::now();
    for queued in queued {
        if start.elapsed() >= time {
            return Ok(Slice::More);
        }
        if kept_back.contains(&queued.to) {
            continue;
        }
        let message = match mesh.remote().queued_content(&queued) {
            Ok(QueuedContent::Message(message)) => *message,
            Ok(QueuedContent::Gone) => continue,
            Ok(QueuedContent::PutAside) => {
                op.warn(format!("a message to {} can't be read, and is in quarantine now", queued.to));
                continue;
            }
            Err(error) => {
                op.warn(format!("a message to {} can't be read: {error}", queued.to));
                kept_back.push(queued.to);
                continue;
            }
        };
        let QueuedMessage { stem, to } = queued;
        let refuse = |why: &str| note_refused(op, mesh, &message, &stem, &to, why);
        let Some(machine) = machine_of(table, &to, &message) else {
            refuse("that agent is on no machine any more")?;
            continue;
        };
        let id = message.id.to_string();
        let bytes = Bytes::from(Envelope::Message { stem: stem.clone(), message: message.clone() }.bytes());
        match nats.publish(machine.as_str(), &id, bytes).await {
            Ok(_) => mesh.remote().note_stored(&to, &stem)?,
            Err(NatsError::TooLarge { .. }) => refuse("it is too large for the server")?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Slice::All)
}

/// The machine that a message goes to: the one on which its recipient was when it was written. What the records say of
/// that session now does not count: another machine may have written them, and would get the mail of others.
///
/// `None`: nothing is known of that machine any more.
fn machine_of(table: &RecordTable, to: &AgentName, message: &Message) -> Option<MachineName> {
    if let Some(machine) = &message.to_machine {
        return is_known(table, machine).then(|| machine.clone());
    }
    // Queued by a version that did not write the machine down.
    let RecordValue::Name(name) = &table.get(&name_token(to))?.value else { return None };
    let owner = &name.record.owner;
    let is_meant = message.to_session.as_ref().is_none_or(|session| owner.session == *session);
    is_meant.then(|| owner.machine.clone())
}

/// Whether the machine is linked, or may come back: it was not given up.
fn is_known(table: &RecordTable, machine: &MachineName) -> bool {
    table.leases.is_live(machine) || table.names().any(|name| name.record.owner.machine == *machine)
}

/// Notes that a message of ours could not be delivered, and tells its sender once.
pub(super) fn note_refused(
    op: &Op,
    mesh: &Mesh,
    message: &Message,
    stem: &MessageStem,
    to: &AgentName,
    why: &str,
) -> Result<(), crate::store::StoreError> {
    if !mesh.remote().note_refused_because(to, stem, why)? {
        return Ok(());
    }
    let Ok(from) = AgentName::new(message.from.as_str()) else { return Ok(()) };
    let Some(record) = mesh.registry().get(&from)? else { return Ok(()) };
    // Another agent may have the name by now.
    if record.agent.joined_at > message.timestamp {
        return Ok(());
    }
    let notice =
        Notice::new().say("Your message ").own_arguments([stem.short_id()], "ID").say(" to ").name(to);
    let notice = notice.say(" could not be delivered: ").quote(&PeerText::new(why)).say(".");
    op.notify(record.agent, notice, format!("could not tell {from} that a message was not delivered"));
    Ok(())
}
