//! Updates an agent's claims when it leaves, is renamed or gets a new session id.

use crate::domain::Agent;
use crate::store::{Claim, Claims, LockedClaims, LockedMesh, StoreError};

/// Gives up the agent's claims, and returns them.
pub(in crate::ops) fn give_up(locked: &LockedMesh<'_>, agent: &Agent) -> Result<Vec<Claim>, StoreError> {
    let mut had = Vec::new();
    change(locked, agent, wait, |claims| had = claims.give_up(agent))?;
    Ok(had)
}

/// Writes the agent's new name, session or process into its claims.
pub(in crate::ops) fn carry_over(
    locked: &LockedMesh<'_>,
    before: &Agent,
    after: &Agent,
) -> Result<(), StoreError> {
    change(locked, before, wait, |claims| claims.carry_over(before, after))?;
    Ok(())
}

/// Writes the agent's new name into its claims, unless it would have to wait for `swarm.lock`. Returns whether it is
/// done.
pub(in crate::ops) fn try_to_carry_over(locked: &LockedMesh<'_>, agent: &Agent) -> Result<bool, StoreError> {
    change(locked, agent, |locked| locked.try_swarm(), |claims| claims.carry_over(agent, agent))
}

fn wait<'l>(locked: &'l LockedMesh<'l>) -> Result<Option<LockedClaims<'l>>, StoreError> {
    locked.swarm().map(Some)
}

/// `swarm.lock` is taken only if there is something to change: none of our processes can add a claim meanwhile, because
/// that takes `mesh.lock`, and pi-messenger does not touch the claims of a live agent.
fn change<'l>(
    locked: &'l LockedMesh<'l>,
    agent: &Agent,
    lock: impl FnOnce(&'l LockedMesh<'l>) -> Result<Option<LockedClaims<'l>>, StoreError>,
    change: impl FnOnce(&mut Claims),
) -> Result<bool, StoreError> {
    if locked.claims()?.of(agent).is_empty() {
        return Ok(true);
    }
    let Some(swarm) = lock(locked)? else { return Ok(false) };
    let mut claims = swarm.claims()?;
    change(&mut claims);
    swarm.drop_done(&mut claims);
    swarm.write(&claims)?;
    Ok(true)
}
