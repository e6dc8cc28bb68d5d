//! Makes an event for the feed: one line of limited length.

use crate::domain::{AgentName, AnyEventKind, Event, EventKind};
use crate::sys::clock;

/// The longest preview of a text, in characters.
const PREVIEW: usize = 80;
/// The longest target, in characters: nearly the longest path.
const TARGET: usize = 1000;

/// The event that happened just now.
pub(in crate::ops) fn event(
    kind: EventKind,
    agent: &AgentName,
    target: Option<&str>,
    preview: Option<&str>,
) -> Event {
    event_of(kind, agent.as_str(), target, preview)
}

/// The same for somebody who may have no name of an agent, such as a person who has not joined.
pub(in crate::ops) fn event_of(
    kind: EventKind,
    who: &str,
    target: Option<&str>,
    preview: Option<&str>,
) -> Event {
    Event {
        at: clock::now(),
        what: AnyEventKind::Ours(kind),
        agent: who.to_string(),
        target: target.map(|target| shortened(target, TARGET)),
        preview: preview.map(|preview| shortened(preview, PREVIEW)),
        message_kind: None,
        machine: None,
    }
}

/// The text as an event's preview has it, to compare it with one.
pub(in crate::ops) fn shortened_preview(text: &str) -> String {
    shortened(text, PREVIEW)
}

fn shortened(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
