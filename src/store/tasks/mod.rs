//! Tasks on disk: claims, completions and the lock that pi-messenger shares with us.

pub(super) mod claim_numbers;
pub(super) mod claims;
pub(super) mod completions;
pub(super) mod locked_claims;
pub(super) mod swarm_lock;
