//! `msg history`: an agent's conversations, and the threads in them.

use std::collections::HashMap;

use jiff::Timestamp;

use crate::domain::text_search::{TextMatch, TextQuery, TextScan, searchable};
use crate::domain::{Agent, AgentName, Message, MessageId, MessageStamp};
use crate::ops::agents::{identity, names};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::store::{Mesh, MessageLocation, StoredMessage};

use super::answers::{self, AnswerState};

/// A message of a conversation.
#[derive(Clone, Debug)]
pub struct HistoryEntry {
    pub filed: StoredMessage,
    /// What became of the answer that it wants.
    pub answer: Option<AnswerState>,
}

/// Which messages are wanted; all by default.
#[derive(Clone, Debug, Default)]
pub struct HistoryFilter {
    /// Those with this agent.
    pub peer: Option<AgentName>,
    /// Those of this thread: its name, or one of its messages.
    pub thread: Option<String>,
    pub since: Option<Timestamp>,
    /// Those that have all these words.
    pub words: Option<String>,
}

/// The messages of one thread.
#[derive(Clone, Debug)]
pub struct ThreadSummary {
    /// What to type for it: its name, or the letters of its first message.
    pub id: String,
    /// Its name, or how its first message begins.
    pub subject: String,
    /// The agents that wrote in it or were written to, in the order of appearance.
    pub who: Vec<String>,
    pub messages: usize,
    pub last: Timestamp,
}

/// The thread of a message. An answer has the id of what it answers if that has no thread.
pub(in crate::ops) fn thread_of(message: &Message) -> &str {
    message.thread.as_deref().unwrap_or(message.id.as_str())
}

pub fn history(op: &Op, filter: &HistoryFilter, limit: usize) -> Result<Vec<HistoryEntry>, CommandError> {
    let (mesh, caller) = identity::caller(op)?;
    let query = filter.words.as_deref().map(parse_words).transpose()?;
    let thread = filter.thread.as_deref().map(|text| find_thread(&mesh, &caller.agent, text)).transpose()?;
    let is_wanted = |filed: &StoredMessage| {
        let message = &filed.message;
        filter.since.is_none_or(|since| message.timestamp >= since)
            && thread.as_deref().is_none_or(|thread| thread_of(message).eq_ignore_ascii_case(thread))
            && query.as_ref().is_none_or(|query| has_all(query, &message.text))
    };
    let history = mesh.archive().history(&caller.agent, filter.peer.as_ref(), limit, is_wanted)?;
    if let Some(peer) = filter.peer.as_ref().filter(|_| history.is_empty()) {
        names::must_be_known(&mesh, peer)?;
    }
    let states = answers::states(&mesh, &caller.agent, &history)?;
    Ok(history.into_iter().zip(states).map(|(filed, answer)| HistoryEntry { filed, answer }).collect())
}

/// The threads of the caller's messages, the latest last: those that have a name or more than one message. At most `limit`
/// of them, the latest ones.
pub fn threads(op: &Op, filter: &HistoryFilter, limit: usize) -> Result<Vec<ThreadSummary>, CommandError> {
    let (mesh, caller) = identity::caller(op)?;
    let all = mesh.archive().history(&caller.agent, filter.peer.as_ref(), usize::MAX, |_| true)?;
    if let Some(peer) = filter.peer.as_ref().filter(|_| all.is_empty()) {
        names::must_be_known(&mesh, peer)?;
    }
    let mut threads: Vec<ThreadSummary> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for StoredMessage { message, .. } in &all {
        let key = thread_of(message).to_ascii_lowercase();
        let place = *places.entry(key).or_insert_with(|| {
            threads.push(begun(message));
            threads.len() - 1
        });
        let thread = &mut threads[place];
        thread.messages += 1;
        thread.last = thread.last.max(message.timestamp);
        for name in [&message.from, &message.to] {
            if !thread.who.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                thread.who.push(name.clone());
            }
        }
    }
    let is_named = |thread: &ThreadSummary| thread.id == thread.subject;
    threads.retain(|thread| thread.messages > 1 || is_named(thread));
    threads.retain(|thread| filter.since.is_none_or(|since| thread.last >= since));
    threads.sort_by_key(|thread| thread.last);
    threads.drain(..threads.len().saturating_sub(limit));
    Ok(threads)
}

/// The thread that begins with this message, as far as it is kept.
fn begun(message: &Message) -> ThreadSummary {
    let name = message.thread.as_deref().filter(|thread| uuid::Uuid::try_parse(thread).is_err());
    let first = MessageId::new(thread_of(message)).ok().and_then(|id| MessageStamp::of_id(&id));
    let id = match (name, first) {
        (Some(name), _) => name.to_string(),
        (None, Some(stamp)) => stamp.short_id(),
        (None, None) => thread_of(message).to_string(),
    };
    let subject = name.map_or_else(|| message.text.clone(), str::to_string);
    ThreadSummary { id, subject, who: Vec::new(), messages: 0, last: message.timestamp }
}

/// The thread that `text` refers to: by its name, or by the letters or the id of one of its messages.
fn find_thread(mesh: &Mesh, agent: &Agent, text: &str) -> Result<String, CommandError> {
    let mut found: Option<String> = None;
    for filed in mesh.archive().history(agent, None, usize::MAX, |_| true)? {
        if thread_of(&filed.message).eq_ignore_ascii_case(text) {
            return Ok(text.to_string());
        }
        let thread = thread_of(&filed.message);
        if found.is_none() && filed.is_named(thread, text) {
            found = Some(thread.to_string());
        }
    }
    let is_unread =
        |filed: &StoredMessage| !matches!(filed.place, MessageLocation::Seen(_) | MessageLocation::Sent(_));
    match found {
        Some(thread) => Ok(thread),
        None if mesh.archive().find(agent, text)?.iter().any(is_unread) => {
            let text = text.escape_debug();
            let message = format!("message `{text}` is unread, and `msg history` shows what was read");
            Err(CommandError::new(CommandErrorKind::UnknownMessage, message)
                .hint("`msg read` takes what is unread")
                .hint(format!("`msg show {text}` shows it and leaves it unread")))
        }
        None => Err(unknown_thread(text)),
    }
}

pub(in crate::ops) fn unknown_thread(text: &str) -> CommandError {
    let message = format!("there is no thread `{}` among these messages", text.escape_debug());
    CommandError::new(CommandErrorKind::UnknownMessage, message)
        .hint("give the name of a thread, or the six letters of one of its messages; `msg history --threads` lists them")
}

/// What to look for.
pub(in crate::ops) fn parse_words(words: &str) -> Result<TextQuery, CommandError> {
    TextQuery::parse(words).ok_or_else(|| {
        let text = format!("there is no word in `{}`", words.escape_debug());
        CommandError::new(CommandErrorKind::InvalidValue, text).hint("give one or more words to look for")
    })
}

fn has_all(query: &TextQuery, text: &str) -> bool {
    let mut scan = TextScan::new(query);
    scan.add(&searchable(text), &[0]);
    scan.finish().iter().any(|found: &TextMatch| found.has_all)
}
