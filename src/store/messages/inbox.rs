//! Inboxes: listing messages, taking them, recording or putting them back.
//!
//! A message is parsed before it is taken, so nobody ever takes an unreadable one. Taking is a rename to a name that
//! contains our process's mark; only one reader wins it. A [`TakenMessages`] holds what was taken. It is recorded once
//! it was handed over, or put back; if we die in between, the next reader puts it back. What has expired is not taken
//! (`expiry`).

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use super::dropped::dropped_by_dead;
use super::expiry::ExpiredMessage;
use super::message_files::{AnswerMark, DotFile, MessageStem, Offer, OfferRetention, SeenRecord, Via};
use crate::domain::{Agent, AgentName, Liveness, Message, RecordedProcess};
use crate::store::agents::registry;
use crate::store::error::{ParseError, StoreError};
use crate::store::handles::Inboxes;
use crate::store::mesh::Mesh;
use crate::store::retrying_read::FileContent;
use crate::store::wire::{message, pretty};
use crate::sys::files::{self, BoundedRead, DirectoryEntry, FileError};
use crate::sys::{clock, process};

/// How long a foreign writer may take for a file. An unreadable file older than this goes to quarantine.
const BEING_WRITTEN: Duration = Duration::from_secs(10);

/// The largest file that is read, in bytes. No message is larger.
pub(in crate::store) const MAX_FILE: u64 = 8 * 1024 * 1024;

/// The longest file name that file systems allow, in bytes.
const MAX_NAME: usize = 255;

/// A message that nobody has taken.
#[derive(Clone, Debug)]
pub struct UnreadMessage {
    pub stem: MessageStem,
    pub message: Message,
    /// The name of the inbox: the agent's name or a former one.
    inbox: AgentName,
    parked: bool,
}

impl UnreadMessage {
    fn file(&self) -> String {
        if self.parked { self.stem.parked() } else { self.stem.file() }
    }
}

/// Sender name → session.
pub type KnownSenders = std::collections::BTreeMap<String, String>;

/// The content of an agent's inboxes.
#[derive(Clone, Debug, Default)]
pub struct InboxScan {
    /// In the order in which they should be handed over.
    pub waiting: Vec<UnreadMessage>,
    /// Messages that repeatedly could not be handed over.
    pub parked: Vec<UnreadMessage>,
    /// Files that cannot be parsed yet; they may still be being written.
    pub unripe: Vec<UnparsableFile>,
    /// Number of messages that are taken by a reader, alive or dead, or that were offered by a process that is dead.
    pub in_hand: usize,
    /// Unread messages whose time is over. They are not listed as anything else.
    pub expired: Vec<ExpiredMessage>,
}

/// A file in an inbox that cannot be parsed.
#[derive(Clone, Debug)]
pub struct UnparsableFile {
    pub file: String,
    pub reason: String,
    inbox: AgentName,
    is_old: bool,
}

impl<'m> Inboxes<'m> {
    /// Lists an agent's inboxes. Changes nothing.
    pub fn scan(self, agent: &Agent) -> Result<InboxScan, StoreError> {
        let (mut scan, now) = (InboxScan::default(), clock::now());
        for name in self.names_of(agent)? {
            for entry in files::entries(&self.mesh.layout.inbox(name))? {
                match ExpiredMessage::of_file(name, &entry.name, now) {
                    Some(expired) => scan.expired.push(expired),
                    None => self.scan_one(&mut scan, name, entry)?,
                }
            }
        }
        scan.waiting.sort_by(|a, b| {
            let first = b.message.importance.goes_first().cmp(&a.message.importance.goes_first());
            first.then_with(|| a.stem.cmp(&b.stem))
        });
        Ok(scan)
    }

    fn scan_one(
        self,
        scan: &mut InboxScan,
        inbox: &AgentName,
        entry: DirectoryEntry,
    ) -> Result<(), StoreError> {
        if let Some(hidden) = DotFile::of_file(&entry.name) {
            match hidden {
                DotFile::Parked(stem) => {
                    if let FileContent::Parsed(message) = self.read_message(inbox, &entry)? {
                        scan.parked.push(UnreadMessage { stem, message, inbox: inbox.clone(), parked: true });
                    }
                }
                // An offered message does not count as taken while the harness's process is alive.
                DotFile::Taken(..) => {
                    let is_offered =
                        Offer::of_file(&entry.name).is_some() && dropped_by_dead(&entry.name).is_none();
                    scan.in_hand += usize::from(!is_offered);
                }
            }
            return Ok(());
        }
        if !entry.name.ends_with(".json") {
            return Ok(());
        }
        let read = match (self.read_message(inbox, &entry)?, MessageStem::of_file(&entry.name)) {
            (FileContent::Absent, _) => return Ok(()),
            (FileContent::Parsed(message), Some(stem)) => {
                Ok(UnreadMessage { stem, message, inbox: inbox.clone(), parked: false })
            }
            (FileContent::Parsed(_), None) => Err(ParseError::new("its name is not that of a message")),
            (FileContent::Unparsable(error), _) => Err(error),
        };
        match read {
            Ok(waiting) => scan.waiting.push(waiting),
            Err(error) => {
                let reason = error.to_string();
                let is_old = !entry.is_file || self.is_old(inbox, &entry.name)?;
                scan.unripe.push(UnparsableFile { file: entry.name, reason, inbox: inbox.clone(), is_old });
            }
        }
        Ok(())
    }

    fn read_message(
        self,
        inbox: &AgentName,
        entry: &DirectoryEntry,
    ) -> Result<FileContent<Message>, FileError> {
        if !entry.is_file {
            return Ok(FileContent::Unparsable(ParseError::new("it is not a plain file")));
        }
        let path = self.mesh.layout.inbox(inbox).join(&entry.name);
        let read = match files::read_at_most(&path, MAX_FILE) {
            // One unreadable file must not block the others; other I/O errors are returned.
            Err(error) if error.source.kind() == std::io::ErrorKind::PermissionDenied => {
                return Ok(FileContent::Unparsable(ParseError::new("it may not be read")));
            }
            read => read?,
        };
        let parsed = match read {
            BoundedRead::Absent => return Ok(FileContent::Absent),
            BoundedRead::Content(bytes) => message::parse(&bytes),
            BoundedRead::TooLarge => Err(ParseError::new(format!("it is larger than {MAX_FILE} bytes"))),
        };
        Ok(parsed.map_or_else(FileContent::Unparsable, FileContent::Parsed))
    }

    fn is_old(self, inbox: &AgentName, file: &str) -> Result<bool, FileError> {
        let modified = files::link_metadata(&self.mesh.layout.inbox(inbox).join(file))?;
        let modified = modified.and_then(|metadata| metadata.modified().ok());
        Ok(modified.is_some_and(|modified| clock::age(modified) >= BEING_WRITTEN))
    }

    /// Puts back what dead readers had taken, and moves files that have been unreadable for too long to quarantine.
    /// Returns the latter.
    pub fn tidy(self, agent: &Agent, scan: &InboxScan) -> Result<Vec<UnparsableFile>, StoreError> {
        if scan.in_hand > 0 {
            for name in self.names_of(agent)? {
                self.put_back_of_dead(name)?;
            }
        }
        let mut set_aside = Vec::new();
        for unripe in scan.unripe.iter().filter(|unripe| unripe.is_old) {
            let path = self.mesh.layout.inbox(&unripe.inbox).join(&unripe.file);
            if files::exists(&path)? {
                self.mesh.put_aside(&path, unripe.inbox.as_str(), &unripe.reason)?;
                set_aside.push(unripe.clone());
            }
        }
        Ok(set_aside)
    }

    fn put_back_of_dead(self, inbox: &AgentName) -> Result<(), FileError> {
        let dir = self.mesh.layout.inbox(inbox);
        for name in files::list(&dir)? {
            if let Some(stem) = dropped_by_dead(&name) {
                self.put_at(&dir.join(&name), &dir.join(stem.file()))?;
            }
        }
        Ok(())
    }

    /// Gives a taken message its proper name again, by a single rename on every file system: with two names, even
    /// briefly, it could be taken twice. No other message has that name; a file that a person put there is not
    /// replaced.
    pub(in crate::store) fn put_at(self, taken: &Path, proper: &Path) -> Result<(), FileError> {
        if !files::exists(proper)? {
            // Losing a race is fine: somebody else put it back.
            self.mesh.files.take(taken, proper)?;
        }
        Ok(())
    }

    /// For each sender, the session that the agent was last told of.
    pub fn contacts(self, agent: &AgentName) -> Result<KnownSenders, StoreError> {
        let bytes = files::read_note(&self.mesh.layout.contacts(agent))?.unwrap_or_default();
        // If it cannot be read, the agent is merely told again.
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    pub fn set_contacts(self, agent: &AgentName, contacts: &KnownSenders) -> Result<(), StoreError> {
        let path = self.mesh.layout.contacts(agent);
        files::create_dir(&self.mesh.layout.seen(agent))?;
        Ok(self.mesh.files.replace(&path, &pretty(contacts))?)
    }

    /// Takes messages in this order. Leaves out those that another reader took first, and those that expired since they
    /// were listed, which it records as such.
    pub fn take(self, mut waiting: Vec<UnreadMessage>) -> Result<TakenMessages<'m>, StoreError> {
        let now = clock::now();
        let expired = |waiting: &UnreadMessage| ExpiredMessage::of_file(&waiting.inbox, &waiting.file(), now);
        self.record_expired(&waiting.iter().filter_map(expired).collect::<Vec<_>>())?;
        waiting.retain(|waiting| !waiting.stem.is_expired(now));
        self.take_shown(waiting)
    }

    /// Like [`Self::take`], for messages that were shown before they are taken: they may have expired meanwhile.
    pub fn take_shown(self, waiting: Vec<UnreadMessage>) -> Result<TakenMessages<'m>, StoreError> {
        self.mesh.tighten()?;
        let mut delivery = TakenMessages { mesh: self.mesh, taken: Vec::new() };
        for waiting in waiting {
            let dir = self.mesh.layout.inbox(&waiting.inbox);
            if self
                .mesh
                .files
                .take(&dir.join(waiting.file()), &dir.join(waiting.stem.taken_by(files::own_mark())))?
            {
                delivery.taken.push(waiting);
            }
        }
        Ok(delivery)
    }
}

/// Whether messages are acknowledged when they are recorded as handed over.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Acknowledge {
    #[default]
    Later,
    Now,
}

/// Messages that we have taken. Dropping it puts them back.
#[derive(Debug)]
#[must_use = "what was taken has to be recorded or put back"]
pub struct TakenMessages<'m> {
    mesh: &'m Mesh,
    taken: Vec<UnreadMessage>,
}

impl TakenMessages<'_> {
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }

    pub fn messages(&self) -> impl Iterator<Item = (&MessageStem, &Message)> {
        self.taken.iter().map(|waiting| (&waiting.stem, &waiting.message))
    }

    /// Records them as handed over, by one rename each. If one cannot be recorded, it and those after it are put back.
    pub fn record(mut self, via: &Via, at: Timestamp, ack: Acknowledge) -> Result<(), StoreError> {
        let mut taken = std::mem::take(&mut self.taken).into_iter();
        while let Some(waiting) = taken.next() {
            if let Err(error) = self.record_one(&waiting, via, at, ack) {
                self.taken = std::iter::once(waiting).chain(taken).collect();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Records them as offered to the model of process `to`, by one rename each, as long as nothing shows that the
    /// model has them. If that process cannot be identified or is gone, they are recorded as handed over.
    pub fn offer(
        mut self,
        to: &RecordedProcess,
        via: &Via,
        at: Timestamp,
        kept: &OfferRetention,
    ) -> Result<(), StoreError> {
        let mark = match to {
            RecordedProcess::Pinned(identity) if process::liveness(to) != Liveness::Gone => {
                files::mark_of(identity)
            }
            _ => return self.record(via, at, Acknowledge::Later),
        };
        let offer = |waiting: &UnreadMessage| Offer {
            stem: waiting.stem.clone(),
            mark: mark.clone(),
            at,
            via: via.clone(),
            kept: kept.clone(),
        };
        if self.taken.iter().any(|waiting| offer(waiting).file().len() > MAX_NAME) {
            return self.record(via, at, Acknowledge::Later);
        }
        while let Some(waiting) = self.taken.first() {
            let offered = self.mesh.layout.inbox(&waiting.inbox).join(offer(waiting).file());
            let taken = self.path(waiting);
            if !self.mesh.files.take(&taken, &offered)? {
                return Err(StoreError::Corrupt { path: taken, reason: "somebody removed it".to_string() });
            }
            self.taken.remove(0);
        }
        Ok(())
    }

    fn record_one(
        &self,
        waiting: &UnreadMessage,
        via: &Via,
        at: Timestamp,
        ack: Acknowledge,
    ) -> Result<(), StoreError> {
        let via = if waiting.message.needs_ack { via.clone() } else { via.without_ack() };
        let seen = SeenRecord {
            stem: waiting.stem.clone(),
            at,
            via,
            answer: AnswerMark::None,
            acked: (ack == Acknowledge::Now).then_some(at),
        };
        let dir = self.mesh.layout.seen(&waiting.inbox);
        let (taken, record) = (self.path(waiting), dir.join(seen.file()));
        if self.mesh.files.take_into(&taken, &dir, &record)? {
            return Ok(());
        }
        // Its recipient has left in between: a grave has the mail, also what a living reader had taken.
        for grave in files::list(&self.mesh.layout.graves())? {
            let there = self.mesh.layout.graves().join(grave).join("inbox");
            if self.mesh.files.take_into(
                &there.join(waiting.stem.taken_by(files::own_mark())),
                &dir,
                &record,
            )? {
                return Ok(());
            }
        }
        Err(StoreError::Corrupt { path: taken, reason: "somebody removed it".to_string() })
    }

    /// Parks messages that cannot be handed over: `inbox` shows them, `read` tries again.
    pub fn park(mut self) -> Result<(), StoreError> {
        while let Some(waiting) = self.taken.last() {
            let parked = self.mesh.layout.inbox(&waiting.inbox).join(waiting.stem.parked());
            self.mesh.files.take(&self.path(waiting), &parked)?;
            self.taken.pop();
        }
        Ok(())
    }

    pub fn put_back(mut self) -> Result<(), StoreError> {
        self.give_back()
    }

    /// Puts back as many as possible; one failure does not stop the others. Returns the first error.
    fn give_back(&mut self) -> Result<(), StoreError> {
        let mut first = Ok(());
        let taken = std::mem::take(&mut self.taken);
        for waiting in taken.into_iter().rev() {
            let dir = self.mesh.layout.inbox(&waiting.inbox);
            if let Err(error) = self.mesh.inboxes().put_at(&self.path(&waiting), &dir.join(waiting.file())) {
                first = first.and(Err(error.into()));
                self.taken.push(waiting);
            }
        }
        first
    }

    fn path(&self, waiting: &UnreadMessage) -> std::path::PathBuf {
        self.mesh.layout.inbox(&waiting.inbox).join(waiting.stem.taken_by(files::own_mark()))
    }
}

impl Drop for TakenMessages<'_> {
    fn drop(&mut self) {
        // If this fails, the next reader puts them back once this process is gone.
        drop(self.give_back());
    }
}

impl Inboxes<'_> {
    /// The names whose inboxes hold mail for the agent: its own, and former ones unless another agent has such a name
    /// now. Agents of ours don't take a former name for ten minutes, but pi-messenger does not know about former names.
    pub fn names_of(self, agent: &Agent) -> Result<Vec<&AgentName>, StoreError> {
        let mut names = vec![&agent.name];
        for former in agent.formerly.iter().map(|former| &former.name) {
            let registered = registry::read(&self.mesh.layout.registration(former), former.as_str())?;
            if registered.is_none_or(|read| read.is_ok_and(|record| record.agent.is_same_session(agent))) {
                names.push(former);
            }
        }
        Ok(names)
    }

    /// Number of unread messages of the agent.
    pub fn unread_count(self, agent: &Agent) -> Result<usize, StoreError> {
        let (mut unread, now) = (0, clock::now());
        // The inbox of an agent on another machine is there.
        let names = if agent.is_remote() { Vec::new() } else { self.names_of(agent)? };
        for name in names {
            let waiting = files::list(&self.mesh.layout.inbox(name))?;
            let is_expired = |stem: &MessageStem| stem.is_expired(now);
            let counts = |file: &&String| match file.starts_with('.') {
                true => dropped_by_dead(file).is_some_and(|stem| !is_expired(&stem)),
                false => {
                    file.ends_with(".json") && !MessageStem::of_file(file).is_some_and(|it| is_expired(&it))
                }
            };
            unread += waiting.iter().filter(counts).count();
        }
        Ok(unread)
    }

    /// Whether there is any file in the inbox of that name.
    pub fn has_mail(self, name: &AgentName) -> Result<bool, StoreError> {
        Ok(!files::list(&self.mesh.layout.inbox(name))?.is_empty())
    }
}
