//! What an agent does, as pi-messenger reads it: in its registration, now and then.

use crate::domain::Agent;
use crate::store::{Mesh, StoreError, is_rewrite_due};
use crate::sys::clock;

use crate::ops::error::CommandError;

/// Writes into the registration what the agent did since it was written last, if that is a while ago and nobody has the
/// lock. Whoever comes next does it else.
pub(in crate::ops) fn refresh(mesh: &Mesh, agent: &Agent) -> Result<(), CommandError> {
    let now = clock::now();
    if !is_rewrite_due(agent, now) {
        return Ok(());
    }
    let Some(locked) = mesh.try_lock()? else { return Ok(()) };
    match locked.note_activity(agent, now) {
        // It left, or was evicted, a moment ago.
        Ok(_) | Err(StoreError::NoRegistration(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
