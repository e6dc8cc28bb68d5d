//! Setup: settings, the hooks of harnesses, the git guard.

pub mod config;
pub mod guard;
pub mod install;
