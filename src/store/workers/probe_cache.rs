//! What was last found out about harnesses and local model servers, in the user's cache directory. A cache that is
//! damaged, or of another version, is made again.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::settings::Durability;
use crate::store::error::StoreError;
use crate::store::wire::pretty;
use crate::sys::environment::Home;
use crate::sys::files::{self, FileError, FileStamp, Files};
use crate::sys::flock::FileLock;

const FORMAT: u64 = 1;

/// What one look found out.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProbeRecord {
    format: u64,
    #[serde(with = "crate::store::wire::time")]
    pub at: Timestamp,
    pub harnesses: Vec<ProbedHarness>,
    pub servers: Vec<ProbedServer>,
}

/// A program that was asked for its version.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProbedHarness {
    pub name: String,
    pub path: PathBuf,
    /// The file at that time: another one may be another version.
    pub stamp: FileStamp,
    pub version: Option<String>,
    /// Why it did not tell its version.
    pub trouble: Option<String>,
}

/// A local model server that answered.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProbedServer {
    pub name: String,
    pub url: String,
    pub models: Vec<String>,
}

impl ProbedHarness {
    /// Whether the program is still the one that was asked.
    pub fn is_unchanged(&self) -> bool {
        let now = files::metadata(&self.path).ok().flatten().map(|metadata| FileStamp::of(&metadata));
        now == Some(self.stamp)
    }
}

impl ProbeRecord {
    pub fn new(at: Timestamp, harnesses: Vec<ProbedHarness>, servers: Vec<ProbedServer>) -> Self {
        Self { format: FORMAT, at, harnesses, servers }
    }
}

#[derive(Clone, Debug)]
pub struct ProbeCache {
    path: PathBuf,
    files: Files,
}

impl ProbeCache {
    pub fn of(home: &Home) -> Self {
        let dir = home.cache.join("ravenry");
        // What is lost in a power failure is made again.
        Self { path: dir.join("workers.json"), files: Files::new(dir.join("tmp"), Durability::Process) }
    }

    /// What was found out last; `None` if nothing can be used.
    pub fn load(&self) -> Option<ProbeRecord> {
        let bytes = files::read_note(&self.path).ok()??;
        let record: ProbeRecord = serde_json::from_slice(&bytes).ok()?;
        (record.format == FORMAT).then_some(record)
    }

    /// The right to ask for everybody; `None` if somebody asks already.
    pub fn try_lock(&self) -> Result<Option<FileLock>, StoreError> {
        let dir = self.path.parent().unwrap_or(&self.path);
        if !files::exists(dir)? {
            files::create_dir(dir)?;
        }
        Ok(FileLock::try_acquire(&dir.join("workers.lock"))?)
    }

    pub fn keep(&self, record: &ProbeRecord) -> Result<(), StoreError> {
        // In a sandbox and on a full disk, everybody asks again.
        let is_expected = |error: &FileError| error.is_forbidden() || error.is_full();
        match self.files.replace(&self.path, &pretty(record)) {
            Err(error) if !is_expected(&error) => Err(error.into()),
            _ => Ok(()),
        }
    }
}
