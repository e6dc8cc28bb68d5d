//! The repository and the work tree that a run starts from.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::RunTreeError;
use super::git_call::{GitCaller, failed};
use super::private_index::PrivateIndex;
use crate::sys::environment::variable;
use crate::sys::files;
use crate::sys::flock::FileLock;

/// How long to wait for others who add or remove work trees of the repository.
const LOCK_LIMIT: Duration = Duration::from_secs(600);
/// The first version of git that merges in memory with a given base.
const MERGING_GIT: (u32, u32) = (2, 40);
/// Who signs commits if the person has not told git a name, and who signs snapshots.
const OWN_NAME: &str = "ravenry";
const OWN_EMAIL: &str = "ravenry@localhost";

/// A person's work tree with a commit.
#[derive(Clone, Debug)]
pub struct RunRepository {
    root: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    state: PathBuf,
}

impl RunRepository {
    /// The work tree that contains `dir`. `state` is a directory of ours, outside of every repository, for locks and
    /// files that are needed for a moment.
    pub fn open(dir: &Path, state: &Path) -> Result<Self, RunTreeError> {
        let git = GitCaller::at(dir);
        let args = ["rev-parse", "--is-bare-repository", "--is-inside-work-tree"];
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        let answer = git.answer(&args, Vec::new())?;
        if answer.code != Some(0) {
            return Err(match failed(&args, &answer) {
                RunTreeError::Failed { said, .. } if said.contains("not a git repository") => {
                    RunTreeError::NoRepository(dir.to_path_buf())
                }
                other => other,
            });
        }
        let output = String::from_utf8_lossy(&answer.output).into_owned();
        let mut lines = output.lines();
        let (is_bare, is_inside) = (lines.next() == Some("true"), lines.next() == Some("true"));
        if is_bare {
            return Err(RunTreeError::Bare(dir.to_path_buf()));
        }
        if !is_inside {
            return Err(RunTreeError::NoWorkTree(dir.to_path_buf()));
        }
        let root = git.path(&["rev-parse", "--show-toplevel"])?;
        let git = GitCaller::at(&root);
        let git_dir = git.path(&["rev-parse", "--absolute-git-dir"])?;
        let common_dir = git.path(&["rev-parse", "--git-common-dir"])?;
        let common_dir = std::fs::canonicalize(common_dir).map_err(RunTreeError::NotRun)?;
        files::create_dir(state)?;
        Ok(Self { root, git_dir, common_dir, state: state.to_path_buf() })
    }

    /// The root of the work tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory with the data that all work trees of the repository share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    pub(super) fn state(&self) -> &Path {
        &self.state
    }

    pub(super) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// git at the root, with the person's index.
    pub(super) fn git(&self) -> GitCaller {
        GitCaller::at(&self.root)
    }

    /// A copy of the person's index.
    pub(super) fn index(&self) -> Result<PrivateIndex, RunTreeError> {
        PrivateIndex::copy_of(&self.git_dir.join("index"), &self.state)
    }

    /// The commit that is checked out.
    pub fn head(&self) -> Result<String, RunTreeError> {
        let head = self.git().line_or_none(&["rev-parse", "--verify", "-q", "HEAD^{commit}"])?;
        head.ok_or_else(|| RunTreeError::NoCommits(self.root.clone()))
    }

    /// The names of the remotes.
    pub fn remotes(&self) -> Result<Vec<String>, RunTreeError> {
        Ok(self.git().line(&["remote"])?.lines().map(str::to_string).collect())
    }

    /// An error if this git is older than 2.40.
    pub fn require_merging_git(&self) -> Result<(), RunTreeError> {
        merging_git().map(drop)
    }

    /// Keeps others of ours from adding and removing work trees of the repository. The lock is in our own directory.
    pub(super) fn lock(&self) -> Result<FileLock, RunTreeError> {
        let locks = self.state.join("git-locks");
        files::create_dir(&locks)?;
        let metadata = std::fs::metadata(&self.common_dir).map_err(RunTreeError::NotRun)?;
        let name = format!("{:x}-{:x}.lock", metadata.dev(), metadata.ino());
        Ok(FileLock::acquire(&locks.join(name), LOCK_LIMIT)?)
    }

    /// Makes a commit in the name of the person, or of ours if git does not know a name. With `at`, it has the time of
    /// that commit, so that it is the same commit when it is made again.
    pub(super) fn commit(
        &self,
        tree: &str,
        parents: &[&str],
        message: &str,
        at: Option<&str>,
    ) -> Result<String, RunTreeError> {
        let mut git = self.signed()?;
        if let Some(commit) = at {
            let date = self.git().line(&["show", "-s", "--no-show-signature", "--format=%at %ai", commit])?;
            let seconds = date.split(' ').next().unwrap_or_default();
            let zone = date.rsplit(' ').next().unwrap_or_default();
            let date = format!("@{seconds} {zone}");
            git = git.with("GIT_AUTHOR_DATE", &date).with("GIT_COMMITTER_DATE", &date);
        }
        commit_tree(&git, tree, parents, message)
    }

    /// Makes a commit of our own that nobody publishes.
    pub(super) fn own_commit(
        &self,
        tree: &str,
        parents: &[&str],
        message: &str,
    ) -> Result<String, RunTreeError> {
        let mut git = self.git();
        for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"] {
            git = git.with(name, OWN_NAME);
        }
        for email in ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
            git = git.with(email, OWN_EMAIL);
        }
        commit_tree(&git, tree, parents, message)
    }

    fn signed(&self) -> Result<GitCaller, RunTreeError> {
        let pattern = r"^(user|author|committer)\.(name|email)$";
        let known = self.git().line_or_none(&["config", "--name-only", "--get-regexp", pattern])?;
        let known: Vec<String> =
            known.unwrap_or_default().lines().map(|key| key.to_ascii_lowercase()).collect();
        let mut git = self.git();
        for (role, name, email) in [
            ("author", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"),
            ("committer", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"),
        ] {
            let is_known = |what: &str| {
                let keys = [format!("user.{what}"), format!("{role}.{what}")];
                keys.iter().any(|key| known.contains(key))
            };
            if !is_known("name") && variable(name).is_none() {
                git = git.with(name, OWN_NAME);
            }
            if !is_known("email") && variable(email).is_none() {
                git = git.with(email, OWN_EMAIL);
            }
        }
        Ok(git)
    }
}

/// The version of git; an error if it is older than 2.40.
pub fn merging_git() -> Result<String, RunTreeError> {
    let text = GitCaller::at(Path::new("/")).line(&["version"])?;
    let found = text.trim_start_matches("git version ").to_string();
    let mut numbers = found.split('.').map(|number| number.parse::<u32>().unwrap_or_default());
    let version = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    if version < MERGING_GIT { Err(RunTreeError::OldGit { found }) } else { Ok(found) }
}

fn commit_tree(git: &GitCaller, tree: &str, parents: &[&str], message: &str) -> Result<String, RunTreeError> {
    let mut args = vec!["commit-tree", tree];
    args.extend(parents.iter().flat_map(|parent| ["-p", parent]));
    // A message without a letter would be taken for no input at all.
    let message = if message.trim().is_empty() { "work of a run" } else { message };
    args.extend(["-F", "-"]);
    let output = git.feed(&args, message.as_bytes().to_vec())?;
    Ok(String::from_utf8_lossy(&output).trim().to_string())
}
