//! Answers that are owed: a `question` and a `block` want one, each recipient its own.
//!
//! A reply to the sender settles the debt; an ack does not. The reply is sent first. If the process dies before the debt
//! is recorded as settled, whoever asks for what is owed finds the reply among the sent messages, and records it then.

use crate::domain::{Agent, AgentName, Liveness, Notice, PeerText};
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::store::{
    Acknowledge, AnswerMark, Mesh, MessageLocation, SeenRecord, SentMessageLocation, StoredMessage, Via,
};
use crate::sys::{clock, process};

/// The most questions that a reminder names.
const MOST_NAMED: usize = 3;

/// What became of the answer that a message wants.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AnswerState {
    Owed,
    Given,
}

impl AnswerState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Owed => "owed",
            Self::Given => "given",
        }
    }

    fn of_record(seen: &SeenRecord) -> Self {
        if seen.answer == AnswerMark::Given { Self::Given } else { Self::Owed }
    }
}

/// Messages that the agent has read and owes an answer to, oldest first.
pub(in crate::ops) fn owed(mesh: &Mesh, agent: &Agent) -> Result<Vec<StoredMessage>, CommandError> {
    answerable(mesh, agent, mesh.archive().owed_answers(agent)?)
}

/// Those of the questions that the agent has not answered and can answer. An asker that is gone gets no answer; when it
/// comes back, it is owed one again. Nor can anybody answer a sender whose name is not one.
fn answerable(
    mesh: &Mesh,
    agent: &Agent,
    questions: Vec<StoredMessage>,
) -> Result<Vec<StoredMessage>, CommandError> {
    let mut answerable = Vec::new();
    if questions.is_empty() {
        return Ok(answerable);
    }
    let census = mesh.registry().census()?;
    for question in questions {
        let asker = AgentName::new(question.message.from.as_str()).ok();
        let asker = asker.and_then(|name| census.find(&name, clock::now())).map(|record| &record.agent);
        let is_there = asker.is_some_and(|asker| process::liveness(&asker.process) != Liveness::Gone);
        if !settle_if_answered(mesh, agent, &question, asker)? && is_there {
            answerable.push(question);
        }
    }
    Ok(answerable)
}

/// The latest message of that agent to which the caller owes an answer. In a chat, whatever is written next answers it.
pub fn latest_question(op: &Op, from: &str) -> Result<Option<String>, CommandError> {
    let (mesh, caller) = identity::caller(op)?;
    let owed = owed(&mesh, &caller.agent)?.into_iter().rev();
    let mut of_sender = owed.filter(|question| question.message.from.eq_ignore_ascii_case(from));
    Ok(of_sender.next().map(|question| question.message.id.to_string()))
}

/// What became of the answers that these messages want, sent or received by the agent.
pub(super) fn states(
    mesh: &Mesh,
    agent: &Agent,
    messages: &[StoredMessage],
) -> Result<Vec<Option<AnswerState>>, CommandError> {
    let mut states = Vec::new();
    for filed in messages {
        states.push(match &filed.place {
            MessageLocation::Seen(seen) if filed.stem.wants_answer() => Some(AnswerState::of_record(seen)),
            MessageLocation::Sent(sent) if filed.stem.wants_answer() => {
                let place = mesh.outboxes().locate_sent(&[(sent.stem.clone(), sent.to.clone())])?.pop();
                let recorded = match &place {
                    Some(SentMessageLocation::Seen(seen)) => Some(seen),
                    _ => None,
                };
                state_of_sent(mesh, agent, filed, recorded)?
            }
            _ => None,
        });
    }
    Ok(states)
}

/// Settles a debt whose reply was sent by a process that died after that. Returns whether there is a reply to the asker,
/// under whatever name of its.
fn settle_if_answered(
    mesh: &Mesh,
    agent: &Agent,
    question: &StoredMessage,
    asker: Option<&Agent>,
) -> Result<bool, CommandError> {
    let is_asker = |to: &AgentName| {
        to.as_str().eq_ignore_ascii_case(&question.message.from)
            || asker.is_some_and(|asker| asker.all_names().any(|name| name == to))
    };
    let is_to_sender =
        |place: &MessageLocation| matches!(place, MessageLocation::Sent(sent) if is_asker(&sent.to));
    let is_answered = mesh.archive().has_reply(agent, question, is_to_sender)?;
    if let (true, MessageLocation::Seen(seen)) = (is_answered, &question.place) {
        mesh.archive().settle_answer(agent, seen, clock::now())?;
    }
    Ok(is_answered)
}

/// What became of the answer that a message of the agent's wants; `None` if it wants none. `recorded` is the
/// recipient's record of it, if there is one.
pub(super) fn state_of_sent(
    mesh: &Mesh,
    agent: &Agent,
    question: &StoredMessage,
    recorded: Option<&SeenRecord>,
) -> Result<Option<AnswerState>, CommandError> {
    if !question.stem.wants_answer() || recorded.is_some_and(SeenRecord::is_expired) {
        return Ok(None);
    }
    let is_given = recorded.is_some_and(|seen| AnswerState::of_record(seen) == AnswerState::Given)
        || mesh.archive().has_reply(agent, question, |place| !matches!(place, MessageLocation::Sent(_)))?;
    Ok(Some(if is_given { AnswerState::Given } else { AnswerState::Owed }))
}

/// Settles what the agent owes for a message that it has just replied to: an answer, and an ack. An error is only a
/// warning, because the reply was sent.
pub(super) fn settle(op: &Op, mesh: &Mesh, agent: &Agent, answered: &StoredMessage, sent_to: &[&AgentName]) {
    let settled = is_sent_to_sender(mesh, answered, sent_to).and_then(|is_to_sender| match is_to_sender {
        true => try_to_settle(mesh, agent, answered),
        false => Ok(()),
    });
    if let Err(error) = settled {
        op.warn(format!("{} still counts as unanswered: {error}", answered.stem.short_id()));
    }
}

/// Whether one of the copies went to the one who asked, whatever it is called now.
fn is_sent_to_sender(
    mesh: &Mesh,
    answered: &StoredMessage,
    sent_to: &[&AgentName],
) -> Result<bool, CommandError> {
    let Ok(asker) = AgentName::new(answered.message.from.as_str()) else { return Ok(false) };
    let is_sent = |name: &AgentName| sent_to.iter().any(|to| to.is_spelled_as(name));
    if sent_to.is_empty() || is_sent(&asker) {
        return Ok(!sent_to.is_empty());
    }
    let census = mesh.registry().census()?;
    Ok(census.find(&asker, clock::now()).is_some_and(|record| is_sent(&record.agent.name)))
}

fn try_to_settle(mesh: &Mesh, agent: &Agent, answered: &StoredMessage) -> Result<(), CommandError> {
    if !answered.stem.wants_answer() && !answered.message.needs_ack {
        return Ok(());
    }
    match &answered.place {
        MessageLocation::Sent(_) => Ok(()),
        MessageLocation::Seen(seen) => settle_record(mesh, agent, seen),
        MessageLocation::Inbox | MessageLocation::InHand => {
            read_by_replying(mesh, agent, answered)?;
            let id = answered.message.id.as_str();
            for filed in mesh.archive().find(agent, id)? {
                if let MessageLocation::Seen(seen) = &filed.place {
                    settle_record(mesh, agent, seen)?;
                }
            }
            Ok(())
        }
    }
}

fn settle_record(mesh: &Mesh, agent: &Agent, seen: &SeenRecord) -> Result<(), CommandError> {
    match seen.owes_answer() {
        true => mesh.archive().settle_answer(agent, seen, clock::now())?,
        false => _ = mesh.archive().ack(agent, seen, clock::now())?,
    }
    Ok(())
}

/// Who replies to a message has read it, even if only a hook gave it or `inbox` showed it.
fn read_by_replying(mesh: &Mesh, agent: &Agent, answered: &StoredMessage) -> Result<(), CommandError> {
    let mut offers = mesh.inboxes().offers(agent)?;
    offers.retain(|offered| *offered.stem() == answered.stem);
    mesh.inboxes().confirm_offers(&offers)?;
    let scan = mesh.inboxes().scan(agent)?;
    let mut waiting: Vec<_> = scan.waiting.into_iter().chain(scan.parked).collect();
    waiting.retain(|waiting| waiting.stem == answered.stem);
    mesh.inboxes().take(waiting)?.record(&Via::new("reply"), clock::now(), Acknowledge::Later)?;
    Ok(())
}

/// The answers that the agent owes and was not reminded of yet.
pub(in crate::ops) fn unreminded(mesh: &Mesh, agent: &Agent) -> Result<Vec<StoredMessage>, CommandError> {
    let is_new = |question: &StoredMessage| matches!(&question.place, MessageLocation::Seen(seen) if seen.answer == AnswerMark::None);
    let mut new = mesh.archive().owed_answers(agent)?;
    new.retain(is_new);
    answerable(mesh, agent, new)
}

/// The text that reminds an agent of what it owes, without a word of a peer. It is recorded first: a question is
/// mentioned once, even if nobody hears it. One that cannot be recorded is not mentioned. `None`: there is none left,
/// because another hook mentioned them, or none could be recorded.
pub(in crate::ops) fn remind(
    mesh: &Mesh,
    agent: &Agent,
    questions: &[StoredMessage],
    on_error: impl Fn(&CommandError),
) -> Option<String> {
    let mut due = Vec::new();
    for question in questions {
        let MessageLocation::Seen(seen) = &question.place else { continue };
        match mesh.archive().note_reminder(agent, seen) {
            Ok(true) => due.push(question),
            Ok(false) => {}
            Err(error) => on_error(&error.into()),
        }
    }
    let mut notice = Notice::new().say("[msg] You owe an answer to ");
    for (number, question) in due.iter().take(MOST_NAMED).enumerate() {
        let (from, id) =
            (PeerText::new(question.message.from.as_str()), PeerText::new(question.stem.short_id()));
        notice = if number > 0 { notice.say(", to ") } else { notice };
        notice = notice.names([&from]).say(" (msg reply ").arguments([&id], "ID").say(" TEXT)");
    }
    let notice = match due.len() {
        0 => return None,
        1..=MOST_NAMED => notice,
        all => notice.say(", and to ").number(all - MOST_NAMED).say(" more (msg inbox)"),
    };
    Some(notice.say(".").text().to_string())
}
