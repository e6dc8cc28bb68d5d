//! Buries agents whose process is gone: their names become free, their mail is kept.

use jiff::Timestamp;

use crate::domain::{Agent, AgentName, Liveness, SessionId};
use crate::store::{Census, GoneReason, LockedMesh, Mesh, Registration, StoreError};
use crate::sys::{clock, process};

use crate::ops::effects::Op;
use crate::ops::reservations::expired::drop_expired;
use crate::ops::reservations::waiting;
use crate::ops::tasks::claim_upkeep;

/// Finishes renames that were cut short. The old registration is removed last, so a crash before that only repeats
/// this.
pub(in crate::ops) fn finish_renames(locked: &mut LockedMesh<'_>, census: &Census) -> Result<(), StoreError> {
    for old in &census.superseded {
        let renamed = census.records.iter().find(|record| old.agent.is_superseded_by(&record.agent));
        let Some(Registration { agent, .. }) = renamed else { continue };
        let mut change = locked.change();
        match claim_upkeep::try_to_carry_over(&mut change, agent) {
            Ok(true) => {
                change.commit()?;
                locked.unregister(&old.agent.name, &agent.name)?;
            }
            // pi-messenger holds `swarm.lock`. Nobody else should wait for that: the next caller goes on.
            Ok(false) => {}
            // Another agent's damaged file is no reason to stop; that agent's own next command reports it.
            Err(StoreError::Corrupt { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// All registrations, after burials that were cut short are settled. Until then, a live agent's registration may be
/// where no census sees it, and its name would count as free.
pub(in crate::ops) fn settled_census(locked: &LockedMesh<'_>) -> Result<Census, StoreError> {
    locked.settle_all_taken()?;
    locked.census()
}

/// Buries everyone in the census whose process is gone, and finishes renames. The lock is held, so nobody can have come
/// back between the check and the burial. The census must come from [`settled_census`].
///
/// Agents of pi-messenger are left to pi-messenger: it expects their inbox where it was.
pub(in crate::ops) fn bury_dead(
    locked: &mut LockedMesh<'_>,
    census: &Census,
    now: Timestamp,
) -> Result<Vec<AgentName>, StoreError> {
    finish_renames(locked, census)?;
    let mut buried = Vec::new();
    for record in &census.records {
        let agent = &record.agent;
        if agent.is_ours() && process::liveness(&agent.process) == Liveness::Gone {
            locked.bury(record, GoneReason::Died, now, None)?;
            buried.push(agent.name.clone());
        }
    }
    let census = locked.local_census()?;
    let mut change = locked.change();
    drop_expired(&mut change, &census, now)?;
    change.commit()?;
    locked.forward_orphans(&census)?;
    Ok(buried)
}

/// Buries the agent that had this session in a process that is gone. Its mail belongs to the session: the agent that
/// goes on with the session collects it from the grave.
pub(in crate::ops) fn bury_dead_of(
    locked: &mut LockedMesh<'_>,
    session: &SessionId,
) -> Result<(), StoreError> {
    let is_due = |agent: &Agent| {
        agent.is_ours() && agent.session == *session && process::liveness(&agent.process) == Liveness::Gone
    };
    for record in settled_census(locked)?.records.iter().filter(|record| is_due(&record.agent)) {
        locked.bury(record, GoneReason::Died, clock::now(), None)?;
    }
    Ok(())
}

/// Buries the dead in passing, if the lock is free at once. Checks again under the lock.
pub(in crate::ops) fn bury_in_passing(op: &Op, mesh: &Mesh) -> Result<Vec<AgentName>, StoreError> {
    let Some(mut locked) = mesh.try_lock()? else { return Ok(Vec::new()) };
    let census = settled_census(&locked)?;
    let buried = bury_dead(&mut locked, &census, clock::now())?;
    waiting::notify_waiting_or_warn(op, mesh, &mut locked);
    Ok(buried)
}
