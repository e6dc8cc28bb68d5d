//! Mail between machines: what is queued here goes to the server, what the server has for this machine goes into
//! inboxes. Receipts go back by `receipts`.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::receipts::{NOTHING, REFUSE, Slice};
use super::runs;
use super::send_error::SendError;
use super::table::RecordTable;
use crate::domain::link::{MachineName, name_token};
use crate::domain::{Agent, AgentName, Message, Notice, SessionId};
use crate::ops::agents::list::grave_of;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::wake::{self, ArrivedMessage};
use crate::store::link_format::{Envelope, ReceiptState};
use crate::store::{
    Mesh, MessageStem, OwedReceipt, QueuedContent, QueuedMessage, Registration, SentMessageLocation,
    SessionRecord,
};
use crate::sys::clock;
use crate::sys::nats::{Incoming, Nats, NatsError};
use crate::sys::test_switches::{self, Bug};

/// How long after a failed delivery it is tried again.
const PAUSE: Duration = Duration::from_secs(1);

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
        let Some(machine) = machine_of(mesh, table, &to, message.to_session.as_ref()) else {
            mesh.remote().note_refused(&to, &stem)?;
            tell_refused(op, mesh, &message, &stem, &to, "that agent is on no machine any more");
            continue;
        };
        let id = message.id.to_string();
        let bytes = Bytes::from(Envelope::Message { stem: stem.clone(), message: message.clone() }.bytes());
        match nats.publish(machine.as_str(), &id, bytes).await {
            Ok(_) => mesh.remote().note_stored(&to, &stem)?,
            Err(NatsError::TooLarge { .. }) => {
                mesh.remote().note_refused(&to, &stem)?;
                tell_refused(op, mesh, &message, &stem, &to, "it is too large for the server");
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Slice::All)
}

/// The machine that a message goes to: that of the session which had the name when it was sent. Of a session that is not
/// known any more, the machine of its name knows whether it goes on under another id.
fn machine_of(
    mesh: &Mesh,
    table: &RecordTable,
    to: &AgentName,
    session: Option<&SessionId>,
) -> Option<MachineName> {
    let known = session.and_then(|session| table.machine_of_session(session));
    if let Some(machine) = known.or_else(|| table.machine_of_name(to)) {
        return Some(machine.clone());
    }
    mesh.remote().agent(to).ok()??.agent.machine.map(|machine| machine.name)
}

/// Tells the sender of a message that it could not be delivered.
fn tell_refused(
    op: &Op,
    mesh: &Mesh,
    message: &Message,
    stem: &MessageStem,
    to: &AgentName,
    why: &'static str,
) {
    let Ok(from) = AgentName::new(message.from.as_str()) else { return };
    let Ok(Some(record)) = mesh.registry().get(&from) else { return };
    let notice =
        Notice::new().say("Your message ").own_arguments([stem.short_id()], "ID").say(" to ").name(to);
    let notice = notice.say(" could not be delivered: ").say(why).say(".");
    op.notify(record.agent, notice, format!("could not tell {from} that a message was not delivered"));
}

/// What became of a message for this machine.
enum Arrival {
    /// It is in an inbox.
    Delivered(Box<Agent>, Message),
    /// There is nothing more to do: it came before, or it is in the grave of a session that may come back.
    Settled,
    /// Nobody here can have it.
    Refused(String),
}

/// Delivers messages in their order, and takes note of receipts, for about that time. Each is removed from the server after
/// that.
pub(super) async fn receive(
    op: &Op,
    mesh: &Mesh,
    nats: &Nats,
    table: &mut RecordTable,
    incoming: &mut VecDeque<Incoming>,
    time: Duration,
) {
    let start = Instant::now();
    let mut arrivals = Vec::new();
    while start.elapsed() < time
        && let Some(one) = incoming.pop_front()
    {
        if test_switches::has_bug(Bug::AckBeforeInbox)
            && let Ok(Envelope::Message { stem, message }) = Envelope::parse(&one.bytes)
            && let Ok(from) = MachineName::new(one.from_machine.as_str())
            && let Ok(to) = AgentName::new(message.to.as_str())
        {
            drop(one.done().await);
            drop(deliver(mesh, &owed(&stem, &to, &from, NOTHING), &message));
            continue;
        }
        match receive_one(op, mesh, nats, table, &one).await {
            Ok(arrival) => {
                arrivals.extend(arrival);
                // If that is not confirmed, it comes again, and is known.
                drop(one.done().await);
            }
            Err(Failure::Unreadable(why)) => {
                op.warn(format!("a message from {} is put aside on the server: {why}", one.from_machine));
                drop(one.dead_letter(&why).await);
            }
            // What is wrong is here or between here and the server, such as a full disk, and not the message. However
            // long that takes, it is kept, and what follows waits for it: the order of a sender's messages is kept.
            Err(Failure::NotYet(why)) => {
                op.warn(format!("a message from {} could not be delivered yet: {why}", one.from_machine));
                drop(one.again(PAUSE).await);
                for later in incoming.drain(..) {
                    drop(later.again(PAUSE).await);
                }
            }
        }
    }
    wake_all(op, mesh, &arrivals);
}

/// Why a message is not delivered.
enum Failure {
    /// No version of it can be: this one does not understand it.
    Unreadable(String),
    NotYet(String),
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::NotYet(error.to_string())
    }
}

/// Delivers one message, or takes note of a receipt. Whom it was delivered to, if somebody is to be woken.
async fn receive_one(
    op: &Op,
    mesh: &Mesh,
    nats: &Nats,
    table: &mut RecordTable,
    one: &Incoming,
) -> Result<Option<(Box<Agent>, Message)>, Failure> {
    let from = MachineName::new(one.from_machine.as_str());
    let from = from.map_err(|error| Failure::Unreadable(error.to_string()))?;
    let (stem, message) = match Envelope::parse(&one.bytes) {
        Ok(Envelope::Message { stem, message }) => (stem, message),
        Ok(Envelope::Receipt { stem, to, state }) => {
            note_receipt(mesh, &to, &stem, &state)?;
            return Ok(None);
        }
        Ok(Envelope::Run(letter)) => {
            let offset = nats.server_facts().clock_offset.unwrap_or_default().as_millis();
            let place = (&from, one.stored_at, i64::try_from(offset).unwrap_or(0));
            if let Some((id, answer)) = runs::receive(mesh, place, &letter)? {
                let bytes = Bytes::from(Envelope::Run(answer).bytes());
                match nats.publish(from.as_str(), &id, bytes).await {
                    // Whoever asked learns it from its own clock. A server that is full must not keep back what follows.
                    Ok(_) | Err(NatsError::StreamFull { .. } | NatsError::DiskFull { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            return Ok(None);
        }
        Err(error) => {
            // It may be of a later version. Its sender is to know that it was not delivered.
            if let Some((stem, to)) = Envelope::message_in(&one.bytes) {
                mesh.remote().owe(&owed(&stem, &to, &from, REFUSE))?;
            }
            return Err(Failure::Unreadable(error.to_string()));
        }
    };
    let Ok(to) = AgentName::new(message.to.as_str()) else {
        return Err(Failure::Unreadable("its recipient is not a name".to_string()));
    };
    if mesh.remote().owes(&from, &stem)? {
        return Ok(None);
    }
    let message = if message.is_notice() { message.into_notice_of(&from) } else { message };
    let mut why = impostor(mesh, table, &from, &message)?;
    if why.is_some() {
        // Mail and records come on different ways: the name may have changed hands a moment ago.
        read_name(nats, table, &message).await?;
        why = impostor(mesh, table, &from, &message)?;
    }
    let arrival = match why {
        Some(why) => Arrival::Refused(why),
        None => deliver(mesh, &owed(&stem, &to, &from, NOTHING), &message)?,
    };
    match arrival {
        Arrival::Delivered(agent, message) => Ok(Some((agent, message))),
        Arrival::Settled => Ok(None),
        Arrival::Refused(why) => {
            op.warn(format!("a message from {from} to {to} is refused: {why}"));
            // Written down and not sent from here: a server that is full must not keep back what would make room.
            mesh.remote().owe(&owed(&stem, &to, &from, REFUSE))?;
            Ok(None)
        }
    }
}

fn owed(stem: &MessageStem, to: &AgentName, machine: &MachineName, told: &str) -> OwedReceipt {
    OwedReceipt { stem: stem.clone(), to: to.clone(), machine: machine.clone(), told: told.to_string() }
}

/// Learns from the server who has the sender's name now.
async fn read_name(nats: &Nats, table: &mut RecordTable, message: &Message) -> Result<(), NatsError> {
    let Ok(sender) = AgentName::new(message.from.as_str()) else { return Ok(()) };
    let key = name_token(&sender);
    match nats.get(&key).await? {
        Some(record) => table.put(&key, record.revision, &record.value),
        None => table.forget(&key),
    }
    Ok(())
}

/// Wakes the recipients that are idle. The messages are delivered, whatever fails here.
fn wake_all(op: &Op, mesh: &Mesh, arrivals: &[(Box<Agent>, Message)]) {
    for (agent, message) in arrivals {
        let before = match wake::route(op, mesh, agent, message.importance) {
            Ok(before) => before,
            Err(error) => {
                op.warn(format!("{} could not be woken: {error}", agent.name));
                continue;
            }
        };
        let arrived = ArrivedMessage { agent: (**agent).clone(), before };
        let results = wake::wake_recipients(op, mesh, &[arrived], message.importance);
        results.failures.into_iter().for_each(|failure| op.warn(failure));
    }
}

/// Puts a message where its recipient finds it. It is remembered that its sender is to be told, under the name that the
/// sender wrote to, whatever its agent is called now.
fn deliver(mesh: &Mesh, owed: &OwedReceipt, message: &Message) -> Result<Arrival, CommandError> {
    let OwedReceipt { stem, to, .. } = owed;
    // While the lock is held, nobody is buried or renamed.
    let locked = mesh.lock()?;
    let earlier = match &message.to_session {
        Some(session) => mesh.sessions().get(session)?.filter(SessionRecord::is_current),
        None => None,
    };
    let is_meant = |record: &Registration| {
        let is_his =
            |session: &SessionId| record.agent.session == *session || continues(record, earlier.as_ref());
        record.is_live() && message.to_session.as_ref().is_none_or(is_his)
    };
    let is_there = |record: &Registration| is_meant(record) && record.agent.name.is_spelled_as(to);
    let direct = mesh.registry().get(to)?.filter(is_there);
    let found = match direct {
        Some(record) => Some(record.agent),
        None => {
            let census = mesh.registry().local_census()?;
            // Another agent may have the name by now.
            let found = match &message.to_session {
                Some(_) => census.records.iter().find(|record| is_meant(record)),
                None => census.find(to, clock::now()).filter(|record| record.is_live()),
            };
            found.map(|record| record.agent.clone())
        }
    };
    let session = message.to_session.as_ref();
    // In the inbox that need not be said any more.
    let message = &Message { to_session: None, ..message.clone() };
    // It comes again if this process was killed before it could say that it has it.
    let is_known = match &found {
        Some(agent) if agent.name.is_spelled_as(to) => mesh.inboxes().knows(to, stem)?,
        _ => {
            let place = mesh.outboxes().locate_sent(&[(stem.clone(), to.clone())])?.pop();
            !matches!(place, None | Some(SentMessageLocation::Nowhere | SentMessageLocation::Remote(_)))
        }
    };
    if is_known {
        mesh.remote().owe(owed)?;
        return Ok(Arrival::Settled);
    }
    let arrival = match found {
        Some(agent) => {
            locked.make_inbox(&agent.name)?;
            locked.deliver(&agent.name, stem, message)?;
            Arrival::Delivered(Box::new(agent), message.clone())
        }
        None => {
            let graves = match session {
                Some(session) => mesh.graves().of_session(session)?,
                None => grave_of(mesh, to)?.map(|(_, grave)| grave.id).into_iter().collect(),
            };
            let mut is_kept = false;
            for grave in &graves {
                is_kept = is_kept || locked.was_delivered_to_grave(grave, stem, message)?;
            }
            if !is_kept {
                return Ok(Arrival::Refused(format!("nobody is called {to} there")));
            }
            Arrival::Settled
        }
    };
    mesh.remote().owe(owed)?;
    Ok(arrival)
}

/// Whether the agent is the one of that earlier session: its harness gave it another id in the same process.
fn continues(record: &Registration, earlier: Option<&SessionRecord>) -> bool {
    earlier.is_some_and(|earlier| {
        let before = &earlier.last.agent;
        before.process == record.agent.process
            && record.agent.all_names().any(|name| name.is_spelled_as(&before.name))
    })
}

/// Why the message can't be from who it says: the server vouches for the machine, and the records for its agents. A
/// notice names no agent; it is marked as one of the machine that it came from.
fn impostor(
    mesh: &Mesh,
    table: &RecordTable,
    from: &MachineName,
    message: &Message,
) -> Result<Option<String>, CommandError> {
    if message.is_notice() {
        return Ok(None);
    }
    let Ok(sender) = AgentName::new(message.from.as_str()) else {
        return Ok(Some("its sender is not a name".to_string()));
    };
    Ok(match table.machine_of_name(&sender) {
        Some(machine) if machine == from => None,
        Some(machine) => Some(format!("{sender} is on {machine}, and the message came from {from}")),
        // Its sender may have left since.
        None if mesh.registry().get(&sender)?.is_none() => None,
        None => Some(format!("{sender} is an agent of the machine that it was sent to")),
    })
}

/// Takes note of what became of a message of ours.
fn note_receipt(
    mesh: &Mesh,
    to: &AgentName,
    stem: &MessageStem,
    state: &ReceiptState,
) -> Result<(), CommandError> {
    let remote = mesh.remote();
    match state {
        ReceiptState::Delivered { .. } => remote.note_delivered(to, stem)?,
        ReceiptState::Seen(record) => remote.note_seen(to, record)?,
        ReceiptState::Refused { .. } => remote.note_refused(to, stem)?,
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::link::RunLetter;
    use crate::domain::runs::RunId;

    #[test]
    fn a_link_that_does_not_know_a_letter_about_runs_puts_it_aside() {
        let letter = RunLetter::LogWanted { id: RunId::from_random(3) };
        let bytes = Envelope::Run(letter.clone()).bytes();
        let Ok(Envelope::Run(read)) = Envelope::parse(&bytes) else { panic!("it reads back") };
        assert_eq!(read, letter);
        // The first links required this key of everything, and so put this aside.
        let keys: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert!(keys.get("stem").is_none(), "{keys}");
        for later in [&br#"{"version": 1, "run": {"what": "dance"}}"#[..], br#"{"version": 1, "dance": {}}"#]
        {
            assert!(Envelope::parse(later).is_err());
        }
    }
}
