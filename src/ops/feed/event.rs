//! An event as the feed takes it: in one line, and not too long for it.

use crate::domain::{AgentName, Event, EventKind, What};
use crate::sys::clock;

/// The longest preview of a text, in characters.
const PREVIEW: usize = 80;
/// The longest target: what a path may be, nearly.
const TARGET: usize = 1000;

/// What happened just now.
pub(in crate::ops) fn event(
    kind: EventKind,
    agent: &AgentName,
    target: Option<&str>,
    preview: Option<&str>,
) -> Event {
    Event {
        at: clock::now(),
        what: What::Ours(kind),
        agent: agent.to_string(),
        target: target.map(|target| shortened(target, TARGET)),
        preview: preview.map(|preview| shortened(preview, PREVIEW)),
    }
}

fn shortened(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
