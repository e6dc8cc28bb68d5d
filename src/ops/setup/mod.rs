//! Setup: the settings, `msg install` (hooks and plugins in harnesses) and `msg guard` (git's pre-commit hook).

pub mod config;
pub mod guard;
pub mod install;
