//! Burying those who are gone: their names become free, their mail is kept.

use jiff::Timestamp;

use crate::domain::{AgentName, Liveness};
use crate::store::{Census, Locked, Mesh, StoreError, Why};
use crate::sys::{clock, process};

/// Buries everyone in the census whose process is gone, and removes what renames left. The lock is held, so nobody
/// can have come back between the look and the burial.
///
/// Agents of pi-messenger are left to pi-messenger: it expects their inbox where it was.
pub(super) fn bury_dead(
    locked: &Locked<'_>,
    census: &Census,
    now: Timestamp,
) -> Result<Vec<AgentName>, StoreError> {
    for old in &census.superseded {
        locked.unregister(&old.agent.name)?;
    }
    let mut buried = Vec::new();
    for record in &census.records {
        let agent = &record.agent;
        if !agent.is_foreign() && process::liveness(&agent.process) == Liveness::Gone {
            locked.bury(record, Why::Died, now, None)?;
            buried.push(agent.name.clone());
        }
    }
    Ok(buried)
}

/// What whoever passes by does if the lock is free at once. Looks again under the lock.
pub(super) fn bury_in_passing(mesh: &Mesh) -> Result<Vec<AgentName>, StoreError> {
    match mesh.try_lock()? {
        Some(locked) => bury_dead(&locked, &locked.census()?, clock::now()),
        None => Ok(Vec::new()),
    }
}
