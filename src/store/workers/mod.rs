//! Files about workers, all outside of a mesh: `workers.toml`, what a person trusted, and what was found on this
//! machine.

pub(super) mod probe_cache;
pub(super) mod trust_records;
pub mod worker_files;
