//! Inboxes: looking, taking, handing over, recording.
//!
//! A message is parsed first and taken second, so that nothing unreadable is ever in anyone's hands. Taking is a rename
//! to a name that bears our process, which one reader wins. A [`Delivery`] is what was taken: it is recorded once it
//! was handed over, or put back; if we die in between, the next reader puts it back.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use super::error::StoreError;
use super::mail::{Hidden, Kept, Offer, Seen, Stem, Via};
use super::mesh::Mesh;
use super::wire::{message, pretty};
use crate::domain::{Agent, AgentName, Liveness, Message, Recorded};
use crate::sys::files::{self, Entry, FileError};
use crate::sys::{clock, process};

/// A foreign writer may be in the middle of a file for so long; after that what can't be read is set aside.
const BEING_WRITTEN: Duration = Duration::from_secs(10);

/// Files larger than any message could be are not read.
pub(super) const MAX_FILE: u64 = 8 * 1024 * 1024;

/// No file name is longer.
const MAX_NAME: usize = 255;

/// A message that lies there, untouched.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub stem: Stem,
    pub message: Message,
    /// Whose inbox it lies in: the agent's, or one of a former name.
    inbox: AgentName,
    parked: bool,
}

/// Sender → session.
pub type Contacts = std::collections::BTreeMap<String, String>;

/// What lies in an agent's inboxes.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// In the order in which they are to be handed over.
    pub waiting: Vec<Waiting>,
    /// Could not be handed over, time and again.
    pub parked: Vec<Waiting>,
    /// Can't be read yet; somebody may be writing them.
    pub unripe: Vec<Unripe>,
    /// In the hands of a reader that lives.
    pub in_hand: usize,
}

/// A file in an inbox that can't be understood.
#[derive(Clone, Debug)]
pub struct Unripe {
    pub file: String,
    pub reason: String,
    inbox: AgentName,
    is_old: bool,
}

impl Mesh {
    /// Looks at an agent's inboxes, and changes nothing.
    pub fn look(&self, agent: &Agent) -> Result<Scan, StoreError> {
        let mut scan = Scan::default();
        for name in self.mailboxes(agent)? {
            for entry in files::entries(&self.layout.inbox(name))? {
                self.look_at(&mut scan, name, entry)?;
            }
        }
        scan.waiting.sort_by(|a, b| {
            let first = b.message.importance.goes_first().cmp(&a.message.importance.goes_first());
            first.then_with(|| a.stem.cmp(&b.stem))
        });
        Ok(scan)
    }

    fn look_at(&self, scan: &mut Scan, inbox: &AgentName, entry: Entry) -> Result<(), StoreError> {
        if let Some(hidden) = Hidden::of_file(&entry.name) {
            match hidden {
                Hidden::Parked(stem) => {
                    if let Some(Ok(message)) = self.read_message(inbox, &entry)? {
                        scan.parked.push(Waiting { stem, message, inbox: inbox.clone(), parked: true });
                    }
                }
                // What a model was offered is in nobody's hands, as long as its process lives.
                Hidden::Taken(..) => {
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
        let read = match self.read_message(inbox, &entry)? {
            None => return Ok(()),
            Some(read) => read.and_then(|message| {
                let stem = Stem::of_file(&entry.name).ok_or("its name can't be that of a message")?;
                Ok(Waiting { stem, message, inbox: inbox.clone(), parked: false })
            }),
        };
        match read {
            Ok(waiting) => scan.waiting.push(waiting),
            Err(reason) => {
                let is_old = !entry.is_file || self.is_old(inbox, &entry.name)?;
                scan.unripe.push(Unripe { file: entry.name, reason, inbox: inbox.clone(), is_old });
            }
        }
        Ok(())
    }

    /// `None`: it is gone. An inner error says why it is no message.
    fn read_message(
        &self,
        inbox: &AgentName,
        entry: &Entry,
    ) -> Result<Option<Result<Message, String>>, FileError> {
        if !entry.is_file {
            return Ok(Some(Err("it is no plain file".to_string())));
        }
        let path = self.layout.inbox(inbox).join(&entry.name);
        let read = match files::read_at_most(&path, MAX_FILE) {
            // One such file holds up nothing else; what is wrong with the whole machine is an error.
            Err(error) if error.source.kind() == std::io::ErrorKind::PermissionDenied => {
                return Ok(Some(Err("it may not be read".to_string())));
            }
            read => read?,
        };
        Ok(read.map(|bytes| match bytes {
            Some(bytes) => message::parse(&bytes),
            None => Err(format!("it is larger than {MAX_FILE} bytes")),
        }))
    }

    fn is_old(&self, inbox: &AgentName, file: &str) -> Result<bool, FileError> {
        let modified = files::link_metadata(&self.layout.inbox(inbox).join(file))?;
        let modified = modified.and_then(|metadata| metadata.modified().ok());
        Ok(modified.is_some_and(|modified| clock::age(modified) >= BEING_WRITTEN))
    }

    /// Puts back what dead readers had in hand, and sets aside what has been unreadable for too long. Returns the
    /// latter.
    pub fn tidy_inbox(&self, agent: &Agent, scan: &Scan) -> Result<Vec<Unripe>, StoreError> {
        if scan.in_hand > 0 {
            for name in self.mailboxes(agent)? {
                self.put_back_of_dead(name)?;
            }
        }
        let mut set_aside = Vec::new();
        for unripe in scan.unripe.iter().filter(|unripe| unripe.is_old) {
            let path = self.layout.inbox(&unripe.inbox).join(&unripe.file);
            if files::exists(&path)? {
                self.put_aside(&path, unripe.inbox.as_str(), &unripe.reason)?;
                set_aside.push(unripe.clone());
            }
        }
        Ok(set_aside)
    }

    fn put_back_of_dead(&self, inbox: &AgentName) -> Result<(), FileError> {
        let dir = self.layout.inbox(inbox);
        for name in files::list(&dir)? {
            if let Some(stem) = dropped_by_dead(&name) {
                self.put_at(&dir.join(&name), &dir.join(stem.file()))?;
            }
        }
        Ok(())
    }

    /// Gives what was taken its proper name again. By one rename, on every file system: with two names, if only for a
    /// moment, it could be taken twice. No other message has that name; what a person put there is not replaced.
    pub(super) fn put_at(&self, taken: &Path, proper: &Path) -> Result<(), FileError> {
        if !files::exists(proper)? {
            // Lost races are fine: somebody else put it back.
            self.files.take(taken, proper)?;
        }
        Ok(())
    }

    /// The sender's session that the agent was last told of, by sender.
    pub fn contacts(&self, agent: &AgentName) -> Result<Contacts, StoreError> {
        let bytes = files::read_note(&self.layout.contacts(agent))?.unwrap_or_default();
        // Worth no more than a few words told twice.
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    pub fn set_contacts(&self, agent: &AgentName, contacts: &Contacts) -> Result<(), StoreError> {
        let path = self.layout.contacts(agent);
        files::create_dir(&self.layout.seen(agent))?;
        Ok(self.files.replace(&path, &pretty(contacts))?)
    }

    /// Takes messages, in that order. Those that another reader took first are left out.
    pub fn take(&self, waiting: Vec<Waiting>) -> Result<Delivery<'_>, StoreError> {
        self.tighten()?;
        let mut delivery = Delivery { mesh: self, taken: Vec::new() };
        for waiting in waiting {
            let dir = self.layout.inbox(&waiting.inbox);
            let file = if waiting.parked { waiting.stem.parked() } else { waiting.stem.file() };
            if self.files.take(&dir.join(file), &dir.join(waiting.stem.taken_by(files::own_mark())))? {
                delivery.taken.push(waiting);
            }
        }
        Ok(delivery)
    }
}

/// Is this what a reader had in hand that is dead by now? Then that is its proper name.
pub(super) fn dropped_by_dead(file: &str) -> Option<Stem> {
    let Some(Hidden::Taken(stem, mark)) = Hidden::of_file(file) else { return None };
    let owner = Recorded::Pinned(files::owner_of(&mark)?);
    (process::liveness(&owner) == Liveness::Gone).then_some(stem)
}

/// Messages in our hands. Dropped, they go back to where they were.
#[derive(Debug)]
#[must_use = "what was taken has to be recorded or put back"]
pub struct Delivery<'m> {
    mesh: &'m Mesh,
    taken: Vec<Waiting>,
}

impl Delivery<'_> {
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }

    pub fn messages(&self) -> impl Iterator<Item = (&Stem, &Message)> {
        self.taken.iter().map(|waiting| (&waiting.stem, &waiting.message))
    }

    /// They were handed over: one rename each. If one can't be recorded, it and those after it go back.
    pub fn record(mut self, via: &Via, at: Timestamp, acked: bool) -> Result<(), StoreError> {
        let mut taken = std::mem::take(&mut self.taken).into_iter();
        while let Some(waiting) = taken.next() {
            if let Err(error) = self.record_one(&waiting, via, at, acked) {
                self.taken = std::iter::once(waiting).chain(taken).collect();
                return Err(error);
            }
        }
        Ok(())
    }

    /// They were said to the model of that process, and nothing shows yet that it has them: one rename each. Where that
    /// process can't be told from others, or is gone, they count as handed over.
    pub fn offer(mut self, to: &Recorded, via: &Via, at: Timestamp, kept: &Kept) -> Result<(), StoreError> {
        let mark = match to {
            Recorded::Pinned(identity) if process::liveness(to) != Liveness::Gone => files::mark_of(identity),
            _ => return self.record(via, at, false),
        };
        let offer = |waiting: &Waiting| Offer {
            stem: waiting.stem.clone(),
            mark: mark.clone(),
            at,
            via: via.clone(),
            kept: kept.clone(),
        };
        if self.taken.iter().any(|waiting| offer(waiting).file().len() > MAX_NAME) {
            return self.record(via, at, false);
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

    fn record_one(&self, waiting: &Waiting, via: &Via, at: Timestamp, acked: bool) -> Result<(), StoreError> {
        let via = if waiting.message.ack_required { via.clone() } else { via.without_ack() };
        let seen = Seen { stem: waiting.stem.clone(), at, via, acked: acked.then_some(at) };
        let dir = self.mesh.layout.seen(&waiting.inbox);
        let taken = self.path(waiting);
        if !self.mesh.files.take_into(&taken, &dir, &dir.join(seen.file()))? {
            return Err(StoreError::Corrupt { path: taken, reason: "somebody removed it".to_string() });
        }
        Ok(())
    }

    /// It can't be handed over: `inbox` shows it, `read` tries again.
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

    /// All that can be; one that can't is no reason to keep the others. Returns what went wrong first.
    fn give_back(&mut self) -> Result<(), StoreError> {
        let mut first = Ok(());
        let taken = std::mem::take(&mut self.taken);
        for waiting in taken.into_iter().rev() {
            let dir = self.mesh.layout.inbox(&waiting.inbox);
            let file = if waiting.parked { waiting.stem.parked() } else { waiting.stem.file() };
            if let Err(error) = self.mesh.put_at(&self.path(&waiting), &dir.join(file)) {
                first = first.and(Err(error.into()));
                self.taken.push(waiting);
            }
        }
        first
    }

    fn path(&self, waiting: &Waiting) -> std::path::PathBuf {
        self.mesh.layout.inbox(&waiting.inbox).join(waiting.stem.taken_by(files::own_mark()))
    }
}

impl Drop for Delivery<'_> {
    fn drop(&mut self) {
        // If this fails the next reader puts them back, once this process is gone.
        drop(self.give_back());
    }
}
