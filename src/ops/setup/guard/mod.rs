//! The git guard: a pre-commit hook that refuses a commit of what another live agent has reserved.
//!
//! The hook calls `check`. `script` has the text of the hook and recognises it in a file; `hook_location` finds the
//! file that git runs and what it contains; `install` and `uninstall` change it.

mod check;
mod hook_location;
mod install;
mod script;
mod uninstall;

pub use check::{CommitCheck, check};
pub use install::{GuardInstallOptions, GuardInstallOutcome, SharedHook, install};
pub(in crate::ops::setup) use uninstall::uninstall_at;
pub use uninstall::{CleanedHookFile, GuardUninstallOutcome, uninstall};

use crate::ops::error::{CommandError, CommandErrorKind};
use crate::sys::git::GitError;

/// The hook that git runs before it makes a commit.
const HOOK: &str = "pre-commit";

impl From<GitError> for CommandError {
    fn from(error: GitError) -> Self {
        let text = error.to_string();
        match error {
            GitError::NoRepository(_) => Self::new(CommandErrorKind::NoRepository, text)
                .hint("go to the work tree that you commit from"),
            GitError::NoWorkTree(_) => Self::new(CommandErrorKind::NoRepository, text)
                .hint("go to the work tree that you commit from; nobody commits in a bare repository"),
            GitError::NotRun(_) => {
                Self::new(CommandErrorKind::Io, text).hint("is git installed, and on your PATH?")
            }
            GitError::Failed { .. } | GitError::TooSlow { .. } => {
                Self::new(CommandErrorKind::Io, text).hint("does `git status` work here?")
            }
            GitError::File(error) => error.into(),
        }
    }
}
