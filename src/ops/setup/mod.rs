//! Setup: the settings, `msg install` (hooks and plugins in harnesses), `msg guard` (git's pre-commit hook), man pages, and
//! `msg setup`, which does all of that in one step.

pub mod assistant;
pub mod config;
pub mod guard;
pub mod install;
pub mod man_pages;

/// Whether changes are made or only shown.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Execution {
    #[default]
    Apply,
    DryRun,
}
