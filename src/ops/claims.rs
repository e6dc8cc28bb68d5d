//! Changes to claims that follow from something else: leaving, a new name, a new session id.

use crate::domain::Agent;
use crate::store::{Claim, Claims, Locked, StoreError};

/// Gives up what the agent claimed. Returns what it had.
pub(super) fn give_up(locked: &Locked<'_>, agent: &Agent) -> Result<Vec<Claim>, StoreError> {
    let mut had = Vec::new();
    change(locked, agent, |claims| had = claims.give_up(agent))?;
    Ok(had)
}

/// Writes the agent's new name, session or process into what it claimed.
pub(super) fn carry_over(locked: &Locked<'_>, before: &Agent, after: &Agent) -> Result<(), StoreError> {
    change(locked, before, |claims| claims.carry_over(before, after))
}

/// `swarm.lock` is taken only if there is something to change: none of ours can add a claim meanwhile, because that
/// takes `mesh.lock`, and pi-messenger does not touch claims of a live agent.
fn change(locked: &Locked<'_>, agent: &Agent, change: impl FnOnce(&mut Claims)) -> Result<(), StoreError> {
    if locked.claims()?.of(agent).is_empty() {
        return Ok(());
    }
    let swarm = locked.swarm()?;
    let mut claims = swarm.claims()?;
    change(&mut claims);
    swarm.drop_done(&mut claims);
    swarm.write(&claims)
}
