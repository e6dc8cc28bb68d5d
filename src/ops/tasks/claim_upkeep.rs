//! Updates an agent's claims when it leaves, is renamed or gets a new session id.
//!
//! `swarm.lock` is taken only if there is something to change: none of our processes can add a claim meanwhile, because
//! that takes `mesh.lock`, and pi-messenger does not touch the claims of a live agent.

use crate::domain::Agent;
use crate::store::{Claim, LockedMesh, StagedChange, StoreError};

/// Gives up the agent's claims, and returns them.
pub(in crate::ops) fn give_up(
    change: &mut StagedChange<'_>,
    agent: &Agent,
) -> Result<Vec<Claim>, StoreError> {
    let mut had = Vec::new();
    if has_claims(change, agent)? {
        change.edit_claims(|claims| had = claims.give_up(agent))?;
    }
    Ok(had)
}

/// Writes the agent's new name, session or process into its claims.
pub(in crate::ops) fn carry_over(
    change: &mut StagedChange<'_>,
    before: &Agent,
    after: &Agent,
) -> Result<(), StoreError> {
    if has_claims(change, before)? {
        change.edit_claims(|claims| claims.carry_over(before, after))?;
    }
    Ok(())
}

/// Like [`carry_over`], in a change of its own: afterwards `swarm.lock` is free, and mail may be moved for as long as
/// it takes.
pub(in crate::ops) fn carry_over_now(
    locked: &mut LockedMesh<'_>,
    before: &Agent,
    after: &Agent,
) -> Result<(), StoreError> {
    let mut change = locked.change();
    carry_over(&mut change, before, after)?;
    change.commit()
}

/// Writes the agent's new name into its claims, unless it would have to wait for `swarm.lock`. Returns whether it is
/// staged.
pub(in crate::ops) fn try_to_carry_over(
    change: &mut StagedChange<'_>,
    agent: &Agent,
) -> Result<bool, StoreError> {
    if has_claims(change, agent)? {
        if !change.locks_claims_if_free()? {
            return Ok(false);
        }
        change.edit_claims(|claims| claims.carry_over(agent, agent))?;
    }
    Ok(true)
}

fn has_claims(change: &StagedChange<'_>, agent: &Agent) -> Result<bool, StoreError> {
    Ok(!change.locked().claims()?.of(agent).is_empty())
}
