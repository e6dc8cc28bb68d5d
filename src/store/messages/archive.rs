//! `seen/` and `sent/`: history, receipts, acks, and finding a message by its short id.

use std::collections::BTreeSet;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};

use super::inbox::MAX_FILE;
use super::message_files::{DotFile, MessageStem, Offer, SeenRecord, SentRecord, is_prefix};
use crate::domain::{Agent, AgentName, Message};
use crate::store::agents::grave_id::GraveId;
use crate::store::error::StoreError;
use crate::store::handles::Archive;
use crate::store::link::remote_delivery::RemoteDelivery;
use crate::store::wire::message;
use crate::sys::files::{self, FileError};
use crate::sys::{clock, test_switches};

/// Messages that were read or sent are kept for this long, and for each agent at most this many of each.
pub const MESSAGES_KEPT: SignedDuration = SignedDuration::from_hours(24 * 30);
pub const MESSAGES_KEPT_AT_MOST: usize = 5_000;

/// A message that was sent or received.
#[derive(Clone, Debug)]
pub struct StoredMessage {
    pub stem: MessageStem,
    pub message: Message,
    pub place: MessageLocation,
}

impl StoredMessage {
    /// Whether `text` refers to it: its six letters, its id, or a prefix of either.
    pub fn is_meant_by(&self, text: &str) -> bool {
        self.stem.is_meant_by(text) || is_prefix(text, self.message.id.as_str())
    }

    /// Whether `text` is its six letters or its whole id.
    pub fn is_called(&self, text: &str) -> bool {
        self.stem.short_id().eq_ignore_ascii_case(text) || self.message.id.as_str().eq_ignore_ascii_case(text)
    }

    /// Whether `text` is its six letters, its whole id, or either of the first message of its thread.
    pub fn is_named(&self, thread: &str, text: &str) -> bool {
        self.stem.is_named(thread, text) || self.message.id.as_str().eq_ignore_ascii_case(text)
    }
}

/// Where the message was found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum MessageLocation {
    /// Unread, in the caller's inbox.
    Inbox,
    /// Taken by a reader, possibly by the one that runs this command.
    InHand,
    Seen(SeenRecord),
    Sent(SentRecord),
}

/// Where a sent message is now.
#[derive(Clone, Debug)]
pub enum SentMessageLocation {
    Stored,
    /// Taken by a reader.
    InHand,
    /// A hook gave it to the model, and nothing shows yet that the model has it.
    Offered(Offer),
    Parked,
    Seen(SeenRecord),
    /// In the grave with this id.
    Grave(String),
    Quarantine,
    /// On its way to another machine.
    Remote(RemoteDelivery),
    /// Nowhere in the mesh.
    Nowhere,
}

impl Archive<'_> {
    /// The agent's messages that `text` may refer to: a whole id, the six letters, or a prefix of either. If `text` is
    /// a whole id or all six letters of some message, only exact matches are returned.
    pub fn find(self, agent: &Agent, text: &str) -> Result<Vec<StoredMessage>, StoreError> {
        self.find_in(agent, text, |_| true)
    }

    /// Like [`Self::find`], but only messages that the agent sent. A message to itself is included; it is in
    /// its inbox too.
    pub fn find_sent(self, agent: &Agent, text: &str) -> Result<Vec<StoredMessage>, StoreError> {
        self.find_in(agent, text, |place| matches!(place, MessageLocation::Sent(_)))
    }

    fn find_in(
        self,
        agent: &Agent,
        text: &str,
        is_wanted: impl Fn(&MessageLocation) -> bool,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let mut found: Vec<StoredMessage> = Vec::new();
        for (path, stem, place) in self.files_of(agent, None)? {
            if !is_wanted(&place) {
                continue;
            }
            // A foreign message has its id only in its content.
            let Some(message) = read(&path)? else { continue };
            let filed = StoredMessage { stem, message, place };
            found.extend(filed.is_meant_by(text).then_some(filed));
        }
        let is_whole = |filed: &StoredMessage| filed.is_called(text);
        if found.iter().any(is_whole) {
            found.retain(is_whole);
        }
        found.sort_by(|a, b| a.stem.cmp(&b.stem));
        found.dedup_by(|a, b| a.stem == b.stem && a.message.id == b.message.id);
        Ok(found)
    }

    /// The agent's conversation, oldest first, with everyone or with one peer. At most `limit` messages, the latest
    /// ones of those that are wanted.
    pub fn history(
        self,
        agent: &Agent,
        peer: Option<&AgentName>,
        limit: usize,
        is_wanted: impl Fn(&StoredMessage) -> bool,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let mut files = self.files_of(agent, None)?;
        files.retain(|(_, _, place)| matches!(place, MessageLocation::Seen(_) | MessageLocation::Sent(_)));
        files.sort_by(|a, b| b.1.cmp(&a.1));
        let mut history = Vec::new();
        for (path, stem, place) in files {
            if history.len() == limit {
                break;
            }
            // The recipient is part of the record's file name.
            let is_anothers =
                |peer: &AgentName| matches!(&place, MessageLocation::Sent(sent) if sent.to != *peer);
            if peer.is_some_and(is_anothers) {
                continue;
            }
            let Some(message) = read(&path)? else { continue };
            let with = |name: &AgentName| {
                let other =
                    if matches!(place, MessageLocation::Sent(_)) { &message.to } else { &message.from };
                name.as_str().eq_ignore_ascii_case(other)
            };
            if peer.is_none_or(with) {
                history.push(StoredMessage { stem, message, place });
                if history.last().is_some_and(|last| !is_wanted(last)) {
                    history.pop();
                }
            }
        }
        history.reverse();
        Ok(history)
    }

    /// The unread mail that waits in a grave, oldest first.
    pub fn unread_in_grave(self, grave: &GraveId) -> Result<Vec<StoredMessage>, StoreError> {
        let dir = self.mesh.layout.grave(grave).join("inbox");
        let mut unread = Vec::new();
        for file in files::list(&dir)? {
            let Some(stem) = MessageStem::of_file(&file) else { continue };
            let message = read(&dir.join(&file))?;
            unread.extend(message.map(|message| StoredMessage {
                stem,
                message,
                place: MessageLocation::Inbox,
            }));
        }
        unread.sort_by(|a, b| a.stem.cmp(&b.stem));
        Ok(unread)
    }

    /// The agent's message files. With `from`, records in `seen/` and `sent/` that are older are left out.
    pub(in crate::store) fn files_of(
        self,
        agent: &Agent,
        from: Option<&MessageStem>,
    ) -> Result<Vec<(PathBuf, MessageStem, MessageLocation)>, FileError> {
        // A record's file name is the stem followed by a comma, which sorts before every character of a stem. So
        // records sort by their stems.
        let from = from.map_or("", MessageStem::as_str);
        let mut found = Vec::new();
        for name in agent.all_names() {
            let dir = self.mesh.layout.inbox(name);
            for file in files::list(&dir)? {
                let (stem, place) = match DotFile::of_file(&file) {
                    Some(DotFile::Parked(stem)) => (Some(stem), MessageLocation::Inbox),
                    Some(DotFile::Taken(stem, _)) => (Some(stem), MessageLocation::InHand),
                    None => (MessageStem::of_file(&file), MessageLocation::Inbox),
                };
                found.extend(stem.map(|stem| (dir.join(&file), stem, place)));
            }
            let dir = self.mesh.layout.seen(name);
            for file in files::list_from(&dir, from)? {
                found.extend(
                    SeenRecord::of_file(&file)
                        .map(|seen| (dir.join(&file), seen.stem.clone(), MessageLocation::Seen(seen))),
                );
            }
            let dir = self.mesh.layout.sent(name);
            for file in files::list_from(&dir, from)? {
                found.extend(
                    SentRecord::of_file(&file)
                        .map(|sent| (dir.join(&file), sent.stem.clone(), MessageLocation::Sent(sent))),
                );
            }
        }
        // Leave out messages of an earlier agent with the same name, and those that were not handed over in time.
        let now = clock::now();
        found.retain(|(_, stem, place)| match place {
            MessageLocation::Inbox => !stem.is_expired(now),
            MessageLocation::InHand => true,
            MessageLocation::Seen(seen) if seen.is_expired() => false,
            MessageLocation::Seen(seen) => seen.at >= agent.joined_at,
            MessageLocation::Sent(_) => stem.stamp().is_none_or(|stamp| stamp.timestamp() >= agent.joined_at),
        });
        Ok(found)
    }

    /// Acks a surfaced message, by one rename. `false`: it was acked already.
    pub fn ack(self, agent: &Agent, seen: &SeenRecord, at: Timestamp) -> Result<bool, StoreError> {
        if seen.acked.is_some() {
            return Ok(false);
        }
        let acked = SeenRecord { acked: Some(at), ..seen.clone() };
        self.replace_record(agent, seen, &acked)
    }

    /// `false`: somebody else has changed the record.
    pub(in crate::store) fn replace_record(
        self,
        agent: &Agent,
        old: &SeenRecord,
        new: &SeenRecord,
    ) -> Result<bool, StoreError> {
        for name in agent.all_names() {
            let dir = self.mesh.layout.seen(name);
            if self.mesh.files.take(&dir.join(old.file()), &dir.join(new.file()))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Messages that the agent received and has not acked although their senders asked for it.
    pub fn owed_acks(self, agent: &Agent) -> Result<Vec<StoredMessage>, StoreError> {
        let mut owed = Vec::new();
        for (path, stem, place) in self.files_of(agent, None)? {
            if matches!(&place, MessageLocation::Seen(seen) if seen.may_owe_ack())
                && let Some(message) = read(&path)?.filter(|message| message.needs_ack)
            {
                owed.push(StoredMessage { stem, message, place });
            }
        }
        owed.sort_by(|a, b| a.stem.cmp(&b.stem));
        Ok(owed)
    }

    /// Limits `seen/` and `sent/` in age and number. Undelivered mail is in other directories and is not touched.
    pub fn prune(self, name: &AgentName, oldest: Timestamp, most: usize) -> Result<usize, StoreError> {
        let layout = &self.mesh.layout;
        let mut all = 0;
        for (of, dir) in [("seen", layout.seen(name)), ("sent", layout.sent(name))] {
            let mut pruned = 0;
            let mut names: Vec<(MessageStem, String)> = files::list(&dir)?
                .into_iter()
                .filter_map(|file| {
                    let seen = SeenRecord::of_file(&file).map(|seen| seen.stem);
                    let stem = seen.or_else(|| SentRecord::of_file(&file).map(|sent| sent.stem))?;
                    Some((stem, file))
                })
                .collect();
            names.sort();
            let excess = names.len().saturating_sub(most);
            for (place, (stem, file)) in names.iter().enumerate() {
                let is_old = stem.stamp().is_some_and(|stamp| stamp.timestamp() < oldest);
                if place < excess || is_old {
                    pruned += usize::from(files::remove(&dir.join(file))?);
                }
            }
            if pruned > 0 {
                // The search must not keep the words of what is gone.
                files::remove(&layout.mail_texts(of, name))?;
            }
            all += pruned;
        }
        Ok(all)
    }

    /// The same for everybody, also for those who never read and those who are gone.
    pub fn prune_all(self, oldest: Timestamp, most: usize) -> Result<usize, StoreError> {
        let mut names = BTreeSet::new();
        for dir in ["seen", "sent"] {
            names.extend(files::list(&self.mesh.layout.directory(dir))?);
        }
        names
            .iter()
            .filter_map(|name| AgentName::new(name).ok())
            .try_fold(0, |pruned, name| Ok(pruned + self.prune(&name, oldest, most)?))
    }
}

pub(in crate::store) fn read(path: &std::path::Path) -> Result<Option<Message>, FileError> {
    test_switches::count("message");
    Ok(files::read_at_most(path, MAX_FILE)?.content().and_then(|bytes| message::parse(&bytes).ok()))
}
