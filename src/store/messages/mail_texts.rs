//! Reads the texts of messages for the search: those of `sent/` and `seen/` from a cache below `search/`, one file for each
//! directory.
//!
//! The directory is the truth. A cache of which the directory has the same state is used as it is. Otherwise the directory
//! is listed, and only messages that the cache does not have are read. The cache is replaced whole, so it can be removed at
//! any time, and a process that is killed leaves the old one. What is found is read again from its own file: the cache
//! never shows a message that is not there any more.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use super::archive::{MessageLocation, StoredMessage, read};
use super::mail_pack::{self, MailPack, MailPackBuilder};
use super::message_files::{DotFile, MessageStem, SeenRecord, SentRecord};
use crate::domain::settings::Durability;
use crate::domain::{Agent, AgentName};
use crate::store::agents::grave_id::GraveId;
use crate::store::error::StoreError;
use crate::store::handles::Archive;
use crate::sys::clock;
use crate::sys::files::{self, FileStamp, Files};

/// A directory that was changed more recently may change again within the same tick of the clock of the file system.
const SETTLED: Duration = Duration::from_secs(2);
/// So many changes are read each time, and only more of them are worth a new cache at once.
const FEW: usize = 64;
/// A cache that nobody used for so long is removed.
const UNUSED: Duration = Duration::from_secs(60 * 24 * 3600);

/// Which directory messages lie in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum MailDirectory {
    Sent,
    Seen,
    Unread,
}

/// The messages of one directory.
#[derive(Debug)]
pub struct MailTexts {
    directory: MailDirectory,
    path: PathBuf,
    pack: MailPack,
    /// The present names of the files, if the directory was changed since; `None` for one that is gone.
    names: Option<Vec<Option<String>>>,
    /// What is older belongs to somebody who had the name before.
    from: Option<Timestamp>,
}

/// A message that was found by its text.
#[derive(Clone, Debug)]
pub struct MailRecord<'a> {
    pub stem: MessageStem,
    pub from: &'a str,
    pub to: &'a str,
    /// Its thread, or its own id: that is the thread of the answers to it.
    pub thread: &'a str,
    pub at: Timestamp,
    file: &'a str,
    place: MessageLocation,
}

/// The messages that a search looks through.
#[derive(Debug, Default)]
pub struct SearchedMail {
    pub texts: Vec<MailTexts>,
    /// Why a cache could not be written. The search is right without it.
    pub unsaved: Option<StoreError>,
}

impl MailTexts {
    /// The texts as they are searched, and where each begins.
    pub fn texts(&self) -> (&str, Vec<u32>) {
        self.pack.texts()
    }

    pub fn len(&self) -> usize {
        self.pack.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The message with that number; `None` if it is gone, or not of this agent.
    pub fn record(&self, number: usize) -> Option<MailRecord<'_>> {
        let head = self.pack.head(number)?;
        let file = match &self.names {
            Some(names) => names.get(number)?.as_deref()?,
            None => head.file,
        };
        let (stem, place) = parse(self.directory, file)?;
        let is_own = |from: Timestamp| match &place {
            MessageLocation::Seen(seen) => seen.at >= from,
            MessageLocation::Sent(_) => stem.stamp().is_none_or(|stamp| stamp.timestamp() >= from),
            MessageLocation::Inbox | MessageLocation::InHand => true,
        };
        let is_expired = match &place {
            MessageLocation::Seen(seen) => seen.is_expired(),
            MessageLocation::Inbox => stem.is_expired(clock::now()),
            MessageLocation::Sent(_) | MessageLocation::InHand => false,
        };
        if is_expired || !self.from.is_none_or(is_own) {
            return None;
        }
        let at = Timestamp::from_millisecond(head.at).ok()?;
        Some(MailRecord { stem, from: head.from, to: head.to, thread: head.thread, at, file, place })
    }

    /// Reads the message. `None`: it is gone, or cannot be read.
    pub fn load(&self, record: &MailRecord<'_>) -> Result<Option<StoredMessage>, StoreError> {
        let stored = |message, place| StoredMessage { stem: record.stem.clone(), message, place };
        if let Some(message) = read(&self.path.join(record.file))? {
            return Ok(Some(stored(message, record.place.clone())));
        }
        // It may have been confirmed meanwhile, which changes the name of its file.
        for file in files::list_from(&self.path, record.stem.as_str())? {
            let Some((stem, place)) = parse(self.directory, &file) else { continue };
            if stem != record.stem {
                break;
            }
            return Ok(read(&self.path.join(&file))?.map(|message| stored(message, place)));
        }
        Ok(None)
    }
}

impl MailRecord<'_> {
    pub fn short_id(&self) -> &str {
        self.stem.short_id()
    }

    /// Whether `text` is its six letters, its id, or a prefix of either. The id of a foreign message is known only if that has
    /// no thread.
    pub fn is_meant_by(&self, text: &str) -> bool {
        self.stem.is_meant_by(text) || self.is_named(text)
    }

    /// Whether `text` is its six letters or its whole id, or those of the first message of its thread.
    pub fn is_named(&self, text: &str) -> bool {
        self.stem.is_named(self.thread, text)
    }
}

impl Archive<'_> {
    /// The messages that the agent sent and received.
    pub fn texts_of(self, agent: &Agent) -> Result<SearchedMail, StoreError> {
        let mut mail = SearchedMail::default();
        for name in agent.all_names() {
            self.add_texts(&mut mail, name, Some(agent.joined_at))?;
        }
        Ok(mail)
    }

    /// The messages of everybody, those of agents that are gone included.
    pub fn all_texts(self) -> Result<SearchedMail, StoreError> {
        let layout = &self.mesh.layout;
        let mut names: Vec<String> = Vec::new();
        for dir in ["inbox", "seen", "sent"] {
            names.extend(files::list(&layout.directory(dir))?);
        }
        names.sort_unstable();
        names.dedup();
        let mut mail = SearchedMail::default();
        for name in names.into_iter().filter_map(|name| AgentName::new(name).ok()) {
            self.add_texts(&mut mail, &name, None)?;
        }
        for grave in files::list(&layout.graves())?.iter().filter_map(|file| GraveId::parse(file)) {
            self.add_unread(&mut mail, layout.grave(&grave).join("inbox"), None)?;
        }
        Ok(mail)
    }

    fn add_texts(
        self,
        mail: &mut SearchedMail,
        name: &AgentName,
        from: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let layout = &self.mesh.layout;
        // First: what is read meanwhile is found again among what was read.
        self.add_unread(mail, layout.inbox(name), from)?;
        self.add_cached(
            mail,
            MailDirectory::Sent,
            (layout.sent(name), layout.mail_texts("sent", name)),
            from,
        )?;
        self.add_cached(mail, MailDirectory::Seen, (layout.seen(name), layout.mail_texts("seen", name)), from)
    }

    fn add_unread(
        self,
        mail: &mut SearchedMail,
        path: PathBuf,
        from: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let mut pack = MailPackBuilder::default();
        for file in files::list(&path)? {
            if parse(MailDirectory::Unread, &file).is_some()
                && let Some(message) = read(&path.join(&file))?
            {
                pack.add(&file, &message);
            }
        }
        let pack = pack.finish(None);
        mail.texts.push(MailTexts { directory: MailDirectory::Unread, path, pack, names: None, from });
        Ok(())
    }

    fn add_cached(
        self,
        mail: &mut SearchedMail,
        directory: MailDirectory,
        (path, cache): (PathBuf, PathBuf),
        from: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let Some(metadata) = files::metadata(&path)? else { return Ok(()) };
        // The state is older than the list, so at worst the cache does not hold.
        let state = FileStamp::of(&metadata);
        let is_settled = clock::age(state.newest()) > SETTLED;
        let cached = match files::read_at_most(&cache, mail_pack::MOST as u64) {
            Ok(read) => read.content().and_then(MailPack::decode),
            Err(error) => {
                mail.unsaved = Some(error.into());
                None
            }
        };
        let old = match cached {
            Some(pack) if pack.is_of(state) => {
                mail.texts.push(MailTexts { directory, path, pack, names: None, from });
                return Ok(());
            }
            Some(pack) => pack,
            None => MailPackBuilder::default().finish(None),
        };
        let listed = ListedFiles::of(directory, &path, &old)?;
        if is_settled || listed.changes > FEW {
            let pack = listed.repacked(&path, &old)?.finish(is_settled.then_some(state));
            if let Err(error) = self.keep(&cache, &pack) {
                mail.unsaved = Some(error);
            }
            mail.texts.push(MailTexts { directory, path, pack, names: None, from });
            return Ok(());
        }
        let mut fresh = MailPackBuilder::default();
        for file in &listed.fresh {
            if let Some(message) = read(&path.join(file))? {
                fresh.add(file, &message);
            }
        }
        let fresh = fresh.finish(None);
        mail.texts.push(MailTexts { directory, path: path.clone(), pack: fresh, names: None, from });
        mail.texts.push(MailTexts { directory, path, pack: old, names: Some(listed.known), from });
        Ok(())
    }

    fn keep(self, cache: &Path, pack: &MailPack) -> Result<(), StoreError> {
        self.mesh.tighten()?;
        let dir = self.mesh.layout.directory("search");
        files::create_dir(&dir)?;
        for name in files::list(&dir)? {
            let path = dir.join(name);
            let changed = files::metadata(&path)?.and_then(|metadata| metadata.modified().ok());
            if changed.is_some_and(|changed| clock::age(changed) > UNUSED) {
                files::remove(&path)?;
            }
        }
        // What is lost in a power failure is made again.
        Ok(Files::new(self.mesh.layout.tmp(), Durability::Process).replace(cache, pack.encode())?)
    }
}

/// The files of a directory, compared with a pack.
struct ListedFiles {
    /// The present names of what is in the pack.
    known: Vec<Option<String>>,
    /// Those that the pack does not have.
    fresh: Vec<String>,
    /// How many files came or went.
    changes: usize,
}

impl ListedFiles {
    fn of(directory: MailDirectory, path: &Path, pack: &MailPack) -> Result<Self, StoreError> {
        let numbers =
            (0..pack.len()).filter_map(|number| Some((key(directory, pack.head(number)?.file), number)));
        let numbers: HashMap<&str, usize> = numbers.collect();
        let mut known: Vec<Option<String>> = vec![None; pack.len()];
        let mut fresh = Vec::new();
        for file in files::list(path)? {
            if parse(directory, &file).is_none() {
                continue;
            }
            match numbers.get(key(directory, &file)) {
                Some(number) => known[*number] = Some(file),
                None => fresh.push(file),
            }
        }
        let changes = fresh.len() + known.iter().filter(|name| name.is_none()).count();
        Ok(Self { known, fresh, changes })
    }

    /// A pack of what is there now.
    fn repacked(&self, path: &Path, old: &MailPack) -> Result<MailPackBuilder, StoreError> {
        let mut pack = MailPackBuilder::default();
        for (number, name) in self.known.iter().enumerate() {
            if let Some(name) = name {
                pack.take_over(old, number, name);
            }
        }
        for file in &self.fresh {
            if let Some(message) = read(&path.join(file))? {
                pack.add(file, &message);
            }
        }
        Ok(pack)
    }
}

/// The part of a file name that stays when a message is confirmed or its notification is recorded.
fn key(directory: MailDirectory, file: &str) -> &str {
    let parts = if directory == MailDirectory::Sent { 2 } else { 1 };
    let end = file.match_indices(',').nth(parts - 1).map_or(file.len(), |(at, _)| at);
    file[..end].trim_end_matches(".json")
}

/// What the name of a file says; `None`: it is not a message.
fn parse(directory: MailDirectory, file: &str) -> Option<(MessageStem, MessageLocation)> {
    match directory {
        MailDirectory::Sent => {
            SentRecord::of_file(file).map(|sent| (sent.stem.clone(), MessageLocation::Sent(sent)))
        }
        MailDirectory::Seen => {
            SeenRecord::of_file(file).map(|seen| (seen.stem.clone(), MessageLocation::Seen(seen)))
        }
        MailDirectory::Unread => match DotFile::of_file(file) {
            Some(DotFile::Parked(stem)) => Some((stem, MessageLocation::Inbox)),
            Some(DotFile::Taken(stem, _)) => Some((stem, MessageLocation::InHand)),
            None => MessageStem::of_file(file).map(|stem| (stem, MessageLocation::Inbox)),
        },
    }
}
