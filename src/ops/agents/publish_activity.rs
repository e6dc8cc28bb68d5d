//! Copies an agent's activity into its registration at most every ten seconds, because pi-messenger reads it there.

use crate::domain::Agent;
use crate::store::{Mesh, StoreError, is_rewrite_due};
use crate::sys::clock;

use crate::ops::error::CommandError;

/// Writes the agent's activity into its registration, if the last time was a while ago and the lock is free. Otherwise
/// the next caller does it.
pub(in crate::ops) fn refresh(mesh: &Mesh, agent: &Agent) -> Result<(), CommandError> {
    let now = clock::now();
    if !is_rewrite_due(agent, now) {
        return Ok(());
    }
    let Some(locked) = mesh.try_lock()? else { return Ok(()) };
    match locked.note_activity(agent, now) {
        // It left or was evicted a moment ago.
        Ok(_) | Err(StoreError::NoRegistration(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
