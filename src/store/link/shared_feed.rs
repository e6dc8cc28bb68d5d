//! `remote/feed-sent.json`, `remote/feed-received.json` and `remote/feed/`: how far the feed of this machine was sent to
//! the others, how far theirs was received, and what they said.
//!
//! A process may be killed at any moment, and sends and stores nothing twice. Before an entry is sent, it is noted how
//! many lines it has; so the next process sends the same entry again, under the same id, which the server recognises. A
//! line that is stored says which entry it is from; so the next process knows which are missing.

use jiff::Timestamp;

use crate::domain::link::MachineName;
use crate::domain::{AnyEventKind, Event, EventKind};
use crate::store::error::StoreError;
use crate::store::handles::RemoteRecords;
use crate::store::wire::event::{self, EntryMark};
use crate::store::wire::link_feed::{self, ReceivedKeys, SentKeys};
use crate::sys::{files, random};

/// The largest file that says how far one is.
const MAX_FILE: u64 = 1024 * 1024;
/// The most lines in an entry.
const MOST: usize = 50;
/// Who says that something is missing.
const FEED: &str = "feed";

/// Events of this machine that the others don't have yet.
#[derive(Clone, Debug)]
pub struct FeedBatch {
    pub run: String,
    pub number: u64,
    pub missed: u64,
    pub events: Vec<Event>,
    /// How far the feed was sent once it is stored.
    after: SentKeys,
}

impl FeedBatch {
    /// By this the server recognises it.
    pub fn id(&self) -> String {
        format!("feed-{}-{}", self.run, self.number)
    }
}

/// What of the shared feed this machine has.
#[derive(Clone, Debug, Default)]
pub struct ReceivedFeed {
    keys: ReceivedKeys,
    /// The last event that was stored.
    mark: Option<EntryMark>,
}

impl ReceivedFeed {
    /// The number of the last entry that was read; `None` if nothing was ever.
    pub fn sequence(&self) -> Option<u64> {
        // The entry of the last line may not be stored in full.
        let stored = self.mark.map_or(0, |mark| mark.sequence.saturating_sub(1));
        Some(self.keys.sequence.max(stored)).filter(|sequence| *sequence > 0)
    }
}

/// An entry that the server gave.
#[derive(Clone, Debug)]
pub struct ReceivedEntry {
    pub machine: MachineName,
    pub sequence: u64,
    pub run: String,
    pub number: u64,
    pub missed: u64,
    /// By the clock of this machine.
    pub events: Vec<Event>,
}

impl RemoteRecords<'_> {
    /// From now on, what happens here is for the others, too. What happened before stays here.
    pub fn begin_feed(self) -> Result<(), StoreError> {
        if self.sent()?.is_some() {
            return Ok(());
        }
        let feed = self.mesh.feed();
        let run = random::uuid().simple().to_string();
        let keys = SentKeys::new(run, feed.end()?, feed.count()?);
        self.set_sent(&keys)
    }

    /// The next events for the others; `None` if they have all. It is noted that they may be on the server from now on.
    pub fn next_feed_batch(self) -> Result<Option<FeedBatch>, StoreError> {
        let Some(mut keys) = self.sent()? else {
            self.begin_feed()?;
            return Ok(None);
        };
        let feed = self.mesh.feed();
        if feed.is_past(&keys.position)? {
            // Whether a pending entry has arrived will not be known any more.
            keys.number += u64::from(keys.pending.take().is_some());
            keys.missed += feed.removed()?.saturating_sub(keys.lines);
            keys.lines = feed.removed()?;
        }
        let mut position = keys.position.clone();
        let (read, lines) = feed.since_at_most(&mut position, keys.pending.unwrap_or(MOST))?;
        if lines == 0 {
            return Ok(None);
        }
        keys.pending = Some(lines);
        self.set_sent(&keys)?;
        let after = SentKeys {
            number: keys.number + 1,
            position,
            lines: keys.lines + lines as u64,
            pending: None,
            missed: 0,
            ..keys.clone()
        };
        let SentKeys { run, number, missed, .. } = keys;
        Ok(Some(FeedBatch { run, number, missed, events: read.events, after }))
    }

    /// The server has these events.
    pub fn note_feed_batch(self, batch: &FeedBatch) -> Result<(), StoreError> {
        self.set_sent(&batch.after)
    }

    /// The server does not take these events. The next entry tells that they are missing.
    pub fn give_up_feed_batch(self, batch: &FeedBatch) -> Result<(), StoreError> {
        let missed = batch.missed + batch.events.len() as u64;
        self.set_sent(&SentKeys { missed, ..batch.after.clone() })
    }

    /// What of the shared feed is here.
    pub fn received_feed(self) -> Result<ReceivedFeed, StoreError> {
        let path = self.mesh.layout.remote("feed-received.json");
        let bytes = files::read_at_most(&path, MAX_FILE)?.content();
        let keys = bytes.as_deref().and_then(link_feed::parse_received).unwrap_or_default();
        // A process that was killed may have stored more than it noted.
        Ok(ReceivedFeed { keys, mark: self.feed().last_mark()? })
    }

    /// Stores what other machines said, each event once, and notes how far this machine is. `removed` says how many entries
    /// before these are missing. `keep` is how many events stay.
    pub fn store_feed(
        self,
        received: &mut ReceivedFeed,
        entries: &[ReceivedEntry],
        removed: u64,
        up_to: u64,
        keep: u64,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut lines = Vec::new();
        if removed > 0 {
            let text = format!("{removed} entries of other machines were removed before they came here");
            lines.push(event::line(&gap(None, text, now)));
        }
        for entry in entries {
            if received.knows(entry) {
                continue;
            }
            let mut events = Vec::with_capacity(entry.events.len() + 1);
            if entry.missed > 0 {
                let at = entry.events.first().map_or(now, |event| event.at);
                let text = format!("{} events were removed before they were sent", entry.missed);
                events.push(gap(Some(&entry.machine), text, at));
            }
            events.extend(entry.events.iter().cloned());
            for (number, event) in events.iter().enumerate() {
                let mark = EntryMark { sequence: entry.sequence, number };
                if received.mark.is_none_or(|last| mark > last) {
                    lines.push(event::marked_line(event, mark));
                    received.mark = Some(mark);
                }
            }
            received.keys.machines.insert(entry.machine.to_string(), (entry.run.clone(), entry.number));
        }
        self.feed().append_lines(&lines, keep)?;
        received.keys.sequence = up_to;
        let path = self.mesh.layout.remote("feed-received.json");
        Ok(self.mesh.files.replace(&path, &link_feed::received_bytes(&received.keys))?)
    }

    /// The stream on the server was made anew: its numbers begin again.
    pub fn restart_received_feed(self, received: &mut ReceivedFeed) {
        received.keys.sequence = 0;
        received.mark = None;
    }

    /// Forgets what others said, and how far this machine is.
    pub(super) fn forget_feed(self) -> Result<(), StoreError> {
        files::remove_tree(&self.mesh.layout.remote("feed"))?;
        for file in ["feed-sent.json", "feed-received.json"] {
            files::remove(&self.mesh.layout.remote(file))?;
        }
        Ok(())
    }

    /// Makes the directory, so that it can be watched.
    pub fn make_feed(self) -> Result<(), StoreError> {
        let dir = self.mesh.layout.remote("feed");
        if !files::exists(&dir)? {
            files::create_dir(&dir)?;
        }
        Ok(())
    }

    fn sent(self) -> Result<Option<SentKeys>, StoreError> {
        let bytes = files::read_at_most(&self.mesh.layout.remote("feed-sent.json"), MAX_FILE)?.content();
        Ok(bytes.as_deref().and_then(link_feed::parse_sent))
    }

    fn set_sent(self, keys: &SentKeys) -> Result<(), StoreError> {
        let dir = self.mesh.layout.directory("remote");
        if !files::exists(&dir)? {
            files::create_dir(&dir)?;
        }
        let path = self.mesh.layout.remote("feed-sent.json");
        Ok(self.mesh.files.replace(&path, &link_feed::sent_bytes(keys))?)
    }
}

impl ReceivedFeed {
    /// Whether all of that entry is here: the server may have it twice if its machine was away for long.
    fn knows(&self, entry: &ReceivedEntry) -> bool {
        let last = self.keys.machines.get(entry.machine.as_str());
        last.is_some_and(|(run, number)| *run == entry.run && *number >= entry.number)
    }
}

/// The event that says that others are missing.
fn gap(machine: Option<&MachineName>, text: String, at: Timestamp) -> Event {
    Event {
        at,
        what: AnyEventKind::Ours(EventKind::Gap),
        agent: FEED.to_string(),
        target: None,
        preview: Some(text),
        message_kind: None,
        machine: machine.cloned(),
    }
}
