//! The format of an event in the feed: one line, in pi-messenger's format.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{surrogates, time};
use crate::domain::link::MachineName;
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
    /// The machine that it happened on, if that is not this one.
    #[serde(default, deserialize_with = "if_it_fits", skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    #[serde(default, deserialize_with = "if_it_fits", skip_serializing_if = "Option::is_none")]
    shared_entry: Option<EntryMark>,
}

/// Reads a key that other programs may use for something else: what does not fit counts as absent.
fn if_it_fits<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Option<T>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(from)?).ok())
}

/// Which entry of the shared feed an event of another machine is from, and its number in it. So none is stored twice.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub(in crate::store) struct EntryMark {
    pub(in crate::store) sequence: u64,
    pub(in crate::store) number: usize,
}

/// The line of an event, with its newline.
pub(in crate::store) fn line(event: &Event) -> Vec<u8> {
    line_with(event, None)
}

/// The line of an event that came from another machine.
pub(in crate::store) fn marked_line(event: &Event, mark: EntryMark) -> Vec<u8> {
    line_with(event, Some(mark))
}

#[expect(clippy::expect_used, reason = "these values hold nothing that JSON can't say")]
fn line_with(event: &Event, mark: Option<EntryMark>) -> Vec<u8> {
    let file = EventFile {
        ts: event.at,
        kind: event.what.name().into(),
        agent: event.agent.as_str().into(),
        target: event.target.as_deref().map(Cow::from),
        preview: event.preview.as_deref().map(Cow::from),
        message_kind: event.message_kind.map(|kind| kind.name().into()),
        machine: event.machine.as_ref().map(|machine| machine.to_string()),
        shared_entry: mark,
    };
    let mut line = serde_json::to_vec(&file).expect("plain data");
    line.push(b'\n');
    line
}

/// Parses a line, whoever wrote it; `None` if it is not an event.
pub fn parse(line: &[u8]) -> Option<Event> {
    let event = |line: &[u8]| event_of(serde_json::from_slice(line).ok()?);
    event(line).or_else(|| event(&surrogates::with_surrogates_replaced(line)?))
}

/// The mark of a line, if it has one.
pub(in crate::store) fn mark(line: &[u8]) -> Option<EntryMark> {
    serde_json::from_slice::<EventFile<'_>>(line).ok()?.shared_entry
}

fn event_of(file: EventFile<'_>) -> Option<Event> {
    Some(Event {
        at: file.ts,
        what: AnyEventKind::named(&file.kind),
        agent: file.agent.into_owned(),
        target: file.target.map(Cow::into_owned),
        preview: file.preview.map(Cow::into_owned),
        message_kind: file.message_kind.and_then(|kind| MessageKind::parse(&kind)),
        machine: file.machine.and_then(|name| MachineName::new(name).ok()),
    })
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
