//! Why something about the work tree of a run can't be done.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::shell_word;
use crate::sys::files::FileError;
use crate::sys::flock::LockError;

#[derive(Debug, thiserror::Error)]
pub enum RunTreeError {
    #[error("cannot run git: {0}")]
    NotRun(io::Error),
    #[error("`{}` is not in a git repository: a run's worktree needs one", .0.display())]
    NoRepository(PathBuf),
    #[error("the repository at `{}` is bare: there is no work tree to start from", .0.display())]
    Bare(PathBuf),
    #[error("`{}` is inside of a git directory, not in a work tree", .0.display())]
    NoWorkTree(PathBuf),
    #[error("the repository at `{}` has no commits: make the first one, then try again", .0.display())]
    NoCommits(PathBuf),
    #[error("git {found} cannot merge in memory: install git 2.40 or newer")]
    OldGit { found: String },
    #[error("`git {command}` failed: {said}")]
    Failed { command: String, said: String },
    #[error("the disk is full: {0}")]
    DiskFull(String),
    #[error("`git {command}` took more than {} s", .limit.as_secs())]
    TooSlow { command: String, limit: Duration },
    #[error("cannot read the output of `git {0}`")]
    Output(&'static str),
    #[error("`{0}` cannot be the id of a run: use letters, digits, `-` and `_`")]
    BadId(String),
    #[error("`{0}` cannot be the name of a branch")]
    BadBranch(String),
    #[error("there is no branch `{0}`")]
    NoBranch(String),
    #[error("the branch `{name}` is gone: `git branch {} {tip}` brings it back", shell_word(.name))]
    BranchGone { name: String, tip: String },
    #[error(
        "somebody took commits off the branch `{name}`: `git branch -f {} {tip}` brings them back",
        shell_word(.name)
    )]
    CommitsGone { name: String, tip: String },
    #[error("the branch `{0}` is checked out: it cannot be moved without changing what its work tree shows")]
    CheckedOut(String),
    #[error("there is a worktree for run {0} already")]
    Exists(String),
    #[error("this repository has no work of run {0}")]
    NoRun(String),
    #[error("`{}` is inside of the repository: worktrees must be outside", .0.display())]
    Inside(PathBuf),
    #[error("cannot use the pattern `{pattern}`: {why}")]
    BadPattern { pattern: String, why: String },
    #[error("{}: changed while the merge was prepared; nothing was written, try again", listed(.0))]
    ChangedMeanwhile(Vec<PathBuf>),
    #[error(
        "`{}` changed while the merge was written, after {written} other files: run the merge again to finish it",
        .path.display()
    )]
    ChangedWhileWriting { path: PathBuf, written: usize },
    #[error("{source}; {written} files of the merge were written: run the merge again to finish it")]
    HalfWritten { written: usize, source: Box<Self> },
    #[error("the work tree is not clean ({}): commit these changes, or merge without a commit", listed(.0))]
    NotClean(Vec<PathBuf>),
    #[error("HEAD is detached: check out a branch, or merge without a commit")]
    DetachedHead,
    #[error("a {0} is in progress: finish or abort it, or merge without a commit")]
    InProgress(&'static str),
    #[error("not everything in `{}` is saved ({}): the directory stays", .path.display(), listed(.files))]
    Unsaved { path: PathBuf, files: Vec<PathBuf> },
    #[error(transparent)]
    File(FileError),
    #[error(transparent)]
    Lock(#[from] LockError),
}

impl From<FileError> for RunTreeError {
    fn from(error: FileError) -> Self {
        if error.is_full() { Self::DiskFull(error.to_string()) } else { Self::File(error) }
    }
}

/// The first few paths, and how many there are besides.
fn listed(paths: &[PathBuf]) -> String {
    const SHOWN: usize = 5;
    let quoted = |path: &PathBuf| format!("`{}`", Path::display(path));
    let shown: Vec<String> = paths.iter().take(SHOWN).map(quoted).collect();
    match paths.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
