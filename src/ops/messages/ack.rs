//! `msg ack`: confirms that messages were received.

use crate::domain::{Agent, Message};
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::store::{Acknowledge, Mesh, MessageLocation, MessageStem, StoredMessage, Via};
use crate::sys::clock;

use super::stored_messages::find;

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
