//! The feed between machines: entries of the server's stream, each with several events, and two files that say how far
//! this machine is: `remote/feed-sent.json` and `remote/feed-received.json`.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{pretty, time};
use crate::domain::link::MachineName;
use crate::domain::{AnyEventKind, Event, MessageKind};
use crate::store::error::ParseError;
use crate::store::feed::FeedPosition;

const VERSION: u32 = 1;
/// The most events of an entry that are read.
const MAX_EVENTS: usize = 1_000;
/// The longest parts of an event, in characters.
const MAX_KIND: usize = 40;
const MAX_AGENT: usize = 64;
const MAX_TARGET: usize = 300;
const MAX_PREVIEW: usize = 120;

/// An entry of the shared feed: what happened on one machine.
#[derive(Clone, Debug)]
pub struct SharedFeedEntry {
    /// One run of entries of a machine, and the number of this one in it.
    pub run: String,
    pub number: u64,
    /// When it was sent, by the clock of its machine.
    pub sent_at: Timestamp,
    /// How many events before these were removed before they could be sent.
    pub missed: u64,
    pub events: Vec<Event>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct EntryKeys {
    version: u32,
    run: String,
    number: u64,
    #[serde(with = "time")]
    sent_at: Timestamp,
    #[serde(default, skip_serializing_if = "is_zero")]
    missed: u64,
    events: Vec<EventKeys>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct EventKeys {
    #[serde(with = "time")]
    ts: Timestamp,
    #[serde(rename = "type")]
    kind: String,
    agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preview: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message_kind: Option<String>,
}

impl SharedFeedEntry {
    #[expect(clippy::expect_used, reason = "these values hold nothing that JSON can't say")]
    pub fn bytes(&self) -> Vec<u8> {
        let event = |event: &Event| EventKeys {
            ts: event.at,
            kind: bounded(event.what.name(), MAX_KIND),
            agent: bounded(&event.agent, MAX_AGENT),
            target: event.target.as_deref().map(|target| bounded(target, MAX_TARGET)),
            preview: event.preview.as_deref().map(|preview| bounded(preview, MAX_PREVIEW)),
            message_kind: event.message_kind.map(|kind| kind.name().to_string()),
        };
        let keys = EntryKeys {
            version: VERSION,
            run: self.run.clone(),
            number: self.number,
            sent_at: self.sent_at,
            missed: self.missed,
            events: self.events.iter().map(event).collect(),
        };
        serde_json::to_vec(&keys).expect("plain data")
    }

    /// Reads an entry, which another machine may have made up.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let keys: EntryKeys = serde_json::from_slice(bytes).map_err(ParseError::new)?;
        if keys.version != VERSION {
            return Err(ParseError::new(format!(
                "it is of version {}, which this msg does not know",
                keys.version
            )));
        }
        if keys.events.len() > MAX_EVENTS {
            return Err(ParseError::new(format!("it has more than {MAX_EVENTS} events")));
        }
        let event = |keys: EventKeys| Event {
            at: keys.ts,
            what: AnyEventKind::named(&bounded(&keys.kind, MAX_KIND)),
            agent: bounded(&keys.agent, MAX_AGENT),
            target: keys.target.map(|target| bounded(&target, MAX_TARGET)),
            preview: keys.preview.map(|preview| bounded(&preview, MAX_PREVIEW)),
            message_kind: keys.message_kind.and_then(|kind| MessageKind::parse(&kind)),
            machine: None,
        };
        Ok(Self {
            run: keys.run.chars().take(64).collect(),
            number: keys.number,
            sent_at: keys.sent_at,
            missed: keys.missed,
            events: keys.events.into_iter().map(event).collect(),
        })
    }

    /// The events by the clock of this machine, which nothing is later than. `stored_at` is when the server had the entry,
    /// by the server's clock, and `ahead` how far that is ahead of the clock here.
    pub fn events_here(
        &self,
        machine: &MachineName,
        stored_at: Timestamp,
        ahead: SignedDuration,
        now: Timestamp,
    ) -> Vec<Event> {
        // An entry is stored a moment after it was sent: whatever is between is the difference of the clocks.
        let correction = stored_at.duration_since(self.sent_at).saturating_sub(ahead);
        let here = |at: Timestamp| at.saturating_add(correction).map_or(now, |at| at.min(now));
        let event =
            |event: &Event| Event { at: here(event.at), machine: Some(machine.clone()), ..event.clone() };
        self.events.iter().map(event).collect()
    }
}

/// On one line, of limited length.
fn bounded(text: &str, most: usize) -> String {
    let start: String = text.chars().take(8 * most).collect();
    let line = start.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// How far the feed of this machine was sent.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::store) struct SentKeys {
    pub(in crate::store) version: u32,
    /// A random word for this run of entries.
    pub(in crate::store) run: String,
    /// The number of the next entry.
    pub(in crate::store) number: u64,
    pub(in crate::store) position: FeedPosition,
    /// The number of lines of the feed before that position.
    pub(in crate::store) lines: u64,
    /// The next entry may be on the server already: it has the events of as many lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::store) pending: Option<usize>,
    /// Events that were removed before they could be sent, and of which no entry has told yet.
    #[serde(default)]
    pub(in crate::store) missed: u64,
}

/// How far this machine has the feed of others.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::store) struct ReceivedKeys {
    pub(in crate::store) version: u32,
    /// The number of the last entry on the server that was read.
    pub(in crate::store) sequence: u64,
    /// The last entry of each machine: its run and its number.
    #[serde(default)]
    pub(in crate::store) machines: BTreeMap<String, (String, u64)>,
}

pub(in crate::store) fn sent_bytes(keys: &SentKeys) -> Vec<u8> {
    pretty(keys)
}

/// `None`: it can't be read, or a later version wrote it.
pub(in crate::store) fn parse_sent(bytes: &[u8]) -> Option<SentKeys> {
    serde_json::from_slice::<SentKeys>(bytes).ok().filter(|keys| keys.version == VERSION)
}

pub(in crate::store) fn received_bytes(keys: &ReceivedKeys) -> Vec<u8> {
    pretty(&ReceivedKeys { version: VERSION, ..keys.clone() })
}

pub(in crate::store) fn parse_received(bytes: &[u8]) -> Option<ReceivedKeys> {
    serde_json::from_slice::<ReceivedKeys>(bytes).ok().filter(|keys| keys.version == VERSION)
}

impl SentKeys {
    pub(in crate::store) fn new(run: String, position: FeedPosition, lines: u64) -> Self {
        Self { version: VERSION, run, number: 0, position, lines, pending: None, missed: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::EventKind;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn entry() -> SharedFeedEntry {
        let event = Event {
            at: at("2026-11-14T12:00:00Z"),
            what: AnyEventKind::Ours(EventKind::Reserve),
            agent: "Anna".to_string(),
            target: Some("src/".to_string()),
            preview: Some("new login".to_string()),
            message_kind: None,
            machine: None,
        };
        let sent_at = at("2026-11-14T12:00:05Z");
        SharedFeedEntry { run: "r1".to_string(), number: 7, sent_at, missed: 2, events: vec![event] }
    }

    #[test]
    fn an_entry_reads_back() {
        let read = SharedFeedEntry::parse(&entry().bytes()).unwrap();
        assert_eq!((read.run.as_str(), read.number, read.missed), ("r1", 7, 2));
        assert_eq!(read.events, entry().events);
        assert!(SharedFeedEntry::parse(b"{\"version\":2}").is_err());
    }

    #[test]
    fn times_are_those_of_this_machine() {
        let laptop = MachineName::new("laptop").unwrap();
        // The laptop is an hour behind the server, which is 10 s ahead of here.
        let (stored, ahead) = (at("2026-11-14T13:00:05Z"), SignedDuration::from_secs(10));
        let here = |now: &str| entry().events_here(&laptop, stored, ahead, at(now)).remove(0);
        let event = here("2026-11-14T13:30:00Z");
        assert_eq!((event.at, event.machine), (at("2026-11-14T12:59:50Z"), Some(laptop.clone())));
        assert_eq!(here("2026-11-14T12:00:00Z").at, at("2026-11-14T12:00:00Z"), "nothing is in the future");
        let odd = SharedFeedEntry { sent_at: Timestamp::MIN, ..entry() };
        assert_eq!(odd.events_here(&laptop, Timestamp::MAX, ahead, stored)[0].at, stored);
    }

    #[test]
    fn what_others_say_is_bounded() {
        let mut odd = entry();
        odd.events[0].agent = format!("a\n{}", "x".repeat(1_000));
        odd.events[0].target = Some("y".repeat(10_000));
        let read = SharedFeedEntry::parse(&odd.bytes()).unwrap();
        assert!(
            read.events[0].agent.chars().count() <= MAX_AGENT + 1 && !read.events[0].agent.contains('\n')
        );
        assert!(read.events[0].target.as_ref().unwrap().chars().count() <= MAX_TARGET + 1);
        odd.events = vec![odd.events[0].clone(); MAX_EVENTS + 1];
        assert!(SharedFeedEntry::parse(&odd.bytes()).is_err());
    }
}
