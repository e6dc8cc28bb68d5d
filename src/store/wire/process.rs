//! The format of a process: `pid`, as pi-messenger has it, and our `process` key that identifies the process exactly.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::process::PidError;
use crate::domain::{Pid, PidScope, ProcessIdentity, RecordedProcess};

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::store) struct ProcessKey {
    start_ticks: u64,
    boot_id: Option<String>,
    machine_id: Option<String>,
    pid_ns: Option<String>,
}

impl ProcessKey {
    pub(in crate::store) fn of(recorded: &RecordedProcess) -> Option<Self> {
        let RecordedProcess::Pinned(identity) = recorded else { return None };
        let PidScope { boot_id, machine_id, pid_ns } = identity.place.clone();
        Some(Self { start_ticks: identity.start_ticks, boot_id, machine_id, pid_ns })
    }
}

/// Combines the two keys. `ran_at` is a time at which the process was running.
pub(in crate::store) fn recorded(
    pid: i64,
    key: Option<ProcessKey>,
    ran_at: Option<Timestamp>,
) -> Result<RecordedProcess, PidError> {
    let pid = Pid::new(pid)?;
    Ok(match key {
        None => RecordedProcess::Bare { pid, ran_at },
        Some(ProcessKey { start_ticks, boot_id, machine_id, pid_ns }) => {
            RecordedProcess::Pinned(ProcessIdentity {
                pid,
                start_ticks,
                place: PidScope { boot_id, machine_id, pid_ns },
            })
        }
    })
}
