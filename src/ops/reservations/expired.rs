//! Reservations whose time is over.

use jiff::Timestamp;

use crate::domain::Agent;
use crate::store::{Census, Locked, Record, StoreError};

/// Takes reservations whose time is over out of the registrations of ours, since pi-messenger goes by what is written
/// there. The owner may do nothing for long.
pub(in crate::ops) fn drop_expired(
    locked: &Locked<'_>,
    census: &Census,
    now: Timestamp,
) -> Result<(), StoreError> {
    let is_due = |agent: &Agent| !agent.is_foreign() && agent.has_expired(now);
    for Record { agent, .. } in census.records.iter().filter(|record| is_due(&record.agent)) {
        match locked.edit(agent, |_| {}) {
            // Whoever left meanwhile, or whose registration can't be written again, is left alone.
            Ok(_) | Err(StoreError::NoRegistration(_) | StoreError::Corrupt { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
