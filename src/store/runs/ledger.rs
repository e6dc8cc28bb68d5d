//! Reading and writing the ledger. Each run has a directory, and each of its files one writer at a time, so two hundred
//! runs at once never touch one file.

use std::collections::HashMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::run_file;
use crate::domain::runs::{Run, RunId};
use crate::domain::{AgentName, Liveness};
use crate::store::error::StoreError;
use crate::store::handles::RunLedger;
use crate::store::wire::pretty;
use crate::sys::files;
use crate::sys::flock::FileLock;
use crate::sys::{process, random, test_switches};

/// A request to stop a run.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StopOrder {
    /// Who wants that, in a few words.
    pub by: String,
    pub urgency: StopUrgency,
}

/// How a run is stopped.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StopUrgency {
    /// It is told to wrap up first.
    WrapUp,
    Now,
}

/// The runs of a ledger that could be read, and the files that could not.
#[derive(Debug, Default)]
pub struct LedgerList {
    /// The newest first.
    pub runs: Vec<Run>,
    /// Paths, and why.
    pub damaged: Vec<(PathBuf, String)>,
}

impl RunLedger<'_> {
    /// The directory of a run.
    pub fn dir(self, id: &RunId) -> PathBuf {
        self.mesh.layout.run(id)
    }

    /// Makes the directory of a new run, under an id that no other has.
    pub fn make(self) -> Result<RunId, StoreError> {
        self.mesh.tighten()?;
        files::create_dir(&self.mesh.layout.directory("runs"))?;
        loop {
            let id = RunId::from_random(random::number());
            let dir = self.dir(&id);
            match files::create_new_dir(&dir) {
                Ok(()) => {
                    files::create_dir(&dir.join("scratch"))?;
                    return Ok(id);
                }
                Err(_) if files::exists(&dir)? => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Makes the directory of a new run with that id. `false`: there is one already.
    pub fn was_made_as(self, id: &RunId) -> Result<bool, StoreError> {
        self.mesh.tighten()?;
        files::create_dir(&self.mesh.layout.directory("runs"))?;
        let dir = self.dir(id);
        match files::create_new_dir(&dir) {
            Ok(()) => {
                files::create_dir(&dir.join("scratch"))?;
                Ok(true)
            }
            Err(_) if files::exists(&dir)? => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes what is known of a run, in one step.
    pub fn put(self, run: &Run) -> Result<(), StoreError> {
        Ok(self.mesh.files.replace(&self.dir(&run.id).join("run.json"), &run_file::bytes(run))?)
    }

    /// Writes what its supervisor begins with. Until that has written it as its own, it is no run.
    pub fn put_draft(self, run: &Run) -> Result<(), StoreError> {
        self.write(&run.id, "draft.json", &run_file::bytes(run))
    }

    /// What its supervisor begins with.
    pub fn draft(self, id: &RunId) -> Result<Run, StoreError> {
        let path = self.dir(id).join("draft.json");
        let content = files::read(&path)?.unwrap_or_default();
        run_file::parse(&content).map_err(|error| StoreError::Corrupt { path, reason: error.to_string() })
    }

    /// Whether somebody asked for this, and it has not become a run.
    pub fn is_only_draft(self, id: &RunId) -> Result<bool, StoreError> {
        let dir = self.dir(id);
        // In this order: a run that is forgotten goes as a whole, so it has no draft either.
        Ok(!files::exists(&dir.join("run.json"))? && files::exists(&dir.join("draft.json"))?)
    }

    /// What is recorded of a run; `None` if there is none.
    pub fn get(self, id: &RunId) -> Result<Option<Run>, StoreError> {
        let path = self.dir(id).join("run.json");
        let Some(content) = files::read(&path)? else { return Ok(None) };
        let run = run_file::parse(&content);
        run.map(Some).map_err(|error| StoreError::Corrupt { path, reason: error.to_string() })
    }

    /// Every run. Nothing is changed.
    pub fn list(self) -> Result<LedgerList, StoreError> {
        self.list_again(&LedgerList::default())
    }

    /// Every run as it is now. One that had ended before is not read again: nobody writes it after its end.
    pub fn list_again(self, before: &LedgerList) -> Result<LedgerList, StoreError> {
        let ended = before.runs.iter().filter(|run| run.state.is_final());
        let ended: HashMap<&RunId, &Run> = ended.map(|run| (&run.id, run)).collect();
        let mut list = LedgerList::default();
        let names = files::list(&self.mesh.layout.directory("runs"))?;
        for id in names.iter().filter_map(|name| RunId::new(name).ok()) {
            if let Some(run) = ended.get(&id) {
                list.runs.push((*run).clone());
                continue;
            }
            test_switches::count(if before.runs.is_empty() { "run" } else { "run-again" });
            match self.get(&id) {
                Ok(Some(run)) => list.runs.push(run),
                // It is being made, or whoever made it died before it was a run.
                Ok(None) => {}
                Err(StoreError::Corrupt { path, reason }) => list.damaged.push((path, reason)),
                // One file must not hide all others.
                Err(error) => list.damaged.push((self.dir(&id), error.to_string())),
            }
        }
        list.runs.sort_by(|a, b| b.queued_at.cmp(&a.queued_at).then_with(|| a.id.cmp(&b.id)));
        Ok(list)
    }

    /// Whether the process that owns the run is alive.
    pub fn owner_liveness(self, run: &Run) -> Liveness {
        process::liveness(&run.owner)
    }

    /// Writes a file of a run, in one step.
    pub fn write(self, id: &RunId, name: &str, content: &[u8]) -> Result<(), StoreError> {
        Ok(self.mesh.files.replace(&self.dir(id).join(name), content)?)
    }

    /// A file of a run.
    pub fn read(self, id: &RunId, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(files::read_large(&self.dir(id).join(name))?)
    }

    /// A worker's last words, also those that are too long for `run.json`.
    pub fn whole_result(self, run: &Run) -> Result<Option<String>, StoreError> {
        let whole = self.read(&run.id, "result")?.and_then(|content| String::from_utf8(content).ok());
        Ok(whole.or_else(|| run.result.clone()))
    }

    /// Asks the supervisor to stop. A later request replaces an earlier one.
    pub fn ask_to_stop(self, id: &RunId, order: &StopOrder) -> Result<(), StoreError> {
        self.write(id, "stop", &pretty(order))
    }

    /// The request to stop, if there is one. What can't be read counts as one that is urgent.
    pub fn stop_order(self, id: &RunId) -> Result<Option<StopOrder>, StoreError> {
        let Some(content) = files::read(&self.dir(id).join("stop"))? else { return Ok(None) };
        let unreadable = || StopOrder { by: "somebody".to_string(), urgency: StopUrgency::Now };
        Ok(Some(serde_json::from_slice(&content).unwrap_or_else(|_| unreadable())))
    }

    /// Waits for the right to continue sessions of runs, until it is dropped. It is taken before any other lock.
    pub fn lock_resuming(self) -> Result<FileLock, StoreError> {
        let dir = self.mesh.layout.directory("runs");
        Ok(FileLock::acquire(&dir.join("resume.lock"), self.mesh.options.lock_timeout)?)
    }

    /// Records which agent its worker is, by a hook of that worker.
    pub fn name_worker(self, id: &RunId, agent: &AgentName) -> Result<(), StoreError> {
        self.write(id, "agent", agent.as_str().as_bytes())
    }

    /// The agent that its worker is, if it has joined.
    pub fn worker(self, id: &RunId) -> Result<Option<AgentName>, StoreError> {
        let content = files::read(&self.dir(id).join("agent"))?;
        Ok(content.and_then(|content| AgentName::new(String::from_utf8(content).ok()?).ok()))
    }

    /// Records which agents a review was told to.
    pub fn put_told(self, id: &RunId, told: &[AgentName]) -> Result<(), StoreError> {
        let names: Vec<&str> = told.iter().map(AgentName::as_str).collect();
        self.write(id, "told.json", &pretty(&names))
    }

    /// Which agents a review was told to; `None`: that is not known.
    pub fn told(self, id: &RunId) -> Result<Option<Vec<String>>, StoreError> {
        let path = self.dir(id).join("told.json");
        let Some(content) = files::read(&path)? else { return Ok(None) };
        let names = serde_json::from_slice(&content);
        names.map(Some).map_err(|error| StoreError::Corrupt { path, reason: error.to_string() })
    }
}
