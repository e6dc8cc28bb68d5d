//! What others may want to know happened.

use crate::domain::settings::Value;
use crate::domain::{AgentName, EventKind};
use crate::store::{Event, Mesh};
use crate::sys::clock;

use super::context::Context;

/// The longest preview of a text, in characters.
const PREVIEW: usize = 80;

/// Writes an event into the timeline. What can't be written there undoes nothing.
pub(super) fn tell(
    ctx: &Context,
    mesh: &Mesh,
    kind: EventKind,
    agent: &AgentName,
    target: Option<&str>,
    preview: Option<&str>,
) {
    let event = Event {
        ts: clock::now(),
        kind,
        agent: agent.to_string(),
        target: target.map(str::to_string),
        preview: preview.map(shortened),
    };
    if let Err(error) = mesh.append_event(&event) {
        ctx.notice(format!("the feed could not be written: {error}"));
    }
}

/// The text of a direct message, where the settings let others see it.
pub(super) fn preview<'a>(ctx: &Context, text: &'a str, broadcast: bool) -> Option<&'a str> {
    let open = matches!(ctx.settings.get("feedPrivacy"), Ok((Value::Text(privacy), _)) if privacy == "text");
    (open || broadcast).then_some(text)
}

fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(PREVIEW) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
