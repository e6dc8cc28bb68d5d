//! Agents on disk: registrations, sessions, graves and signs of life.

pub(super) mod activity_log;
pub(super) mod burial;
pub(super) mod contest_tokens;
pub(super) mod grave_id;
pub(super) mod graves;
pub(super) mod presence;
pub(super) mod pruning;
pub(super) mod registry;
pub(super) mod registry_index;
pub(super) mod repository_places;
pub(super) mod repository_records;
pub(super) mod resolved_patterns;
pub(super) mod session_hash;
pub(super) mod sessions;
pub(super) mod stuck_reports;
