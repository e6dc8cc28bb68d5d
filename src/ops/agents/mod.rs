//! Agents: who they are, how they come and go, and what others see of them.

pub(super) mod bury;
pub(super) mod evict;
pub(super) mod identity;
pub(super) mod join;
pub(super) mod leave;
mod linked_name;
pub(super) mod list;
pub(super) mod names;
pub(super) mod profile;
pub(super) mod prune;
pub(super) mod publish_activity;
pub(super) mod rename;
pub(super) mod roster;
pub(super) mod set_status;
pub(super) mod stuck;
