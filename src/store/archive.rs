//! What was sent and what was seen: history, receipts, and finding a message by what people call it.

use std::path::PathBuf;

use jiff::Timestamp;

use super::error::StoreError;
use super::inbox::MAX_FILE;
use super::mail::{Hidden, Offer, Seen, Sent, Stem, is_prefix};
use super::mesh::Mesh;
use super::wire::message;
use crate::domain::{Agent, AgentName, Message};
use crate::sys::files::{self, FileError};
use crate::sys::seams;

/// A message that was sent or received.
#[derive(Clone, Debug)]
pub struct Filed {
    pub stem: Stem,
    pub message: Message,
    pub place: Place,
}

/// Where it was found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Place {
    /// Waits in the caller's inbox.
    Inbox,
    /// A reader has it: perhaps the one that runs this command for it.
    InHand,
    Seen(Seen),
    Sent(Sent),
}

/// Where a message that was sent is now.
#[derive(Clone, Debug)]
pub enum Whereabouts {
    Stored,
    /// In the hands of a reader.
    InHand,
    /// A hook said it to the model, which has not gone on since.
    Offered(Offer),
    Parked,
    Seen(Seen),
    /// In the grave of that name.
    Grave(String),
    Quarantine,
    /// Nowhere in the mesh.
    Nowhere,
}

impl Mesh {
    /// The agent's messages that `text` may mean: a whole id, the six letters, or the start of either. What it names
    /// in full is meant, whatever else begins like that.
    pub fn find_messages(&self, agent: &Agent, text: &str) -> Result<Vec<Filed>, StoreError> {
        self.find(agent, text, |_| true)
    }

    /// Those of them that the agent sent. One to itself is among them, and in its inbox too.
    pub fn find_sent(&self, agent: &Agent, text: &str) -> Result<Vec<Filed>, StoreError> {
        self.find(agent, text, |place| matches!(place, Place::Sent(_)))
    }

    fn find(
        &self,
        agent: &Agent,
        text: &str,
        is_wanted: impl Fn(&Place) -> bool,
    ) -> Result<Vec<Filed>, StoreError> {
        let mut found: Vec<Filed> = Vec::new();
        for (path, stem, place) in self.files_of(agent, None)? {
            if !is_wanted(&place) {
                continue;
            }
            // The id of a foreign message stands only inside it.
            let by_name = stem.is_meant_by(text);
            let Some(message) = read(&path)? else { continue };
            if by_name || is_prefix(text, message.id.as_str()) {
                found.push(Filed { stem, message, place });
            }
        }
        let is_whole = |filed: &Filed| {
            filed.stem.letters().eq_ignore_ascii_case(text)
                || filed.message.id.as_str().eq_ignore_ascii_case(text)
        };
        if found.iter().any(is_whole) {
            found.retain(is_whole);
        }
        found.sort_by(|a, b| a.stem.cmp(&b.stem));
        found.dedup_by(|a, b| a.stem == b.stem && a.message.id == b.message.id);
        Ok(found)
    }

    /// The agent's conversation, oldest first: all, or that with one peer. At most `limit` messages, the latest.
    pub fn history(
        &self,
        agent: &Agent,
        peer: Option<&AgentName>,
        limit: usize,
    ) -> Result<Vec<Filed>, StoreError> {
        let mut files = self.files_of(agent, None)?;
        files.retain(|(_, _, place)| matches!(place, Place::Seen(_) | Place::Sent(_)));
        files.sort_by(|a, b| b.1.cmp(&a.1));
        let mut history = Vec::new();
        for (path, stem, place) in files {
            if history.len() == limit {
                break;
            }
            // Whom a message was sent to stands in the name of its record.
            let is_anothers = |peer: &AgentName| matches!(&place, Place::Sent(sent) if sent.to != *peer);
            if peer.is_some_and(is_anothers) {
                continue;
            }
            let Some(message) = read(&path)? else { continue };
            let with = |name: &AgentName| {
                let other = if matches!(place, Place::Sent(_)) { &message.to } else { &message.from };
                name.as_str().eq_ignore_ascii_case(other)
            };
            if peer.is_none_or(with) {
                history.push(Filed { stem, message, place });
            }
        }
        history.reverse();
        Ok(history)
    }

    /// With `from`, of what was handed over or sent only what is not older.
    pub(super) fn files_of(
        &self,
        agent: &Agent,
        from: Option<&Stem>,
    ) -> Result<Vec<(PathBuf, Stem, Place)>, FileError> {
        // A record begins with the stem, and goes on with a comma, which comes before all that a stem is made of: so
        // records stand in the order of their stems.
        let from = from.map_or("", Stem::as_str);
        let mut found = Vec::new();
        for name in agent.all_names() {
            let dir = self.layout.inbox(name);
            for file in files::list(&dir)? {
                let (stem, place) = match Hidden::of_file(&file) {
                    Some(Hidden::Parked(stem)) => (Some(stem), Place::Inbox),
                    Some(Hidden::Taken(stem, _)) => (Some(stem), Place::InHand),
                    None => (Stem::of_file(&file), Place::Inbox),
                };
                found.extend(stem.map(|stem| (dir.join(&file), stem, place)));
            }
            let dir = self.layout.seen(name);
            for file in files::list_from(&dir, from)? {
                found.extend(
                    Seen::of_file(&file).map(|seen| (dir.join(&file), seen.stem.clone(), Place::Seen(seen))),
                );
            }
            let dir = self.layout.sent(name);
            for file in files::list_from(&dir, from)? {
                found.extend(
                    Sent::of_file(&file).map(|sent| (dir.join(&file), sent.stem.clone(), Place::Sent(sent))),
                );
            }
        }
        // Whoever had the name before has messages of its own.
        found.retain(|(_, stem, place)| match place {
            Place::Inbox | Place::InHand => true,
            Place::Seen(seen) => seen.at >= agent.joined_at,
            Place::Sent(_) => stem.stamp().is_none_or(|stamp| stamp.timestamp() >= agent.joined_at),
        });
        Ok(found)
    }

    /// Acks a message that was surfaced: one rename. `false`: it was acked already.
    pub fn ack(&self, agent: &Agent, seen: &Seen, at: Timestamp) -> Result<bool, StoreError> {
        if seen.acked.is_some() {
            return Ok(false);
        }
        let acked = Seen { acked: Some(at), ..seen.clone() };
        for name in agent.all_names() {
            let dir = self.layout.seen(name);
            if self.files.take(&dir.join(seen.file()), &dir.join(acked.file()))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Messages that the agent was handed over and still owes an ack.
    pub fn owed_acks(&self, agent: &Agent) -> Result<Vec<Filed>, StoreError> {
        let mut owed = Vec::new();
        for (path, stem, place) in self.files_of(agent, None)? {
            if matches!(&place, Place::Seen(seen) if seen.may_owe_ack())
                && let Some(message) = read(&path)?.filter(|message| message.ack_required)
            {
                owed.push(Filed { stem, message, place });
            }
        }
        owed.sort_by(|a, b| a.stem.cmp(&b.stem));
        Ok(owed)
    }

    /// Keeps what was seen and sent within bounds of age and number. Undelivered mail is elsewhere, and stays.
    pub fn prune(&self, name: &AgentName, oldest: Timestamp, most: usize) -> Result<usize, StoreError> {
        let mut pruned = 0;
        for dir in [self.layout.seen(name), self.layout.sent(name)] {
            let mut names: Vec<(Stem, String)> = files::list(&dir)?
                .into_iter()
                .filter_map(|file| {
                    let seen = Seen::of_file(&file).map(|seen| seen.stem);
                    let stem = seen.or_else(|| Sent::of_file(&file).map(|sent| sent.stem))?;
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
        }
        Ok(pruned)
    }
}

pub(super) fn read(path: &std::path::Path) -> Result<Option<Message>, FileError> {
    seams::count("message");
    Ok(files::read_at_most(path, MAX_FILE)?.flatten().and_then(|bytes| message::parse(&bytes).ok()))
}
