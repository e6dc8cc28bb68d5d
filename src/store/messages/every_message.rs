//! Every message in the mesh, whoever sent it and whoever it is for: for a page that a person makes of everything.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::archive;
use super::message_files::{DotFile, MessageStem, SeenRecord, SentRecord};
use crate::domain::{AgentName, Message};
use crate::store::agents::grave_id::GraveId;
use crate::store::error::StoreError;
use crate::store::handles::Archive;
use crate::sys::files;

/// How far a message has come.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum MessageProgress {
    /// Its sender has a record of it, and its recipient has none any more.
    Sent,
    Unread,
    Read,
    Acked,
    /// It was not handed over in time.
    Expired,
}

/// A message, and what file names say about it.
#[derive(Clone, Debug)]
pub struct AnyMessage {
    pub stem: MessageStem,
    pub progress: MessageProgress,
    path: PathBuf,
}

impl Archive<'_> {
    /// Every message since `since`, oldest first and each once. Only names of files are read.
    pub fn every_message(self, since: Option<Timestamp>) -> Result<Vec<AnyMessage>, StoreError> {
        let layout = &self.mesh.layout;
        let mut found = Found { since, messages: HashMap::new() };
        for (dir, name) in directories(&layout.directory("sent"))? {
            for file in files::list(&dir)? {
                let sent = AgentName::new(&name).ok().and_then(|_| SentRecord::of_file(&file));
                found.add(sent.map(|sent| (sent.stem, MessageProgress::Sent)), dir.join(&file));
            }
        }
        for (dir, _) in directories(&layout.directory("seen"))? {
            for file in files::list(&dir)? {
                let seen = SeenRecord::of_file(&file).map(|seen| {
                    let progress = progress(&seen);
                    (seen.stem, progress)
                });
                found.add(seen, dir.join(&file));
            }
        }
        let inboxes = directories(&layout.directory("inbox"))?.into_iter().map(|(dir, _)| dir);
        let graves = directories(&layout.graves())?;
        let graves = graves.into_iter().filter(|(_, name)| GraveId::parse(name).is_some());
        for dir in inboxes.chain(graves.map(|(dir, _)| dir.join("inbox"))) {
            for file in files::list(&dir)? {
                let stem = match DotFile::of_file(&file) {
                    Some(DotFile::Parked(stem) | DotFile::Taken(stem, _)) => Some(stem),
                    None => MessageStem::of_file(&file),
                };
                found.add(stem.map(|stem| (stem, MessageProgress::Unread)), dir.join(&file));
            }
        }
        let mut messages: Vec<AnyMessage> = found.messages.into_values().collect();
        messages.sort_by(|a, b| a.stem.cmp(&b.stem));
        Ok(messages)
    }

    /// Reads the message. `None`: it was moved meanwhile, or cannot be read.
    pub fn load_any(self, found: &AnyMessage) -> Result<Option<Message>, StoreError> {
        Ok(archive::read(&found.path)?)
    }
}

/// The directories in a directory, with their names.
fn directories(dir: &Path) -> Result<Vec<(PathBuf, String)>, StoreError> {
    Ok(files::list(dir)?
        .into_iter()
        .map(|name| (dir.join(&name), name))
        .filter(|(dir, _)| dir.is_dir())
        .collect())
}

fn progress(seen: &SeenRecord) -> MessageProgress {
    match seen.acked {
        _ if seen.is_expired() => MessageProgress::Expired,
        Some(_) => MessageProgress::Acked,
        None => MessageProgress::Read,
    }
}

/// Messages by their stems. A message is found up to twice: its sender's record, and what its recipient has of it.
struct Found {
    since: Option<Timestamp>,
    messages: HashMap<MessageStem, AnyMessage>,
}

impl Found {
    fn add(&mut self, message: Option<(MessageStem, MessageProgress)>, path: PathBuf) {
        let Some((stem, progress)) = message else { return };
        let sent_at = stem.stamp().map(|stamp| stamp.timestamp());
        if self.since.is_some_and(|since| sent_at.is_some_and(|at| at < since)) {
            return;
        }
        let known = self.messages.get(&stem).map(|known| known.progress);
        if known.is_none_or(|known| known < progress) {
            self.messages.insert(stem.clone(), AnyMessage { stem, progress, path });
        }
    }
}
