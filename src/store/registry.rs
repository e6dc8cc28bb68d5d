//! Registrations: reading them all, or one.

use std::path::Path;

use serde_json::{Map, Value};

use super::error::StoreError;
use super::layout::Layout;
use super::patience;
use super::wire::registration;
use crate::domain::{Agent, AgentName};
use crate::sys::files::{self, FileError};

/// A registration as it lies on disk: what we know of it, and the whole, for the sake of what we don't know.
#[derive(Clone, Debug)]
pub struct Record {
    pub agent: Agent,
    /// A JSON object. It is taken apart only when it is to be written again: reading is what happens all the time.
    whole: Vec<u8>,
}

impl Record {
    /// A registration that nobody has written yet.
    pub fn new(agent: Agent) -> Self {
        Self { agent, whole: b"{}".to_vec() }
    }

    pub(super) fn of_document(agent: Agent, document: &Map<String, Value>) -> Self {
        Self { agent, whole: super::wire::pretty(document) }
    }

    /// Another agent over the same document: what others wrote there stays.
    pub fn with(self, agent: Agent) -> Self {
        Self { agent, whole: self.whole }
    }

    /// What is to be written: all that was there, with what we know laid over it.
    /// Reading skips what we don't know, so that may be worse JSON than can be written again: an emoji that was cut in
    /// half, a number that is too large. `path` is where it lies.
    pub(super) fn document(&self, path: &Path) -> Result<Map<String, Value>, StoreError> {
        let mut document = serde_json::from_slice(&self.whole).map_err(|error| {
            let reason = format!("what others wrote into it can't be kept: {error}");
            StoreError::Corrupt { path: path.to_path_buf(), reason }
        })?;
        registration::overlay(&mut document, &self.agent);
        Ok(document)
    }

    /// The same for a copy that is kept elsewhere. What can't be written again is left out: the file itself keeps it.
    pub(super) fn copy(&self) -> Map<String, Value> {
        let mut document = serde_json::from_slice(&self.whole).unwrap_or_default();
        registration::overlay(&mut document, &self.agent);
        document
    }

    pub(super) fn bytes(&self, path: &Path) -> Result<Vec<u8>, StoreError> {
        Ok(super::wire::pretty(&self.document(path)?))
    }
}

/// A registration that can't be understood. Its name stays taken, and it is never removed.
#[derive(Clone, Debug)]
pub struct Unreadable {
    /// The file's name without the extension; not always a name.
    pub stem: String,
    pub path: String,
    pub reason: String,
}

/// Everyone who is registered.
#[derive(Clone, Debug, Default)]
pub struct Census {
    pub records: Vec<Record>,
    pub unreadable: Vec<Unreadable>,
    /// What is left of renames that were cut short: the same agents under their former names.
    pub superseded: Vec<Record>,
}

impl Census {
    /// Whoever answers to the name, by its present name or by a former one that has not run out.
    pub fn find(&self, name: &AgentName, now: jiff::Timestamp) -> Option<&Record> {
        let present = self.records.iter().find(|record| record.agent.name == *name);
        present.or_else(|| self.records.iter().find(|record| record.agent.answers_to(name, now)))
    }

    /// The file of that name that can't be read, if there is one.
    pub fn unreadable(&self, name: &AgentName) -> Option<&Unreadable> {
        self.unreadable.iter().find(|file| file.stem.eq_ignore_ascii_case(name.as_str()))
    }

    pub(super) fn set_superseded_aside(&mut self) {
        let all = std::mem::take(&mut self.records);
        // Only an agent that was renamed can stand for another registration.
        let renamed: Vec<Agent> = all
            .iter()
            .filter(|record| !record.agent.formerly.is_empty())
            .map(|record| record.agent.clone())
            .collect();
        let is_old = |record: &Record| renamed.iter().any(|newer| record.agent.is_superseded_by(newer));
        (self.superseded, self.records) = all.into_iter().partition(is_old);
    }
}

/// Everyone, as of one moment: a file that was listed but is gone when it is read may have been renamed to one that was
/// not listed, so then the directory is listed again.
pub(super) fn census(layout: &Layout) -> Result<Census, FileError> {
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

fn take_census(layout: &Layout) -> Result<(Census, bool), FileError> {
    let dir = layout.registry();
    let mut census = Census::default();
    let mut all_there = true;
    for file_name in files::list(&dir)? {
        let Some(stem) = file_name.strip_suffix(".json") else { continue };
        match read(&dir.join(&file_name), stem)? {
            Some(Ok(record)) => census.records.push(record),
            Some(Err(unreadable)) => census.unreadable.push(unreadable),
            None => all_there = false,
        }
    }
    Ok((census, all_there))
}

/// One registration, or `None` if there is none.
pub(super) fn read(path: &Path, stem: &str) -> Result<Option<Result<Record, Unreadable>>, FileError> {
    let parse = |bytes: &[u8]| match registration::parse(bytes)? {
        agent if agent.name.as_str() != stem => Err(format!("it says that its name is `{}`", agent.name)),
        agent => Ok(Record { agent, whole: bytes.to_vec() }),
    };
    let unreadable = |reason| Unreadable { stem: stem.to_string(), path: path.display().to_string(), reason };
    Ok(patience::read(path, parse)?.map(|read| read.map_err(unreadable)))
}
