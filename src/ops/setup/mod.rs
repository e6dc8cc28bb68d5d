//! Setup: the settings, `msg install` (hooks and plugins in harnesses) and `msg guard` (git's pre-commit hook).

pub mod config;
pub mod guard;
pub mod install;

/// Whether changes are made or only shown.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Execution {
    #[default]
    Apply,
    DryRun,
}
