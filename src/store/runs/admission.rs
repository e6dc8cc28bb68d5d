//! Becoming a run: decided by its supervisor, one at a time, so that two never count on the same thing.
//!
//! ```text
//! runs/admission.lock             held while it is decided
//! runs/batch-tasks/<key>.json     the run that does this task of a batch
//! runs/<id>/refusal.json          why it did not become a run
//! ```

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::domain::RecordedProcess;
use crate::domain::runs::RunId;
use crate::store::error::StoreError;
use crate::store::handles::RunLedger;
use crate::store::wire::pretty;
use crate::store::wire::process::{ProcessKey, recorded};
use crate::sys::files;
use crate::sys::flock::FileLock;

/// The right to decide whether something becomes a run, until it is dropped.
#[derive(Debug)]
#[must_use = "others may decide as soon as this is dropped"]
pub struct AdmissionLock {
    _lock: FileLock,
}

/// Why something did not become a run.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RunRefusal {
    /// This run does the same task of a batch.
    DoneBy(String),
    /// A gate said no, what it needs could not be held for its worker, or it could not be decided.
    Refused {
        /// The name of the kind of error.
        kind: String,
        gate: Option<String>,
        message: String,
        hints: Vec<String>,
    },
    /// The gate of the budget says no.
    Budget(BudgetRefusal),
}

/// Why a run was granted nothing.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetRefusal {
    /// A sentence.
    pub text: String,
    /// What to do about it, one sentence each.
    pub hints: Vec<String>,
    /// What is left, if that is known.
    pub left: Option<String>,
    /// The runs that hold the rest.
    pub held_by: Vec<String>,
}

/// Which run does a task of a batch.
#[derive(Clone, Debug)]
pub struct BatchTaskRecord {
    pub run: RunId,
    /// The batch that started it.
    pub starter: RecordedProcess,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct RecordKeys {
    run: String,
    pid: i64,
    process: Option<ProcessKey>,
}

impl RunLedger<'_> {
    /// Waits for the right to decide.
    pub fn lock_admission(self) -> Result<AdmissionLock, StoreError> {
        let dir = self.mesh.layout.directory("runs");
        files::create_dir(&dir)?;
        let lock = FileLock::acquire(&dir.join("admission.lock"), self.mesh.options.lock_timeout)?;
        Ok(AdmissionLock { _lock: lock })
    }

    fn batch_task_path(self, key: &str) -> PathBuf {
        self.mesh.layout.directory("runs").join("batch-tasks").join(format!("{key}.json"))
    }

    /// The run that does, or did, this task of a batch. A damaged record counts as none: the task is done again.
    pub fn batch_task(self, key: &str) -> Result<Option<BatchTaskRecord>, StoreError> {
        let Some(content) = files::read(&self.batch_task_path(key))? else { return Ok(None) };
        let Ok(keys) = serde_json::from_slice::<RecordKeys>(&content) else { return Ok(None) };
        let record = RunId::new(&keys.run).ok().zip(recorded(keys.pid, keys.process, None).ok());
        Ok(record.map(|(run, starter)| BatchTaskRecord { run, starter }))
    }

    /// Records which run does this task of a batch.
    pub fn put_batch_task(
        self,
        key: &str,
        record: &BatchTaskRecord,
        _lock: &AdmissionLock,
    ) -> Result<(), StoreError> {
        let path = self.batch_task_path(key);
        if let Some(dir) = path.parent() {
            files::create_dir(dir)?;
        }
        let keys = RecordKeys {
            run: record.run.to_string(),
            pid: record.starter.pid().get().into(),
            process: ProcessKey::of(&record.starter),
        };
        Ok(self.mesh.files.replace(&path, &pretty(&keys))?)
    }

    /// Records why something did not become a run.
    pub fn put_refusal(self, id: &RunId, refusal: &RunRefusal) -> Result<(), StoreError> {
        self.write(id, "refusal.json", &pretty(refusal))
    }

    /// Why something did not become a run, if its supervisor said so.
    pub fn refusal(self, id: &RunId) -> Result<Option<RunRefusal>, StoreError> {
        let content = self.read(id, "refusal.json")?;
        Ok(content.and_then(|content| serde_json::from_slice(&content).ok()))
    }

    /// Removes what was prepared for something that did not become a run.
    pub fn remove_refused(self, id: &RunId) -> Result<(), StoreError> {
        Ok(files::remove_tree(&self.dir(id))?)
    }
}
