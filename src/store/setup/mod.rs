//! What is outside of a mesh: configuration files and records of what was installed.

pub mod config_files;
pub(super) mod config_undo;
pub(super) mod installs;
pub(super) mod last_good;
pub(super) mod setup_record;
