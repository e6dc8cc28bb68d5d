//! `sessions/<hash>.json`: the last name, process and registration of each session.
//!
//! With it a session that comes back is recognised, and a registration that vanished while its agent is alive can be
//! written again.

use std::path::Path;
use std::time::SystemTime;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::registry::{Registration, UnreadableFile};
use crate::domain::{AgentName, SessionId};
use crate::store::error::{ParseError, StoreError};
use crate::store::handles::SessionRecords;
use crate::store::layout::Layout;
use crate::store::retrying_read::{self, FileContent, RetryBudget};
use crate::store::wire::{registration, time};
use crate::sys::files::{self, FileError};

/// The record of a session.
#[derive(Clone, Debug)]
pub struct SessionRecord {
    /// Its last registration.
    pub last: Registration,
    /// When it left by itself.
    pub left: Option<Timestamp>,
    pub evicted: Option<Eviction>,
}

/// A removal of an agent that may still be alive.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Eviction {
    /// The name of the agent that did it; `None` for a person who has not joined.
    pub by: Option<String>,
    #[serde(with = "time")]
    pub at: Timestamp,
}

impl SessionRecord {
    /// Whether the session neither left nor was evicted.
    pub fn is_current(&self) -> bool {
        self.left.is_none() && self.evicted.is_none()
    }

    /// The bytes to write over `before`. Keys that only a later version knows are kept.
    pub(in crate::store) fn bytes_over(&self, before: &[u8]) -> Vec<u8> {
        let rest = serde_json::from_slice(before).map(|keys: Keys| keys.rest).unwrap_or_default();
        crate::store::wire::pretty(&Keys {
            session_id: self.last.agent.session.to_string(),
            name: self.last.agent.name.to_string(),
            left: self.left,
            evicted: self.evicted.clone(),
            registration: self.last.copy(),
            rest,
        })
    }
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Keys {
    session_id: String,
    name: String,
    #[serde(default, with = "time::option", skip_serializing_if = "Option::is_none")]
    left: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evicted: Option<Eviction>,
    registration: Map<String, Value>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// The record of that session; `None` if there is none.
pub(in crate::store) fn read(
    layout: &Layout,
    session: &SessionId,
) -> Result<Option<SessionRecord>, StoreError> {
    let path = layout.session(session);
    let record = retrying_read::read(&path, RetryBudget::Own, parse)?.or_corrupt(path)?;
    Ok(record.filter(|record| record.last.agent.session == *session))
}

/// The record in that file; `None` if there is no file, or it cannot be parsed.
pub(in crate::store) fn read_file(path: &Path) -> Result<Option<SessionRecord>, FileError> {
    Ok(retrying_read::read(path, RetryBudget::Own, parse)?.parsed())
}

/// The name that the session had last, without parsing the rest; `None` if it cannot be read.
pub(in crate::store) fn name(layout: &Layout, session: &SessionId) -> Result<Option<AgentName>, StoreError> {
    #[derive(Deserialize)]
    struct Name<'t> {
        name: &'t str,
    }
    let Some(bytes) = files::read_note(&layout.session(session))? else { return Ok(None) };
    let name = serde_json::from_slice::<Name<'_>>(&bytes).ok().map(|keys| keys.name);
    Ok(name.and_then(|name| AgentName::new(name).ok()))
}

/// Every session record, and the files that cannot be parsed.
#[derive(Clone, Debug, Default)]
pub struct SessionScan {
    pub records: Vec<SessionRecord>,
    pub unreadable: Vec<UnreadableFile>,
}

pub(in crate::store) fn all(layout: &Layout) -> Result<SessionScan, FileError> {
    let mut sessions = SessionScan::default();
    for file_name in files::list(&layout.sessions())? {
        let Some(stem) = file_name.strip_suffix(".json") else { continue };
        let path = layout.sessions().join(&file_name);
        match retrying_read::read(&path, RetryBudget::Own, parse)? {
            FileContent::Absent => {}
            FileContent::Parsed(record) => sessions.records.push(record),
            FileContent::Unparsable(error) => {
                let (stem, path, reason) = (stem.to_string(), path.display().to_string(), error.to_string());
                sessions.unreadable.push(UnreadableFile { stem, path, reason, told: None });
            }
        }
    }
    Ok(sessions)
}

/// The session that had the name last and did not give it up; mail in that inbox is for it. A session's record is
/// rewritten with every change of its registration, so the newest record is the last owner's. Returns the record and
/// the time when it was written.
pub(in crate::store) fn last_owner(
    layout: &Layout,
    name: &AgentName,
) -> Result<Option<(SystemTime, SessionRecord)>, FileError> {
    let mut last: Option<(SystemTime, SessionRecord)> = None;
    for file_name in files::list(&layout.sessions())? {
        // Other files would be read again several times, in case they are half written.
        if !file_name.ends_with(".json") {
            continue;
        }
        let path = layout.sessions().join(&file_name);
        let Some(record) = retrying_read::read(&path, RetryBudget::Own, parse)?.parsed() else { continue };
        let had_it = record.last.agent.all_names().any(|own| own.as_str() == name.as_str());
        let written = files::metadata(&path)?.and_then(|metadata| metadata.modified().ok());
        let Some(written) = written else { continue };
        if had_it && record.is_current() && last.as_ref().is_none_or(|(newest, _)| *newest <= written) {
            last = Some((written, record));
        }
    }
    Ok(last)
}

impl SessionRecords<'_> {
    pub fn get(self, session: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
        read(&self.mesh.layout, session)
    }

    /// The name that the session had last, if it is known.
    pub fn last_name(self, session: &SessionId) -> Result<Option<AgentName>, StoreError> {
        name(&self.mesh.layout, session)
    }

    pub fn all(self) -> Result<SessionScan, StoreError> {
        Ok(all(&self.mesh.layout)?)
    }
}

fn parse(bytes: &[u8]) -> Result<SessionRecord, ParseError> {
    let keys: Keys = serde_json::from_slice(bytes).map_err(ParseError::new)?;
    let agent = registration::parse_value(&keys.registration)?;
    let last = Registration::of_document(agent, &keys.registration);
    Ok(SessionRecord { last, left: keys.left, evicted: keys.evicted })
}
