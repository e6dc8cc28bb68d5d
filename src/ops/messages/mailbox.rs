//! `msg inbox`, `show`, `ack`, `receipt` and `history`: what an agent got and sent, and what became of it.

use jiff::Timestamp;

use crate::domain::{Agent, AgentName, Liveness, Message, suggestions};
use crate::store::{
    Acknowledge, GraveId, InboxScan, Mesh, MessageLocation, MessageStem, OwnerlessInbox, Registration,
    SeenRecord, SentMessageLocation, StoredMessage, Via,
};
use crate::sys::{clock, process};

use crate::ops::agents::{identity, names};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};

/// The unread messages, and the acks that are owed.
#[derive(Clone, Debug)]
pub struct InboxReport {
    pub scan: InboxScan,
    pub owe_ack: Vec<StoredMessage>,
}

pub fn inbox(op: &Op) -> Result<InboxReport, CommandError> {
    let (mesh, caller) = identity::caller(op)?;
    let scan = mesh.inboxes().scan(&caller.agent)?;
    for unripe in &scan.unripe {
        op.warn(format!("`{}` can't be read yet: {}", unripe.file, unripe.reason));
    }
    for path in mesh.upkeep().quarantined_files()? {
        op.warn(format!("`{path}` could not be read and was set aside; the reason is beside it"));
    }
    let owe_ack = mesh.archive().owed_acks(&caller.agent)?;
    Ok(InboxReport { scan, owe_ack })
}

pub fn show(op: &Op, id: &str) -> Result<StoredMessage, CommandError> {
    let (mesh, caller) = identity::caller(op)?;
    find(&mesh, &caller.agent, id)
}

pub fn history(op: &Op, peer: Option<&AgentName>, limit: usize) -> Result<Vec<StoredMessage>, CommandError> {
    let (mesh, caller) = identity::caller(op)?;
    let history = mesh.archive().history(&caller.agent, peer, limit)?;
    if let Some(peer) = peer.filter(|_| history.is_empty()) {
        names::must_be_known(&mesh, peer)?;
    }
    Ok(history)
}

/// Messages that the caller was asked to ack and has not.
pub fn owed_acks(op: &Op) -> Result<Vec<StoredMessage>, CommandError> {
    let (mesh, caller) = identity::caller(op)?;
    Ok(mesh.archive().owed_acks(&caller.agent)?)
}

/// Acks received messages; an unread one counts as surfaced by that. Returns each of them once, including those acked
/// before.
pub fn ack(op: &Op, ids: &[String]) -> Result<Vec<Message>, CommandError> {
    let (mesh, caller) = identity::caller(op)?;
    let mut found = find_each(&mesh, &caller.agent, ids)?;
    let mut offers = mesh.inboxes().offers(&caller.agent)?;
    offers.retain(|offered| found.iter().any(|filed| filed.stem == *offered.stem()));
    // Refuse what can't be acked before anything is acked.
    for filed in &found {
        let is_offered = offers.iter().any(|offered| filed.stem == *offered.stem());
        must_be_ackable(filed, is_offered)?;
    }
    // An agent that acks a message which a hook gave it has read it.
    if !offers.is_empty() {
        mesh.inboxes().confirm_offers(&offers)?;
        found = find_each(&mesh, &caller.agent, ids)?;
    }
    let now = clock::now();
    for filed in &found {
        if let MessageLocation::Seen(seen) = &filed.place {
            mesh.archive().ack(&caller.agent, seen, now)?;
            continue;
        }
        let scan = mesh.inboxes().scan(&caller.agent)?;
        let mut waiting: Vec<_> = scan.waiting.into_iter().chain(scan.parked).collect();
        waiting.retain(|waiting| waiting.stem == filed.stem);
        let delivery = mesh.inboxes().take(waiting)?;
        if delivery.is_empty() {
            // Another reader was faster.
            return Err(in_hand(&filed.stem));
        }
        delivery.record(&Via::new("ack"), now, Acknowledge::Now)?;
    }
    Ok(found.into_iter().map(|filed| filed.message).collect())
}

/// The messages that the ids refer to, each once.
fn find_each(mesh: &Mesh, agent: &Agent, ids: &[String]) -> Result<Vec<StoredMessage>, CommandError> {
    let mut found: Vec<StoredMessage> = Vec::new();
    for id in ids {
        let filed = find(mesh, agent, id)?;
        if !found.iter().any(|other| other.stem == filed.stem) {
            found.push(filed);
        }
    }
    Ok(found)
}

fn must_be_ackable(filed: &StoredMessage, is_offered: bool) -> Result<(), CommandError> {
    refuse_notice(&filed.message)?;
    match &filed.place {
        MessageLocation::Seen(_) | MessageLocation::Inbox => Ok(()),
        MessageLocation::InHand if is_offered => Ok(()),
        MessageLocation::InHand => Err(in_hand(&filed.stem)),
        MessageLocation::Sent(_) => {
            let text = format!("{} is a message that you sent", filed.stem.short_id());
            Err(CommandError::new(CommandErrorKind::UnknownMessage, text)
                .hint("only messages you received can be acknowledged"))
        }
    }
}

/// Refuses a notice: nobody can be answered there.
pub(in crate::ops) fn refuse_notice(message: &Message) -> Result<(), CommandError> {
    if !message.is_notice() {
        return Ok(());
    }
    let text = "that is a notice from msg itself: there is nobody to answer";
    Err(CommandError::new(CommandErrorKind::UnknownMessage, text))
}

fn in_hand(stem: &MessageStem) -> CommandError {
    let text = format!("{} is being handed over right now", stem.short_id());
    CommandError::new(CommandErrorKind::UnknownMessage, text).hint("acknowledge it after that")
}

/// What became of a sent message.
#[derive(Clone, Debug)]
pub struct Receipt {
    pub message: Message,
    pub stem: MessageStem,
    pub state: &'static str,
    pub at: Option<Timestamp>,
    pub via: Option<String>,
    pub reason: Option<String>,
    /// How it was to get to the recipient's attention.
    pub wake: Option<String>,
}

pub fn receipt(op: &Op, id: &str) -> Result<Receipt, CommandError> {
    let (mesh, caller) = identity::caller(op)?;
    let found = mesh.archive().find_sent(&caller.agent, id)?;
    if found.is_empty() && !mesh.archive().find(&caller.agent, id)?.is_empty() {
        let text = format!("`{}` is a message that you received", id.escape_debug());
        return Err(CommandError::new(CommandErrorKind::UnknownMessage, text)
            .hint("only messages you sent have a receipt"));
    }
    let filed = only(found, id)?;
    let MessageLocation::Sent(sent) = &filed.place else { return Err(unknown(id)) };
    let place = mesh.outboxes().locate_sent(&[(sent.stem.clone(), sent.to.clone())])?.pop();
    let (state, at, via, reason) = match place.unwrap_or(SentMessageLocation::Nowhere) {
        SentMessageLocation::Seen(SeenRecord { at, via, acked, .. }) => {
            let state = if acked.is_some() { "acked" } else { "surfaced" };
            (state, Some(acked.unwrap_or(at)), Some(via.text()), None)
        }
        SentMessageLocation::Stored => {
            let reason = match orphaned(&mesh, &sent.to)? {
                Some(reason) => Some(reason),
                None => ended(&mesh, &sent.to)?,
            };
            ("stored", Some(filed.message.timestamp), None, reason)
        }
        SentMessageLocation::InHand => {
            ("stored", Some(filed.message.timestamp), None, Some("it is being handed over".to_string()))
        }
        SentMessageLocation::Offered(offer) => {
            let reason =
                format!("{} gave it to {}, which has not continued since", offer.via.text(), sent.to);
            ("stored", Some(filed.message.timestamp), None, Some(reason))
        }
        SentMessageLocation::Parked => {
            let reason = "it could not be handed over, and waits for `msg read`".to_string();
            ("stored", Some(filed.message.timestamp), None, Some(reason))
        }
        SentMessageLocation::Grave(grave) => ("gone", None, None, Some(in_grave(&mesh, &sent.to, &grave)?)),
        SentMessageLocation::Quarantine => {
            ("gone", None, None, Some("it could not be read, and was set aside".to_string()))
        }
        SentMessageLocation::Nowhere => nowhere(&mesh, &sent.to)?,
    };
    let wake = sent.route.clone();
    Ok(Receipt { stem: sent.stem.clone(), message: filed.message, state, at, via, reason, wake })
}

/// Explains mail in the inbox of a name that nobody has. If its owner is known, the mail is forwarded.
fn orphaned(mesh: &Mesh, to: &AgentName) -> Result<Option<String>, CommandError> {
    let is_orphan = |orphaned: &OwnerlessInbox| orphaned.name.is_spelled_as(to);
    let orphans = mesh.inboxes().orphans(&mesh.registry().census()?)?;
    let Some(OwnerlessInbox { now_called, .. }) = orphans.into_iter().find(is_orphan) else {
        return Ok(None);
    };
    let Some(new) = now_called else { return Ok(Some(format!("nobody is called {to} now"))) };
    if let Some(locked) = mesh.try_lock()? {
        locked.forward_orphans(&locked.census()?)?;
    }
    Ok(Some(format!("{to} is called {new} now, and gets it there")))
}

/// What will happen to a message in a grave.
fn in_grave(mesh: &Mesh, to: &AgentName, grave: &str) -> Result<String, CommandError> {
    let lost = GraveId::parse(grave).filter(GraveId::is_of_lost_mail);
    let is_for_nobody = match &lost {
        Some(grave) => mesh.graves().lost_mail_owner(grave)?.is_none(),
        None => false,
    };
    Ok(match is_for_nobody {
        true => format!("nobody was called {to} when it arrived; the message is kept in `graves/{grave}`"),
        false => format!("{to} is gone; it gets the message when it comes back"),
    })
}

/// Explains why a stored message will not be read soon: its recipient's process has ended, and it is not buried yet.
fn ended(mesh: &Mesh, to: &AgentName) -> Result<Option<String>, CommandError> {
    let record = mesh.registry().get(to)?;
    let has_ended = |record: &Registration| process::liveness(&record.agent.process) == Liveness::Gone;
    let reason = || format!("{to} has ended; it gets the message when it comes back");
    Ok(record.as_ref().is_some_and(has_ended).then(reason))
}

type ReceiptState = (&'static str, Option<Timestamp>, Option<String>, Option<String>);

/// Neither in the inbox nor in any record: pi-messenger deletes what it reads.
fn nowhere(mesh: &Mesh, to: &AgentName) -> Result<ReceiptState, CommandError> {
    let foreign = mesh.registry().get(to)?.is_some_and(|record| record.agent.is_foreign());
    let reason = if foreign {
        format!("{to} is an agent of pi-messenger, which keeps no record")
    } else {
        format!("it left the inbox of {to}, and the record of that is no longer kept")
    };
    Ok(("taken", None, None, Some(reason)))
}

/// The one message that `id` refers to.
pub(in crate::ops) fn find(mesh: &Mesh, agent: &Agent, id: &str) -> Result<StoredMessage, CommandError> {
    only(mesh.archive().find(agent, id)?, id)
}

fn only(mut found: Vec<StoredMessage>, id: &str) -> Result<StoredMessage, CommandError> {
    // A message to oneself is both sent and received; either will do.
    found.dedup_by(|a, b| a.message.id == b.message.id);
    match found.len() {
        0 => Err(unknown(id)),
        1 => Ok(found.remove(0)),
        _ => {
            let ids: Vec<String> = found.iter().map(|filed| filed.message.id.to_string()).collect();
            let near = suggestions(id, ids.iter().map(String::as_str)).join(", ");
            let text = format!("`{}` could be {} messages", id.escape_debug(), found.len());
            let hint =
                format!("give more of the id: {}", if near.is_empty() { ids.join(", ") } else { near });
            Err(CommandError::new(CommandErrorKind::AmbiguousMessage, text).hint(hint).facts("ids", ids))
        }
    }
}

fn unknown(id: &str) -> CommandError {
    CommandError::new(
        CommandErrorKind::UnknownMessage,
        format!("you have no message `{}`", id.escape_debug()),
    )
    .hint("give the six-letter id as shown by `msg history`")
}
