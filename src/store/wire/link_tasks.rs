//! The record of a task that is the same on every machine: who has it, who finished it, and who opened it again.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::link::{MAX_TEXT, OwnerKeys, VERSION, bounded, check_version, commit};
use super::{pretty, time};
use crate::domain::AgentName;
use crate::domain::link::{MachineName, TaskHolding, TaskKey, TaskRecord, TaskReopening};
use crate::store::error::ParseError;

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskKeys {
    version: u32,
    repository: String,
    spec: String,
    task: String,
    owner: OwnerKeys,
    /// When it was claimed.
    #[serde(default, with = "time::option", skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// When it was completed.
    #[serde(default, with = "time::option", skip_serializing_if = "Option::is_none")]
    done_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<String>,
    /// The last completion that was taken back. Versions that don't know it read an open task as a claim of a lease that
    /// is over, which anybody may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reopened: Option<ReopenedKeys>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct ReopenedKeys {
    by: String,
    machine: String,
    #[serde(with = "time")]
    at: Timestamp,
    reason: String,
    done_by: String,
    done_on: String,
    #[serde(with = "time")]
    done_at: Timestamp,
    /// Whether nobody has it since.
    #[serde(default)]
    is_open: bool,
}

impl ReopenedKeys {
    fn of(reopening: &TaskReopening, is_open: bool) -> Self {
        Self {
            by: reopening.by.to_string(),
            machine: reopening.machine.to_string(),
            at: reopening.at,
            reason: reopening.reason.clone(),
            done_by: reopening.done_by.to_string(),
            done_on: reopening.done_on.to_string(),
            done_at: reopening.done_at,
            is_open,
        }
    }

    fn read(self) -> Result<TaskReopening, ParseError> {
        Ok(TaskReopening {
            by: AgentName::new(self.by).map_err(ParseError::new)?,
            machine: MachineName::new(self.machine).map_err(ParseError::new)?,
            at: self.at,
            reason: self.reason.chars().take(MAX_TEXT).collect(),
            done_by: AgentName::new(self.done_by).map_err(ParseError::new)?,
            done_on: MachineName::new(self.done_on).map_err(ParseError::new)?,
            done_at: self.done_at,
        })
    }
}

impl TaskKeys {
    fn of(record: &TaskRecord) -> Self {
        let is_open = record.holding == TaskHolding::Reopened;
        let (since, reason, done_at, notes) = match record.holding.clone() {
            TaskHolding::Claimed { since, reason } => (Some(since), reason, None, None),
            TaskHolding::Done { at, notes } => (None, None, Some(at), notes),
            TaskHolding::Reopened => {
                (record.reopened.as_ref().map(|reopening| reopening.at), None, None, None)
            }
        };
        Self {
            version: VERSION,
            repository: record.key.repository.as_str().to_string(),
            spec: record.key.spec.clone(),
            task: record.key.task.clone(),
            owner: OwnerKeys::of(&record.owner),
            since,
            reason,
            done_at,
            notes,
            reopened: record.reopened.as_ref().map(|reopening| ReopenedKeys::of(reopening, is_open)),
        }
    }

    fn read(self) -> Result<TaskRecord, ParseError> {
        check_version(self.version)?;
        let is_open = self.reopened.as_ref().is_some_and(|reopened| reopened.is_open);
        let holding = match (self.done_at, self.since) {
            (Some(at), _) => TaskHolding::Done { at, notes: bounded(self.notes) },
            (None, _) if is_open => TaskHolding::Reopened,
            (None, Some(since)) => TaskHolding::Claimed { since, reason: bounded(self.reason) },
            (None, None) => return Err(ParseError::new("it is neither claimed nor done")),
        };
        if self.spec.len() > 4_096 || self.task.len() > 1_024 {
            return Err(ParseError::new("its task has too long a name"));
        }
        let key = TaskKey { repository: commit(&self.repository)?, spec: self.spec, task: self.task };
        let reopened = self.reopened.map(ReopenedKeys::read).transpose()?;
        Ok(TaskRecord { key, owner: self.owner.read()?, holding, reopened })
    }
}

pub fn task_bytes(record: &TaskRecord) -> Vec<u8> {
    pretty(&TaskKeys::of(record))
}

pub fn parse_task(bytes: &[u8]) -> Result<TaskRecord, ParseError> {
    serde_json::from_slice::<TaskKeys>(bytes).map_err(ParseError::new)?.read()
}

/// Several tasks in one file of the mirror.
pub(in crate::store) fn tasks_bytes(records: &[TaskRecord]) -> Vec<u8> {
    pretty(&records.iter().map(TaskKeys::of).collect::<Vec<_>>())
}

pub(in crate::store) fn parse_tasks(bytes: &[u8]) -> Result<Vec<TaskRecord>, ParseError> {
    let keys: Vec<TaskKeys> = serde_json::from_slice(bytes).map_err(ParseError::new)?;
    keys.into_iter().map(TaskKeys::read).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::domain::link::{LeaseEpoch, RecordOwner};
    use crate::domain::{RootCommit, SessionId};

    fn record(holding: TaskHolding, reopened: Option<TaskReopening>) -> TaskRecord {
        let name = |name: &str| AgentName::new(name).unwrap();
        let key = TaskKey {
            repository: RootCommit::new(&"a".repeat(40)).unwrap(),
            spec: "plan.md".to_string(),
            task: "T-1".to_string(),
        };
        let owner = RecordOwner {
            machine: MachineName::new("box").unwrap(),
            epoch: LeaseEpoch::new("e").unwrap(),
            agent: name("Bob"),
            session: SessionId::new("s").unwrap(),
        };
        TaskRecord { key, owner, holding, reopened }
    }

    #[test]
    fn a_reopened_task_reads_back_and_is_free_for_earlier_versions() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let reopening = TaskReopening {
            by: AgentName::new("Bob").unwrap(),
            machine: MachineName::new("box").unwrap(),
            at: at(9),
            reason: "wrong".to_string(),
            done_by: AgentName::new("Anna").unwrap(),
            done_on: MachineName::new("laptop").unwrap(),
            done_at: at(8),
        };
        for holding in [
            TaskHolding::Reopened,
            TaskHolding::Claimed { since: at(10), reason: None },
            TaskHolding::Done { at: at(11), notes: None },
        ] {
            let record = record(holding, Some(reopening.clone()));
            assert_eq!(parse_task(&task_bytes(&record)).unwrap(), record);
        }
        // What an earlier version sees: a claim, by the keys that it knows.
        let bytes = task_bytes(&record(TaskHolding::Reopened, Some(reopening)));
        let document: Value = serde_json::from_slice(&bytes).unwrap();
        assert!(document["since"].is_string() && document.get("doneAt").is_none(), "{document}");
    }
}
