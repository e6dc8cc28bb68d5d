//! `link/state.json`: what the link process last said of itself, and `link/lock`, which it holds while it lives.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::store::error::StoreError;
use crate::store::handles::LinkFiles;
use crate::store::wire::{pretty, time};
use crate::sys::clock;
use crate::sys::files;
use crate::sys::flock::{self, FileLock};

/// The pause between two starts of a link process.
const START_PAUSE: Duration = Duration::from_secs(2);

/// How far the link process is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum LinkStage {
    Connecting,
    /// It has its lease, and the mirror follows.
    Linked,
    /// The server is not reached. It tries again.
    Unreachable,
    /// The server, or what it has, can't be used. It tries again, but a person has to do something.
    Refused,
    Stopped,
}

impl LinkStage {
    pub fn name(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Linked => "linked",
            Self::Unreachable => "unreachable",
            Self::Refused => "refused",
            Self::Stopped => "stopped",
        }
    }
}

/// Why it is not linked, for a person.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct LinkProblem {
    pub kind: String,
    pub text: String,
    pub hints: Vec<String>,
}

/// What is known of the server.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerSummary {
    pub name: String,
    pub version: String,
    pub api_level: u64,
    pub cluster: Option<String>,
    pub is_encrypted: bool,
    pub round_trip_micros: u64,
    /// How far the server's clock is ahead of ours.
    pub clock_offset_millis: Option<i64>,
}

/// What the link process said of itself.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LinkState {
    pub stage: LinkStage,
    pub pid: i32,
    /// The version of `msg` that it runs.
    pub version: String,
    #[serde(with = "time")]
    pub started_at: Timestamp,
    /// Since when it is at this stage.
    #[serde(with = "time")]
    pub since: Timestamp,
    /// When the server last confirmed something. The mirror is as old as that.
    #[serde(default, with = "time::option")]
    pub last_contact: Option<Timestamp>,
    /// The epoch of its lease. A link that starts again before the lease is over goes on with it.
    #[serde(default)]
    pub epoch: Option<String>,
    #[serde(default)]
    pub problem: Option<LinkProblem>,
    #[serde(default)]
    pub server: Option<ServerSummary>,
    /// Messages that the server does not have yet.
    #[serde(default)]
    pub queued: usize,
    /// Other machines that have their lease.
    #[serde(default)]
    pub machines: Vec<String>,
}

impl LinkFiles<'_> {
    /// What the link process last said. One that can't be read counts as none: the process says it again.
    pub fn state(self) -> Result<Option<LinkState>, StoreError> {
        let bytes = files::read(&self.mesh.layout.link("state.json"))?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Nothing is written if somebody has removed the mesh.
    pub fn set_state(self, state: &LinkState) -> Result<(), StoreError> {
        if !files::exists(&self.mesh.layout.directory("link"))? {
            return Ok(());
        }
        Ok(self.mesh.files.replace(&self.mesh.layout.link("state.json"), &pretty(state))?)
    }

    /// The lock of the link process; an error if another one has it. The kernel frees it with the process. Whoever only
    /// looks has it for a moment, so it waits for `limit`.
    pub fn lock(self, limit: Duration) -> Result<FileLock, StoreError> {
        self.mesh.tighten()?;
        self.make_directory()?;
        Ok(FileLock::acquire(&self.mesh.layout.link("lock"), limit)?)
    }

    /// Whether a link process lives.
    pub fn is_running(self) -> Result<bool, StoreError> {
        let path = self.mesh.layout.link("lock");
        if !files::exists(&path)? {
            return Ok(false);
        }
        Ok(FileLock::try_acquire(&path)?.is_none())
    }

    /// Whether it is time to start a link process: nobody has done so within the last two seconds. Notes that somebody
    /// does now.
    pub fn may_start(self) -> Result<bool, StoreError> {
        let mark = self.mesh.layout.link("started");
        let last = files::metadata(&mark)?.and_then(|metadata| metadata.modified().ok());
        if last.is_some_and(|last| clock::age(last) < START_PAUSE) {
            return Ok(false);
        }
        files::touch(&mark)?;
        Ok(true)
    }

    /// Whether the server was told of the tasks that were completed here before the mesh was linked. Once is enough: what
    /// another machine has reopened since must not be completed again.
    pub fn has_shared_completions(self) -> Result<bool, StoreError> {
        Ok(files::exists(&self.mesh.layout.link("shared"))?)
    }

    pub fn note_shared_completions(self) -> Result<(), StoreError> {
        Ok(files::touch(&self.mesh.layout.link("shared"))?)
    }

    /// The process that holds the lock.
    pub fn pid(self) -> Option<crate::domain::Pid> {
        flock::holder(&self.mesh.layout.link("lock"))
    }

    /// The directories whose changes may concern other machines.
    pub fn directories_to_watch(self) -> Vec<std::path::PathBuf> {
        vec![self.mesh.layout.root().to_path_buf(), self.mesh.layout.registry()]
    }

    /// The path of its socket.
    pub fn socket(self) -> std::path::PathBuf {
        self.mesh.layout.link("socket")
    }
}
