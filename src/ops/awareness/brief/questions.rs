//! Messages that an agent asked or was asked, and that have no answer yet.

use std::collections::HashSet;

use crate::domain::awareness::OpenQuestion;
use crate::domain::settings::FeedPrivacy;
use crate::domain::{Message, MessageId, MessageKind};
use crate::ops::context::Context;
use crate::ops::error::CommandError;
use crate::store::{Mesh, MessageLocation, SentMessageLocation, StoredMessage};

use super::subject::BriefSubject;

/// The most messages of an agent that are read, the latest ones.
const MOST_MESSAGES: usize = 1000;

/// The open questions, oldest first. The text of a direct message is there only for those who wrote or got it, unless
/// `feedPrivacy` lets everyone see it.
pub(super) fn open_questions(
    ctx: &Context,
    mesh: &Mesh,
    subject: &BriefSubject,
) -> Result<Vec<OpenQuestion>, CommandError> {
    let messages = messages_of(mesh, subject)?;
    let answered: HashSet<&MessageId> =
        messages.iter().filter_map(|stored| stored.message.reply_to.as_ref()).collect();
    let open: Vec<&StoredMessage> = messages
        .iter()
        .filter(|stored| awaits_answer(&stored.message) && !answered.contains(&stored.message.id))
        .collect();
    let sent: Vec<_> = open
        .iter()
        .filter_map(|stored| match &stored.place {
            MessageLocation::Sent(sent) => Some((sent.stem.clone(), sent.to.clone())),
            _ => None,
        })
        .collect();
    let mut whereabouts = mesh.outboxes().locate_sent(&sent)?.into_iter();
    let mut questions = Vec::new();
    for stored in open {
        let is_own = matches!(stored.place, MessageLocation::Sent(_));
        let is_acked = match &stored.place {
            MessageLocation::Sent(_) => {
                matches!(whereabouts.next(), Some(SentMessageLocation::Seen(seen)) if seen.acked.is_some())
            }
            MessageLocation::Seen(seen) => seen.acked.is_some(),
            MessageLocation::Inbox | MessageLocation::InHand => false,
        };
        if is_acked && !is_question(&stored.message) {
            continue;
        }
        let message = &stored.message;
        questions.push(OpenQuestion {
            id: stored.stem.short_id().to_string(),
            from: message.from.clone(),
            to: message.to.clone(),
            at: message.timestamp,
            text: may_read(ctx, subject, message).then(|| message.text.clone()),
            is_own,
        });
    }
    Ok(questions)
}

/// Whether its sender waits for an answer.
fn awaits_answer(message: &Message) -> bool {
    (message.needs_ack || is_question(message)) && !message.is_notice()
}

/// Whether only a reply answers it, not an ack.
fn is_question(message: &Message) -> bool {
    matches!(message.kind, Some(MessageKind::Question | MessageKind::Block))
}

fn may_read(ctx: &Context, subject: &BriefSubject, message: &Message) -> bool {
    let is_party = |reader: &crate::domain::AgentName| {
        reader.is_spelled_as(&subject.agent.name)
            || [&message.from, &message.to].iter().any(|name| reader.as_str().eq_ignore_ascii_case(name))
    };
    message.is_broadcast
        || ctx.settings.feed_privacy == FeedPrivacy::Text
        || subject.reader.as_ref().is_some_and(is_party)
}

/// What the agent sent and got while it was here, oldest first, with the unread mail in its grave.
fn messages_of(mesh: &Mesh, subject: &BriefSubject) -> Result<Vec<StoredMessage>, CommandError> {
    let mut refs = mesh.archive().list(&subject.agent, None)?;
    // After it went, another may have taken its name.
    refs.retain(|sealed| match (&sealed.place, sealed.stem.stamp()) {
        (MessageLocation::Inbox | MessageLocation::InHand, _) => !subject.is_buried(),
        (_, Some(stamp)) => subject.until().is_none_or(|until| stamp.timestamp() <= until),
        (_, None) => true,
    });
    let from = refs.len().saturating_sub(MOST_MESSAGES);
    let mut messages = Vec::new();
    for sealed in &refs[from..] {
        messages.extend(mesh.archive().load(sealed)?);
    }
    if let Some(grave) = &subject.grave {
        messages.extend(mesh.archive().unread_in_grave(grave)?);
    }
    Ok(messages)
}
