//! `registry/`: reading one registration, or all of them (the census).

mod contested_paths;

use std::path::Path;

use serde_json::{Map, Value};

use crate::domain::TaskRef;
use crate::domain::{Agent, AgentName, Liveness};
use crate::store::error::{ParseError, StoreError};
use crate::store::handles::Registry;
use crate::store::layout::{Layout, taken_name};
use crate::store::retrying_read::{self, FileContent, RetryBudget};
use crate::store::wire::surrogates::{self, SurrogateEscapes};
use crate::store::wire::{odd_registration, registration};
use crate::sys::files::{self, FileError};
use crate::sys::{process, test_switches};

/// A registration as read from disk: the fields that we know, and the whole document, to keep those that we don't know.
#[derive(Clone, Debug)]
pub struct Registration {
    pub agent: Agent,
    /// A JSON object. It is parsed again only for writing, because reading is far more frequent.
    whole: Vec<u8>,
}

impl Registration {
    /// A registration that has not been written yet.
    pub fn new(agent: Agent) -> Self {
        Self { agent, whole: b"{}".to_vec() }
    }

    /// Not proven dead: it keeps what it has.
    pub fn is_live(&self) -> bool {
        process::liveness(&self.agent.process) != Liveness::Gone
    }

    pub(in crate::store) fn of_document(agent: Agent, document: &Map<String, Value>) -> Self {
        Self { agent, whole: crate::store::wire::pretty(document) }
    }

    /// Replaces the agent and keeps the document, with everything that others wrote there.
    pub fn with(self, agent: Agent) -> Self {
        Self { agent, whole: self.whole }
    }

    /// The bytes to write to `path`: the whole document with the fields that we know updated.
    ///
    /// Fails if the document cannot be written again. Reading skips fields that we don't know, so one of them may be
    /// invalid, such as a number that is too large.
    pub(in crate::store) fn bytes(&self, path: &Path) -> Result<Vec<u8>, StoreError> {
        let (mut document, escapes): (Map<String, Value>, SurrogateEscapes) =
            SurrogateEscapes::read(&self.whole).map_err(|error| {
                let reason = format!("what others wrote into it can't be kept: {error}");
                StoreError::Corrupt { path: path.to_path_buf(), reason }
            })?;
        registration::overlay(&mut document, &self.agent);
        Ok(escapes.written(crate::store::wire::pretty(&document)))
    }

    /// The same for a copy elsewhere. If the document cannot be written again, only the fields that we know are in it;
    /// the file itself keeps the rest.
    pub(in crate::store) fn copy(&self) -> Map<String, Value> {
        let mut document = surrogates::from_slice(&self.whole).unwrap_or_default();
        registration::overlay(&mut document, &self.agent);
        document
    }
}

/// A registration that cannot be parsed. Its name stays taken, and it is never deleted.
#[derive(Clone, Debug)]
pub struct UnreadableFile {
    /// The file's name without its extension. It need not be a valid agent name.
    pub stem: String,
    pub path: String,
    pub reason: String,
    /// For an odd registration of pi-messenger's: what could be read of it, under a made-up name.
    pub told: Option<Box<Registration>>,
}

/// All registrations.
#[derive(Clone, Debug, Default)]
pub struct Census {
    pub records: Vec<Registration>,
    pub unreadable: Vec<UnreadableFile>,
    /// Leftovers of interrupted renames: registrations of the same agents under former names.
    pub superseded: Vec<Registration>,
    /// Whether a burial is in progress, or was interrupted, while it checked whose registration it had.
    pub has_taken: bool,
}

impl Census {
    /// The agent with that name, or with a former name that has not expired. An exact match takes precedence over one
    /// that differs in case.
    pub fn find(&self, name: &AgentName, now: jiff::Timestamp) -> Option<&Registration> {
        let exact = self.records.iter().find(|record| record.agent.name.is_spelled_as(name));
        if exact.is_some() {
            return exact;
        }
        let present = self.records.iter().find(|record| record.agent.name == *name);
        present.or_else(|| self.records.iter().find(|record| record.agent.answers_to(name, now)))
    }

    /// The agents of this machine.
    pub fn local(&self) -> impl Iterator<Item = &Registration> + Clone {
        self.records.iter().filter(|record| !record.agent.is_remote())
    }

    /// Whether an agent of this machine has or had exactly that name, or an unreadable registration has it.
    pub(in crate::store) fn has_owner(&self, name: &AgentName) -> bool {
        let mut records = self.local().chain(&self.superseded);
        records.any(|record| record.agent.all_names().any(|own| own.is_spelled_as(name)))
            || self.unreadable.iter().any(|file| file.stem == name.as_str())
    }

    /// Whether somebody holds something in every work tree of a repository.
    pub fn has_repository_reservation(&self) -> bool {
        self.records.iter().any(|record| record.agent.holds_in_repository())
    }

    /// What could be read of odd registrations.
    pub fn odd(&self) -> impl Iterator<Item = &Registration> {
        self.unreadable.iter().filter_map(|file| file.told.as_deref())
    }

    /// The unreadable registration with that name, if any.
    pub fn unreadable(&self, name: &AgentName) -> Option<&UnreadableFile> {
        self.unreadable.iter().find(|file| file.stem.eq_ignore_ascii_case(name.as_str()))
    }

    pub(in crate::store) fn set_superseded_aside(&mut self) {
        let all = std::mem::take(&mut self.records);
        // Only an agent that was renamed can supersede another registration.
        let renamed: Vec<Agent> = all
            .iter()
            .filter(|record| !record.agent.formerly.is_empty())
            .map(|record| record.agent.clone())
            .collect();
        let is_old = |record: &Registration| renamed.iter().any(|newer| record.agent.is_superseded_by(newer));
        (self.superseded, self.records) = all.into_iter().partition(is_old);
    }
}

/// All registrations at one moment. A file that was listed but is gone when it is read may have been renamed to one
/// that was not listed. Then the directory is listed again, up to five times in all.
pub(in crate::store) fn census(layout: &Layout) -> Result<Census, FileError> {
    const LOOKS: usize = 5;
    let mut last = None;
    for _ in 0..LOOKS {
        let (mut census, all_there) = take_census(layout)?;
        census.set_superseded_aside();
        if all_there {
            return Ok(census);
        }
        last = Some(census);
    }
    Ok(last.unwrap_or_default())
}

impl Registry<'_> {
    /// All registrations, of dead agents too, and the agents on other machines. A name that is taken here leads to the
    /// agent here.
    pub fn census(self) -> Result<Census, StoreError> {
        let mut census = self.local_census()?;
        let elsewhere = self.mesh.remote().agents()?;
        let is_free = |record: &Registration| !census.has_owner(&record.agent.name);
        let elsewhere: Vec<Registration> = elsewhere.into_iter().filter(is_free).collect();
        census.records.extend(elsewhere);
        Ok(census)
    }

    /// The registrations of this machine alone.
    pub fn local_census(self) -> Result<Census, StoreError> {
        let mut census = census(&self.mesh.layout)?;
        self.leave_out_unbound(&mut census);
        contested_paths::pass_on(self.mesh, &mut census);
        Ok(census)
    }

    /// Drops reservations that were made with a task that their holder no longer has. If the claims cannot be read, all
    /// reservations stay.
    pub(in crate::store) fn leave_out_unbound(self, census: &mut Census) {
        let has_task =
            |record: &Registration| record.agent.reservations.iter().any(|held| held.task.is_some());
        if !census.records.iter().any(has_task) {
            return;
        }
        let Ok(claims) = self.mesh.tasks().claims() else { return };
        let done = self.mesh.tasks().done_since_claims();
        let is_done = |task: &TaskRef| done.as_ref().is_some_and(|done| done.has(&task.spec, &task.id));
        for record in &mut census.records {
            let agent = record.agent.clone();
            let has = |task: &TaskRef| claims.has(&agent, task) && !is_done(task);
            record.agent.reservations.retain(|held| held.task.as_ref().is_none_or(has));
        }
    }

    /// Reads that file of the registry; `None` if there is none.
    pub(in crate::store) fn file(self, stem: &str) -> Option<Result<Registration, UnreadableFile>> {
        read_alone(&self.mesh.layout.registry().join(format!("{stem}.json")), stem)
    }

    /// The registration with exactly that name, if it is readable.
    pub fn get(self, name: &AgentName) -> Result<Option<Registration>, StoreError> {
        let read = read(&self.mesh.layout.registration(name), name.as_str())?;
        Ok(read.and_then(Result::ok))
    }
}

fn take_census(layout: &Layout) -> Result<(Census, bool), FileError> {
    let dir = layout.registry();
    let mut census = Census::default();
    let mut all_there = true;
    for file_name in files::list(&dir)? {
        let Some(stem) = file_name.strip_suffix(".json") else {
            census.has_taken |= taken_name(&file_name).is_some();
            continue;
        };
        match read_alone(&dir.join(&file_name), stem) {
            Some(Ok(record)) => census.records.push(record),
            Some(Err(unreadable)) => census.unreadable.push(unreadable),
            None => all_there = false,
        }
    }
    Ok((census, all_there))
}

/// Reads one of many registrations: an error makes this one unreadable and does not stop the others from being read.
pub(in crate::store) fn read_alone(path: &Path, stem: &str) -> Option<Result<Registration, UnreadableFile>> {
    let unreadable = |error: FileError| {
        let path = path.display().to_string();
        Some(Err(UnreadableFile { stem: stem.to_string(), path, reason: error.to_string(), told: None }))
    };
    read(path, stem).unwrap_or_else(unreadable)
}

/// Reads one registration; `None` if there is no such file.
pub(in crate::store) fn read(
    path: &Path,
    stem: &str,
) -> Result<Option<Result<Registration, UnreadableFile>>, FileError> {
    let understand = |bytes: &[u8]| match registration::parse(bytes)? {
        agent if agent.name.as_str() != stem => {
            Err(ParseError::new(format!("it says that its name is `{}`", agent.name)))
        }
        agent => Ok(Registration { agent, whole: bytes.to_vec() }),
    };
    test_switches::count("registration");
    let unreadable = |error: ParseError, told: Option<Registration>| {
        let (stem, path, reason) = (stem.to_string(), path.display().to_string(), error.to_string());
        UnreadableFile { stem, path, reason, told: told.map(Box::new) }
    };
    // An odd registration is not half written, so it is not read again.
    let parse = |bytes: &[u8]| match understand(bytes) {
        Ok(record) => Ok(Ok(record)),
        Err(error) => match odd_registration::parse(bytes, stem) {
            Some(agent) => Ok(Err(unreadable(error, Some(Registration { agent, whole: bytes.to_vec() })))),
            None => Err(error),
        },
    };
    Ok(match retrying_read::read(path, RetryBudget::Shared, parse)? {
        FileContent::Absent => None,
        FileContent::Parsed(read) => Some(read),
        FileContent::Unparsable(error) => Some(Err(unreadable(error, None))),
    })
}
