//! Reservations: who may change which paths, and who waits for one.

pub(super) mod check;
pub(super) mod conflicts;
pub(super) mod expired;
mod hard_links;
pub(super) mod holdings;
pub(super) mod list;
pub(super) mod release;
pub(super) mod reserve;
pub(super) mod rules;
pub(super) mod waiting;
