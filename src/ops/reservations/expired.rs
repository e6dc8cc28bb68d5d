//! Removes expired reservations.
//!
//! The owner's next write does it, or any process that has the lock and sees it.

use jiff::Timestamp;

use crate::domain::Agent;
use crate::store::{Census, Registration, StagedChange, StoreError};

/// Removes expired reservations from our registrations, because pi-messenger believes what is written there and the
/// owner may be idle for long.
pub(in crate::ops) fn drop_expired(
    change: &mut StagedChange<'_>,
    census: &Census,
    now: Timestamp,
) -> Result<(), StoreError> {
    let is_due = |agent: &Agent| agent.is_ours() && agent.has_expired(now);
    // Reservations of the dead bind nobody, and pi-messenger may take a dead agent's name at any moment.
    let due = census.records.iter().filter(|record| is_due(&record.agent) && record.is_live());
    for Registration { agent, .. } in due {
        // Every edit does it.
        match change.edit(agent, |_| {}) {
            // An agent that left meanwhile, or whose registration can't be rewritten, is skipped.
            Ok(_) | Err(StoreError::NoRegistration(_) | StoreError::Corrupt { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
