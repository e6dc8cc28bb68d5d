//! The format of an event in the feed: one line, in pi-messenger's format.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{surrogates, time};
use crate::domain::{AnyEventKind, Event, MessageKind};

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct EventFile<'a> {
    #[serde(with = "time")]
    ts: Timestamp,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    agent: Cow<'a, str>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    target: Option<Cow<'a, str>>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    preview: Option<Cow<'a, str>>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    message_kind: Option<Cow<'a, str>>,
}

/// The line of an event, with its newline.
#[expect(clippy::expect_used, reason = "these values hold nothing that JSON can't say")]
pub(in crate::store) fn line(event: &Event) -> Vec<u8> {
    let file = EventFile {
        ts: event.at,
        kind: event.what.name().into(),
        agent: event.agent.as_str().into(),
        target: event.target.as_deref().map(Cow::from),
        preview: event.preview.as_deref().map(Cow::from),
        message_kind: event.message_kind.map(|kind| kind.name().into()),
    };
    let mut line = serde_json::to_vec(&file).expect("plain data");
    line.push(b'\n');
    line
}

/// Parses a line, whoever wrote it; `None` if it is not an event.
pub fn parse(line: &[u8]) -> Option<Event> {
    let event = |line: &[u8]| serde_json::from_slice(line).ok().map(event_of);
    event(line).or_else(|| event(&surrogates::with_surrogates_replaced(line)?))
}

fn event_of(file: EventFile<'_>) -> Event {
    Event {
        at: file.ts,
        what: AnyEventKind::named(&file.kind),
        agent: file.agent.into_owned(),
        target: file.target.map(Cow::into_owned),
        preview: file.preview.map(Cow::into_owned),
        message_kind: file.message_kind.and_then(|kind| MessageKind::parse(&kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// pi-messenger cuts previews after a number of UTF-16 units, possibly in the middle of a character.
    #[test]
    fn an_event_with_half_a_character_is_one() {
        let line =
            br#"{"ts":"2026-11-14T23:57:56.070Z","type":"message","agent":"Pia","preview":"done \ud83d"}"#;
        assert_eq!(parse(line).unwrap().preview.as_deref(), Some("done \u{fffd}"));
    }
}
