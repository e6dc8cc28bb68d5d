//! Messages to agents on other machines: on their way, and what became of them. The directory a message is in is its
//! state; a step is one rename.

use jiff::Timestamp;

use crate::domain::link::MachineName;
use crate::domain::{AgentName, Message};
use crate::store::error::StoreError;
use crate::store::handles::RemoteRecords;
use crate::store::link::remote_delivery::RemoteDelivery;
use crate::store::messages::archive;
use crate::store::messages::message_files::{MessageStem, SeenRecord};
use crate::sys::files::{self, Published};

/// The states before the recipient's reader has the message, in order.
const QUEUED: &str = "queued";
const STORED: &str = "stored";
const DELIVERED: &str = "delivered";
const REFUSED: &str = "refused";
const SEEN: &str = "seen";
/// Why messages were refused, in words of the machine that refused them. No state: a message stays in `refused`.
const WHY: &str = "why";
/// The longest reason that is kept, in characters.
const MAX_WHY: usize = 200;

/// The place of a message that is not on the server yet.
#[derive(Clone, Debug)]
pub struct QueuedMessage {
    pub stem: MessageStem,
    pub to: AgentName,
}

/// What is in a queued message's file.
#[derive(Clone, Debug)]
pub enum QueuedContent {
    Message(Box<Message>),
    /// It can't be parsed. The file is in quarantine now.
    PutAside,
    /// It is not queued any more.
    Gone,
}

/// A message from another machine whose receipt is not complete.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OwedReceipt {
    pub stem: MessageStem,
    /// Its recipient here.
    pub to: AgentName,
    /// The machine it came from.
    pub machine: MachineName,
    /// What its sender knows: a word of ours.
    pub told: String,
}

impl RemoteRecords<'_> {
    /// The directory in which messages to that agent wait, made if necessary.
    pub(in crate::store) fn queue_for(self, to: &AgentName) -> Result<std::path::PathBuf, StoreError> {
        let dir = self.mesh.layout.remote_mail(QUEUED, to);
        if !files::exists(&dir)? {
            files::create_dir(&dir)?;
        }
        Ok(dir)
    }

    /// The messages that are not on the server yet, in the order of sending. None of them is read.
    pub fn queued(self) -> Result<Vec<QueuedMessage>, StoreError> {
        let root = self.mesh.layout.remote(QUEUED);
        let mut queued = Vec::new();
        for name in files::list(&root)? {
            let Ok(to) = AgentName::new(name) else { continue };
            let dir = self.mesh.layout.remote_mail(QUEUED, &to);
            for file in files::list(&dir)? {
                queued.extend(MessageStem::of_file(&file).map(|stem| QueuedMessage { stem, to: to.clone() }));
            }
        }
        queued.sort_by(|a, b| a.stem.cmp(&b.stem));
        Ok(queued)
    }

    /// Reads a queued message. What is damaged would be in the way of everything that follows it, so it is put into
    /// quarantine, and the receipt says that it is gone.
    pub fn queued_content(self, queued: &QueuedMessage) -> Result<QueuedContent, StoreError> {
        let QueuedMessage { stem, to } = queued;
        let path = self.mesh.layout.remote_mail(QUEUED, to).join(stem.file());
        if let Some(message) = archive::read(&path)? {
            return Ok(QueuedContent::Message(Box::new(message)));
        }
        if !files::exists(&path)? {
            return Ok(QueuedContent::Gone);
        }
        let aside =
            self.mesh.put_aside(&path, to.as_str(), "a message to another machine could not be read")?;
        Ok(aside.map_or(QueuedContent::Gone, |_| QueuedContent::PutAside))
    }

    /// Whether a message ever went to another machine.
    pub(in crate::store) fn has_mail(self) -> Result<bool, StoreError> {
        Ok(files::exists(&self.mesh.layout.directory("remote"))?)
    }

    /// How many messages are not on the server yet.
    pub fn queued_count(self) -> Result<usize, StoreError> {
        let root = self.mesh.layout.remote(QUEUED);
        let names = files::list(&root)?;
        names.iter().try_fold(0, |sum, name| Ok(sum + files::list(&root.join(name))?.len()))
    }

    /// The server has the message.
    pub fn note_stored(self, to: &AgentName, stem: &MessageStem) -> Result<(), StoreError> {
        self.step(to, stem, &[QUEUED], STORED).map(drop)
    }

    /// It is in the recipient's inbox.
    pub fn note_delivered(self, to: &AgentName, stem: &MessageStem) -> Result<(), StoreError> {
        self.step(to, stem, &[QUEUED, STORED], DELIVERED).map(drop)
    }

    /// The other machine could not deliver it, or nobody read it before its recipient's mail was removed.
    pub fn note_refused(self, to: &AgentName, stem: &MessageStem) -> Result<(), StoreError> {
        self.step(to, stem, &[QUEUED, STORED, DELIVERED], REFUSED).map(drop)
    }

    /// The same with the reason. Whether that is news.
    pub fn note_refused_because(
        self,
        to: &AgentName,
        stem: &MessageStem,
        why: &str,
    ) -> Result<bool, StoreError> {
        let dir = self.mesh.layout.remote_mail(WHY, to);
        files::create_dir(&dir)?;
        let why: String = why.chars().take(MAX_WHY).collect();
        self.mesh
            .files
            .replace(&dir.join(stem.file()), serde_json::Value::from(why).to_string().as_bytes())?;
        self.step(to, stem, &[QUEUED, STORED, DELIVERED], REFUSED)
    }

    /// Why the message was refused, if that is known.
    pub fn why_refused(self, to: &AgentName, stem: &MessageStem) -> Result<Option<String>, StoreError> {
        let path = self.mesh.layout.remote_mail(WHY, to).join(stem.file());
        let Some(bytes) = files::read_large(&path)? else { return Ok(None) };
        Ok(serde_json::from_slice(&bytes).ok())
    }

    /// A message to an agent on another machine, however far it is. `None`: nothing of it is known, or it can't be read.
    pub fn sent_message(self, to: &AgentName, stem: &MessageStem) -> Result<Option<Message>, StoreError> {
        // In the order of its way, so one that moves meanwhile is found further on.
        for state in [QUEUED, STORED, DELIVERED, REFUSED] {
            let path = self.mesh.layout.remote_mail(state, to).join(stem.file());
            if let Some(message) = archive::read(&path)? {
                return Ok(Some(message));
            }
        }
        let record = self.seen_by(to)?.into_iter().find(|record| record.stem == *stem);
        let Some(record) = record else { return Ok(None) };
        Ok(archive::read(&self.mesh.layout.remote_mail(SEEN, to).join(record.file()))?)
    }

    /// The recipient's record of it. A later one replaces it.
    pub fn note_seen(self, to: &AgentName, record: &SeenRecord) -> Result<(), StoreError> {
        let dir = self.mesh.layout.remote_mail(SEEN, to);
        let target = dir.join(record.file());
        if files::exists(&target)? {
            return Ok(());
        }
        for before in files::list(&dir)? {
            if SeenRecord::of_file(&before).is_some_and(|seen| seen.stem == record.stem) {
                self.mesh.files.take(&dir.join(before), &target)?;
                return Ok(());
            }
        }
        for state in [DELIVERED, STORED, QUEUED, REFUSED] {
            let from = self.mesh.layout.remote_mail(state, to).join(record.stem.file());
            if self.mesh.files.take_into(&from, &dir, &target)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Moves the message to that state. Whether it was in one of those.
    fn step(
        self,
        to: &AgentName,
        stem: &MessageStem,
        from: &[&str],
        state: &str,
    ) -> Result<bool, StoreError> {
        let dir = self.mesh.layout.remote_mail(state, to);
        for before in from {
            let from = self.mesh.layout.remote_mail(before, to).join(stem.file());
            if self.mesh.files.take_into(&from, &dir, &dir.join(stem.file()))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// How far the message is, if it went to another machine and has no record yet.
    pub(in crate::store) fn delivery(
        self,
        to: &AgentName,
        stem: &MessageStem,
    ) -> Result<Option<RemoteDelivery>, StoreError> {
        let states = [
            (QUEUED, RemoteDelivery::Queued),
            (STORED, RemoteDelivery::Stored),
            (DELIVERED, RemoteDelivery::Delivered),
            (REFUSED, RemoteDelivery::Refused),
        ];
        for (state, delivery) in states {
            if files::exists(&self.mesh.layout.remote_mail(state, to).join(stem.file()))? {
                return Ok(Some(delivery));
            }
        }
        Ok(None)
    }

    /// The records of messages to that agent on another machine.
    pub(in crate::store) fn seen_by(self, to: &AgentName) -> Result<Vec<SeenRecord>, StoreError> {
        let files = files::list(&self.mesh.layout.remote_mail(SEEN, to))?;
        Ok(files.iter().filter_map(|file| SeenRecord::of_file(file)).collect())
    }

    /// The directories whose changes matter to the link process.
    pub fn queue_directories(self) -> Result<Vec<std::path::PathBuf>, StoreError> {
        let root = self.mesh.layout.remote(QUEUED);
        files::create_dir(&root)?;
        let names = files::list(&root)?;
        Ok(names.iter().map(|name| root.join(name)).chain([root.clone()]).collect())
    }

    /// The directories whose changes say more about messages from other machines.
    pub fn owed_directories(self) -> Result<Vec<std::path::PathBuf>, StoreError> {
        let mut names: Vec<AgentName> = self.owed()?.into_iter().map(|owed| owed.to).collect();
        names.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        names.dedup();
        let mut dirs = Vec::new();
        for name in names {
            let dir = self.mesh.layout.seen(&name);
            if files::exists(&dir)? {
                dirs.push(dir);
            }
        }
        Ok(dirs)
    }

    /// Remembers that the sender of a message from another machine is to be told what becomes of it. `told` is what it
    /// knows.
    pub fn owe(self, owed: &OwedReceipt) -> Result<(), StoreError> {
        let dir = self.mesh.layout.remote("owed").join(owed.machine.as_str());
        files::create_dir(&dir)?;
        let (Published::Done | Published::Exists) = self.mesh.files.publish(&dir.join(owed.file()), b"")?;
        Ok(())
    }

    /// Whether the sender of that message from there is still to be told of it.
    pub fn owes(self, machine: &MachineName, stem: &MessageStem) -> Result<bool, StoreError> {
        let dir = self.mesh.layout.remote("owed").join(machine.as_str());
        let of_it = |file: &String| file.split(',').next() == Some(stem.as_str());
        Ok(files::list(&dir)?.iter().any(of_it))
    }

    /// The sender knows more now.
    pub fn note_told(self, owed: &OwedReceipt, told: &str) -> Result<(), StoreError> {
        let dir = self.mesh.layout.remote("owed").join(owed.machine.as_str());
        let now = OwedReceipt { told: told.to_string(), ..owed.clone() };
        self.mesh.files.take(&dir.join(owed.file()), &dir.join(now.file()))?;
        Ok(())
    }

    /// The sender knows all.
    pub fn settle(self, owed: &OwedReceipt) -> Result<(), StoreError> {
        let dir = self.mesh.layout.remote("owed").join(owed.machine.as_str());
        files::remove(&dir.join(owed.file()))?;
        Ok(())
    }

    /// Nobody on that machine is to be told of anything any more.
    pub fn settle_all(self, machine: &MachineName) -> Result<(), StoreError> {
        self.owed()?.iter().filter(|owed| owed.machine == *machine).try_for_each(|owed| self.settle(owed))
    }

    /// The receipts that are not complete, in the order of their messages.
    pub fn owed(self) -> Result<Vec<OwedReceipt>, StoreError> {
        let root = self.mesh.layout.remote("owed");
        let mut owed = Vec::new();
        for name in files::list(&root)? {
            let Ok(machine) = MachineName::new(name.as_str()) else { continue };
            for file in files::list(&root.join(&name))? {
                owed.extend(OwedReceipt::of_file(&machine, &file));
            }
        }
        owed.sort_by(|a, b| a.stem.cmp(&b.stem));
        Ok(owed)
    }

    /// Removes what is known of messages that were sent before that time and that the server has.
    pub fn prune(self, oldest: Timestamp) -> Result<usize, StoreError> {
        let is_old = |stem: &MessageStem| stem.stamp().is_some_and(|stamp| stamp.timestamp() < oldest);
        let mut pruned = 0;
        for state in [STORED, DELIVERED, REFUSED, SEEN, WHY] {
            let root = self.mesh.layout.remote(state);
            for name in files::list(&root)? {
                for file in files::list(&root.join(&name))? {
                    let seen = SeenRecord::of_file(&file).map(|seen| seen.stem);
                    let stem = seen.or_else(|| MessageStem::of_file(&file));
                    if stem.is_some_and(|stem| is_old(&stem)) {
                        pruned += usize::from(files::remove(&root.join(&name).join(file))?);
                    }
                }
            }
        }
        for owed in self.owed()?.iter().filter(|owed| is_old(&owed.stem)) {
            self.settle(owed)?;
            pruned += 1;
        }
        Ok(pruned)
    }
}

impl OwedReceipt {
    fn file(&self) -> String {
        format!("{},{},{}", self.stem, self.to, self.told)
    }

    fn of_file(machine: &MachineName, file: &str) -> Option<Self> {
        let mut words = file.split(',');
        let stem = MessageStem::of_file(&format!("{}.json", words.next()?))?;
        let (to, told) = (AgentName::new(words.next()?).ok()?, words.next()?.to_string());
        let is_word = told.bytes().all(|byte| byte.is_ascii_lowercase());
        (words.next().is_none() && is_word).then_some(Self { stem, to, machine: machine.clone(), told })
    }
}
