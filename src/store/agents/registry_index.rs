//! `index`: a cache of registrations, so that most of them need not be read.
//!
//! For every registration it keeps the `stat` result at the time of reading, the session, the process and the heads of
//! its reservations. It is only a filter: registrations that pass are read from the registry, and decisions use those.
//! So a wrong line can cost time but never give a wrong answer, as long as no changed registration is taken for
//! unchanged. Hence git's rule: a file that was less than two seconds old when it was read is not trusted, because it
//! may change again within the same tick of the clock.

mod entries;

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::time::{Duration, SystemTime};

use super::registry::{self, Census, Registration};
use super::repository_records::RepositoryRecord;
use crate::domain::pattern::NormalPath;
use crate::domain::{Agent, AgentName, SessionId, mentions_repository, mentions_thing};
use crate::store::error::StoreError;
use crate::store::handles::Registry;
use crate::store::mesh::Mesh;
use crate::sys::clock;
use crate::sys::files::{self, FileStamp};
use entries::{END, Entries, Entry, HEADER, describe};

/// With fewer registrations than this, reading them all is faster than using the index.
const WORTH_IT: usize = 4;
/// A file younger than this when it is read may change again with the same `stat` result.
const YOUNG: Duration = Duration::from_secs(2);
/// The index is rewritten when more than one in this many registrations is missing from it.
const STALE_ONE_IN: usize = 16;

/// An index of agents on other machines. They have no file of their own to compare with: the index is replaced with them.
pub(in crate::store) fn describe_all(agents: &[Agent]) -> String {
    let mut text = String::from(HEADER);
    let mut sorted: Vec<&Agent> = agents.iter().collect();
    sorted.sort_by(|a, b| a.name.as_str().cmp(b.name.as_str()));
    sorted.into_iter().for_each(|agent| describe(&mut text, agent, &FileStamp::default()));
    text.push_str(END);
    text
}

/// A registered agent.
#[derive(Clone, Debug)]
pub enum ListedAgent {
    /// From the index: the process, and when the registration was written.
    Known {
        name: String,
        pid: i32,
        written: SystemTime,
    },
    Read(Box<Registration>),
}

/// A query: registrations that match any of these.
#[derive(Clone, Debug, Default)]
pub struct RegistryQuery<'a> {
    /// Reservations that cover one of these paths or are below it.
    pub heads: Vec<&'a NormalPath>,
    pub sessions: &'a [SessionId],
    /// Process ids.
    pub processes: Vec<i32>,
}

impl<'m> Registry<'m> {
    /// Lists the registry once, for several queries.
    pub fn indexed(self) -> Result<IndexedRegistry<'m>, StoreError> {
        let dir = self.mesh.layout.registry();
        let mut files = Vec::new();
        let mut text = String::new();
        let names = files::list(&dir)?;
        if names.len() >= WORTH_IT {
            // If the files cannot be examined, all registrations are read.
            let stamps = files::stamps(&dir, &names).unwrap_or_else(|_| vec![None; names.len()]);
            // A file that vanished may be there under another name that was not listed. Then all are read, too.
            if stamps.iter().all(Option::is_some) {
                files.reserve_exact(names.len());
                files.extend(names.into_iter().zip(stamps).filter_map(|(mut name, stamp)| {
                    let stem = name.strip_suffix(".json")?.len();
                    name.truncate(stem);
                    Some((name, stamp?))
                }));
            }
            files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            // An unreadable index counts as absent.
            let bytes = files::read_large(&self.mesh.layout.index()).ok().flatten().unwrap_or_default();
            text = String::from_utf8(bytes).unwrap_or_default();
        }
        Ok(IndexedRegistry {
            mesh: self.mesh,
            files,
            text,
            all: OnceCell::new(),
            remote: OnceCell::new(),
            learned: RefCell::default(),
            repositories: RefCell::default(),
        })
    }
}

/// The registry at one moment.
#[derive(Debug)]
pub struct IndexedRegistry<'m> {
    mesh: &'m Mesh,
    /// Sorted by name; empty if all registrations are read anyway.
    files: Vec<(String, FileStamp)>,
    /// The content of the index.
    text: String,
    /// All registrations of this machine, once they have been read.
    all: OnceCell<Census>,
    /// The content of the index of agents on other machines, once it has been read.
    remote: OnceCell<String>,
    /// The new content of the index, if it is out of date.
    learned: RefCell<Option<String>>,
    /// What git said about repositories, to be saved with the index.
    repositories: RefCell<Vec<RepositoryRecord>>,
}

impl IndexedRegistry<'_> {
    /// The registrations that match the query, and possibly others. Writes nothing.
    pub fn matching(&self, near: &RegistryQuery<'_>) -> Result<Cow<'_, Census>, StoreError> {
        let census = match self.files.is_empty() {
            true => self.everyone()?,
            false => match self.sift(near)? {
                Some((census, _)) => Cow::Owned(census),
                None => self.everyone()?,
            },
        };
        self.with_remote(census, near)
    }

    /// Adds the agents on other machines that match.
    fn with_remote<'c>(
        &self,
        census: Cow<'c, Census>,
        near: &RegistryQuery<'_>,
    ) -> Result<Cow<'c, Census>, StoreError> {
        let text = self.remote.get_or_init(|| self.mesh.remote().index());
        if text.is_empty() {
            return Ok(census);
        }
        let folded: Vec<NormalPath> = near.heads.iter().map(|head| head.folded()).collect();
        let mut found = Vec::new();
        for entry in Entries::of(text).filter(|entry| entry.has_near_head(near, &folded)) {
            let name = AgentName::new(entry.name).ok();
            found.extend(name.map(|name| self.mesh.remote().agent(&name)).transpose()?.flatten());
        }
        if found.is_empty() {
            return Ok(census);
        }
        let mut census = census.into_owned();
        census.records.extend(found);
        Ok(Cow::Owned(census))
    }

    /// Like [`Self::matching`]; if the index is out of date, its new content is kept for [`Self::update_index`].
    pub fn matching_and_update(&self, near: &RegistryQuery<'_>) -> Result<Cow<'_, Census>, StoreError> {
        if self.files.is_empty() {
            return self.with_remote(self.everyone()?, near);
        }
        let Some((census, learned)) = self.sift(near)? else {
            return self.with_remote(self.everyone()?, near);
        };
        if let Some(text) = learned {
            self.learned.replace(Some(text));
        }
        self.with_remote(Cow::Owned(census), near)
    }

    /// Whether an agent that the index knows holds something in every work tree of a repository. Agents that it does not
    /// know are read by every query.
    pub fn mentions_repository(&self) -> bool {
        mentions_repository(&self.text)
            || mentions_repository(self.remote.get_or_init(|| self.mesh.remote().index()))
    }

    /// Whether somebody may hold a thing that is not a file. `false` is certain; it reads a registration only if there
    /// are few.
    pub fn may_hold_thing(&self) -> Result<bool, StoreError> {
        if self.files.is_empty() {
            let all = self.everyone()?;
            return Ok(all.records.iter().chain(all.odd()).any(|record| record.agent.holds_thing()));
        }
        if mentions_thing(&self.text) {
            return Ok(true);
        }
        let mut index = Entries::of(&self.text).peekable();
        let is_known = |(name, stamp): &(String, FileStamp)| {
            while index.next_if(|entry| entry.name < name.as_str()).is_some() {}
            index.next_if(|entry| entry.name == name).is_some_and(|entry| entry.stamp == *stamp)
        };
        Ok(!self.files.iter().all(is_known))
    }

    /// Keeps what git said for [`Self::update_index`].
    pub fn keep_repositories(&self, records: Vec<RepositoryRecord>) {
        self.repositories.borrow_mut().extend(records);
    }

    /// Writes the index if a query has shown that it is out of date, and what git said about repositories. Takes no lock.
    pub fn update_index(&self) {
        self.repositories.take().iter().for_each(|record| self.mesh.repositories().save(record));
        if let Some(text) = self.learned.take() {
            // The index only saves time, so errors are ignored.
            drop(self.mesh.files.replace(&self.mesh.layout.index(), text.as_bytes()));
        }
    }

    /// All agents, without reading registrations that the index knows. Writes nothing.
    pub fn all_agents(&self) -> Result<Vec<ListedAgent>, StoreError> {
        let read = || {
            Ok(self
                .everyone()?
                .records
                .iter()
                .map(|record| ListedAgent::Read(Box::new(record.clone())))
                .collect())
        };
        if self.files.is_empty() {
            return read();
        }
        let mut index = Entries::of(&self.text).peekable();
        let mut roll = Vec::with_capacity(self.files.len());
        for (name, stamp) in &self.files {
            while index.next_if(|entry| entry.name < name.as_str()).is_some() {}
            match index.next_if(|entry| entry.name == name).filter(|entry| entry.stamp == *stamp) {
                Some(entry) => {
                    let written = stamp.newest();
                    roll.push(ListedAgent::Known { name: name.clone(), pid: entry.pid, written });
                }
                None => match self.mesh.registry().file(name) {
                    Some(record) => {
                        roll.extend(record.ok().map(|record| ListedAgent::Read(Box::new(record))));
                    }
                    // It is gone, and may be there under another name.
                    None => return read(),
                },
            }
        }
        Ok(roll)
    }

    fn everyone(&self) -> Result<Cow<'_, Census>, StoreError> {
        if let Some(all) = self.all.get() {
            return Ok(Cow::Borrowed(all));
        }
        let all = self.mesh.registry().local_census()?;
        Ok(Cow::Borrowed(self.all.get_or_init(|| all)))
    }

    /// The registrations that match, and the new content of the index if it is out of date. `None`: the registry has
    /// changed since it was listed.
    fn sift(&self, near: &RegistryQuery<'_>) -> Result<Option<(Census, Option<String>)>, StoreError> {
        let folded: Vec<NormalPath> = near.heads.iter().map(|head| head.folded()).collect();
        let mut index = Entries::of(&self.text).peekable();
        let lines = Vec::with_capacity(self.files.len());
        let mut sieve = Sieve { lines, ..Sieve::default() };
        for (name, stamp) in &self.files {
            // Both are sorted by name.
            while index.next_if(|entry| entry.name < name.as_str()).is_some() {}
            let known = index.next_if(|entry| entry.name == name).filter(|entry| entry.stamp == *stamp);
            match known {
                Some(entry) if !entry.is_near(near, &folded) => sieve.pass(entry),
                known => match self.mesh.registry().file(name) {
                    Some(read) => sieve.keep(read, stamp, known),
                    // It is gone, and may be there under another name.
                    None => return Ok(None),
                },
            }
        }
        let is_behind = sieve.stale * STALE_ONE_IN > self.files.len();
        let learned = is_behind.then(|| sieve.learned());
        sieve.census.set_superseded_aside();
        self.mesh.registry().leave_out_unbound(&mut sieve.census);
        Ok(Some((sieve.census, learned)))
    }
}

/// The result of one query.
#[derive(Default)]
struct Sieve<'t> {
    census: Census,
    /// The entries of the new index, sorted by name: existing ones, or registrations that were read.
    lines: Vec<Lines<'t>>,
    stale: usize,
}

enum Lines<'t> {
    Known(&'t str),
    /// The index of a record in the census.
    Read(usize, FileStamp),
}

impl<'t> Sieve<'t> {
    fn pass(&mut self, entry: Entry<'t>) {
        self.lines.push(Lines::Known(entry.lines));
    }

    fn keep(
        &mut self,
        read: Result<Registration, registry::UnreadableFile>,
        stamp: &FileStamp,
        known: Option<Entry<'t>>,
    ) {
        let record = match read {
            Ok(record) => record,
            Err(unreadable) => return self.census.unreadable.push(unreadable),
        };
        match known {
            Some(entry) => self.pass(entry),
            // These are read at every query anyway, so they are no reason to rewrite the index.
            None if clock::age(stamp.newest()) < YOUNG || is_for_reading(&record.agent) => {}
            None => {
                self.stale += 1;
                self.lines.push(Lines::Read(self.census.records.len(), *stamp));
            }
        }
        self.census.records.push(record);
    }

    fn learned(&self) -> String {
        let mut text = String::with_capacity(self.lines.len() * 512);
        text.push_str(HEADER);
        for lines in &self.lines {
            match lines {
                Lines::Known(lines) => text.push_str(lines),
                Lines::Read(number, stamp) => describe(&mut text, &self.census.records[*number].agent, stamp),
            }
        }
        text.push_str(END);
        text
    }
}

/// Whether it must be read every time: where a foreign agent's reservations lead depends on the links as they are now.
fn is_for_reading(agent: &Agent) -> bool {
    agent.is_foreign() && !agent.reservations.is_empty()
}
