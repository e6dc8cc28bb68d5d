//! `work.json`: the worktree of a run, and what became of the work in it.
//!
//! It is written before the worktree is made, so that what a killed supervisor leaves can be found and saved. While the
//! supervisor lives, only it writes the file; afterwards whoever holds the lock of [`RunLedger::lock_work`].

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::runs::RunId;
use crate::store::error::StoreError;
use crate::store::handles::RunLedger;
use crate::store::wire::pretty;
use crate::sys::files;
use crate::sys::flock::FileLock;

/// How long to wait for another process that saves or merges the work of runs.
const LOCK_LIMIT: Duration = Duration::from_secs(600);

/// The worktree of a run.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkRecord {
    /// The run after which directory, branch and refs are named: itself, or the one that it continues.
    pub tree: String,
    /// The root of the work tree that it works for.
    pub project: String,
    /// The repository's own directory, by which it is recognised.
    pub repository: String,
    /// The main work tree of the repository, in case that the project is gone.
    pub main_root: Option<String>,
    /// The directory with the worktree in it.
    pub place: String,
    pub stage: WorkStage,
    /// The branch with its work.
    pub branch: Option<String>,
    /// Why there is no branch although something was changed, or why it is not where we put it.
    pub branch_note: Option<String>,
    /// The commit with all that it left.
    pub tip: Option<String>,
    /// The first paths that it changed, and how many there are.
    pub changed: Vec<String>,
    pub changed_count: usize,
    /// Files that are kept apart from its work, each with the reason.
    pub saved: Vec<String>,
    /// Why the directory is still there although the work is saved.
    pub kept: Option<String>,
    #[serde(default)]
    pub is_merged: bool,
    /// The commit that it starts from, if it was asked for by another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// How far the work of a run has come.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum WorkStage {
    /// The worktree is being made; no worker was in it.
    #[default]
    Making,
    /// A worker may be in it.
    Open,
    /// The work is in refs; the directory is there.
    Closed,
    /// The work is in refs, and the directory is gone.
    Freed,
    /// Somebody gave the work up.
    Discarded,
}

impl RunLedger<'_> {
    pub fn put_work(self, id: &RunId, work: &WorkRecord) -> Result<(), StoreError> {
        self.write(id, "work.json", &pretty(work))
    }

    /// The worktree of a run; `None` if it has none.
    pub fn work(self, id: &RunId) -> Result<Option<WorkRecord>, StoreError> {
        let path = self.dir(id).join("work.json");
        let Some(content) = files::read(&path)? else { return Ok(None) };
        let work = serde_json::from_slice(&content);
        work.map(Some).map_err(|error| StoreError::Corrupt { path, reason: error.to_string() })
    }

    /// Whether a run had a worktree of its own.
    pub fn has_work(self) -> Result<bool, StoreError> {
        let runs = self.mesh.layout.directory("runs");
        for name in files::list(&runs)? {
            if files::exists(&runs.join(name).join("work.json"))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Keeps other processes from saving, merging or giving up the work of runs that have ended.
    pub fn lock_work(self) -> Result<FileLock, StoreError> {
        let runs = self.mesh.layout.directory("runs");
        files::create_dir(&runs)?;
        Ok(FileLock::acquire(&runs.join("work.lock"), LOCK_LIMIT)?)
    }

    /// Notes that nothing is left to be saved or ended of a run whose supervisor died.
    pub fn mark_settled(self, id: &RunId) -> Result<(), StoreError> {
        self.write(id, "settled", b"")
    }

    pub fn is_settled(self, id: &RunId) -> Result<bool, StoreError> {
        Ok(files::exists(&self.dir(id).join("settled"))?)
    }

    /// Removes all that is known of a run.
    pub fn remove(self, id: &RunId) -> Result<(), StoreError> {
        let (dir, mut name) = (self.dir(id), std::ffi::OsString::from("removed-"));
        name.push(id.as_str());
        let away = self.mesh.layout.directory("runs").join(name);
        // In one step: nobody reads a run of which a part is gone.
        files::remove_tree(&away)?;
        files::put_back(&dir, &away)?;
        Ok(files::remove_tree(&away)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_an_earlier_version_can_be_read() {
        let text = br#"{"tree": "k3f9xa", "project": "/p", "repository": "/p/.git", "mainRoot": null, "place": "/s",
            "stage": "open", "branch": null, "branchNote": null, "tip": null, "changed": [], "changedCount": 0,
            "saved": [], "kept": null}"#;
        let read: WorkRecord = serde_json::from_slice(text).unwrap();
        assert_eq!((read.stage, read.is_merged), (WorkStage::Open, false));
        assert_eq!(serde_json::from_slice::<WorkRecord>(&pretty(&read)).unwrap(), read);
    }
}
