//! What is wrong with the worktree of a run, as every face reports it.

use std::path::PathBuf;

use crate::ops::error::{CommandError, CommandErrorKind};
use crate::sys::git::run_tree::RunTreeError;

impl From<RunTreeError> for CommandError {
    fn from(error: RunTreeError) -> Self {
        let text = error.to_string();
        let new = |kind: CommandErrorKind| Self::new(kind, text.clone());
        let listed = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect();
        match error {
            RunTreeError::NoRepository(_) => new(CommandErrorKind::NoRepository).hint(
                "run `git init` and make a commit, or let the worker work in your tree, without `--worktree`",
            ),
            RunTreeError::Bare(_) | RunTreeError::NoWorkTree(_) => {
                new(CommandErrorKind::NoRepository).hint("change to a work tree of the repository")
            }
            RunTreeError::NoCommits(_) => new(CommandErrorKind::NoRepository)
                .hint("`git commit --allow-empty -m start` makes an empty one"),
            RunTreeError::OldGit { .. } => new(CommandErrorKind::OldGit)
                .hint("the work is safe; `msg runs diff` shows it, and `git apply` can apply that"),
            RunTreeError::DiskFull(_) => {
                new(CommandErrorKind::DiskFull).hint("free some space, then try again")
            }
            RunTreeError::Lock(error) => error.into(),
            RunTreeError::File(error) => error.into(),
            RunTreeError::NoRun(_) => {
                new(CommandErrorKind::NoWork).hint("it was discarded, or somebody removed its refs")
            }
            RunTreeError::Exists(_) => new(CommandErrorKind::Duplicate),
            RunTreeError::BadPattern { .. } => {
                new(CommandErrorKind::InvalidPattern).hint("fix it in `[worktree]` of `workers.toml`")
            }
            RunTreeError::ChangedMeanwhile(ref paths) => {
                new(CommandErrorKind::ChangedMeanwhile).facts("paths", listed(paths))
            }
            RunTreeError::ChangedWhileWriting { ref path, .. } => {
                new(CommandErrorKind::ChangedMeanwhile).facts("paths", vec![path.display().to_string()])
            }
            RunTreeError::HalfWritten { ref source, .. } => {
                let kind = match source.as_ref() {
                    RunTreeError::DiskFull(_) => CommandErrorKind::DiskFull,
                    _ => CommandErrorKind::Io,
                };
                new(kind)
            }
            RunTreeError::NotClean(ref paths) => {
                new(CommandErrorKind::NotClean).facts("paths", listed(paths))
            }
            RunTreeError::DetachedHead | RunTreeError::InProgress(_) => new(CommandErrorKind::NotClean),
            RunTreeError::Unsaved { ref files, .. } => {
                new(CommandErrorKind::NotSaved).facts("paths", listed(files))
            }
            RunTreeError::Inside(_) => new(CommandErrorKind::InvalidValue)
                .hint("set $XDG_STATE_HOME to a directory outside of the repository"),
            RunTreeError::NotRun(_) => new(CommandErrorKind::Io).hint("install git, and put it on the PATH"),
            RunTreeError::Failed { .. } | RunTreeError::TooSlow { .. } | RunTreeError::Output(_) => {
                new(CommandErrorKind::Io).hint("`git fsck` and `git status` may say more")
            }
            RunTreeError::BadId(_) => new(CommandErrorKind::UnknownRun),
            RunTreeError::BadBranch(_) => new(CommandErrorKind::InvalidValue),
            RunTreeError::NoBranch(_) => new(CommandErrorKind::NoWork)
                .hint("somebody removed it; `git reflog` may still know its commits"),
            RunTreeError::BranchGone { .. } => new(CommandErrorKind::NoWork)
                .hint("then start the crew again; to begin another branch instead: `--branch NAME`"),
            RunTreeError::CommitsGone { .. } => new(CommandErrorKind::NoWork)
                .hint("then start the crew again; without them: `msg reopen` their tasks first"),
            RunTreeError::CheckedOut(_) => {
                new(CommandErrorKind::NotClean).hint("check out another branch there")
            }
        }
    }
}
