//! The first commit of a repository, which all of its work trees and clones have in common.
//!
//! A history can begin more than once: merged projects, a branch for web pages. So the question is about the main
//! branch, and about its first parents, whichever work tree asks.

use std::path::Path;
use std::time::Duration;

use super::WorkTree;
use super::read_only::ReadOnlyGit;
use super::repository::GitError;
use crate::sys::files::{self, FileStamp};

/// Branches that are taken for the main one, the first that is there.
const MAIN_BRANCHES: [&str; 3] = ["refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"];

/// What is known of where a repository began.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RepositoryStart {
    /// The id of the first commit.
    At(String),
    /// There is no commit yet.
    NoCommit,
    /// The clone is shallow: its first commits are missing.
    Shallow,
}

impl WorkTree {
    /// Asks git where the repository began, for at most `limit`.
    pub fn repository_start(&self, limit: Duration) -> Result<RepositoryStart, GitError> {
        if self.is_shallow() {
            return Ok(RepositoryStart::Shallow);
        }
        let git = ReadOnlyGit::at(self, limit)?;
        let listed = git.ask(&[&["for-each-ref", "--format=%(refname)"][..], &MAIN_BRANCHES].concat())?;
        let listed = String::from_utf8_lossy(&listed.bytes).into_owned();
        let is_there = |name: &&str| listed.lines().any(|line| line == *name);
        let main = MAIN_BRANCHES.into_iter().find(is_there);
        for name in main.into_iter().chain(["main-worktree/HEAD", "HEAD"]) {
            let found = git.ask(&["rev-list", "--max-parents=0", "--first-parent", name, "--"]);
            match found {
                Ok(output) => {
                    let text = String::from_utf8_lossy(&output.bytes).into_owned();
                    if let Some(id) = text.lines().last() {
                        return Ok(RepositoryStart::At(id.to_string()));
                    }
                }
                // The name leads to no commit: a branch without one, or a git that does not know this notation.
                Err(GitError::Failed { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        match self.head_commit() {
            None => Ok(RepositoryStart::NoCommit),
            Some(commit) => {
                let said = format!("it does not tell where the history of {commit} begins");
                Err(GitError::Failed { command: "rev-list".to_string(), said })
            }
        }
    }

    /// The `stat` of the configuration that all work trees share. Another repository at the same path has another one,
    /// and so has one whose remotes changed.
    pub fn configuration_stamp(&self) -> Option<FileStamp> {
        let metadata = files::link_metadata(&self.repository()?.join("config")).ok()??;
        Some(FileStamp::of(&metadata))
    }

    fn is_shallow(&self) -> bool {
        let has_entries = |path: &Path| std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0);
        self.repository().is_some_and(|repository| has_entries(&repository.join("shallow")))
    }
}

/// Whether the directory is inside a bare repository.
pub fn is_in_bare_repository(dir: &Path) -> bool {
    let is_bare =
        |dir: &Path| dir.join("HEAD").is_file() && dir.join("objects").is_dir() && dir.join("refs").is_dir();
    dir.ancestors().any(is_bare)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(dir: &Path, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.arg("-C").arg(dir).args(["-c", "user.name=J", "-c", "user.email=j@example.org"]).args(args);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = command.output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_string()
    }

    fn start(dir: &Path) -> RepositoryStart {
        WorkTree::containing(dir).unwrap().repository_start(Duration::from_secs(60)).unwrap()
    }

    #[test]
    fn work_trees_and_clones_began_with_the_same_commit() {
        let dir = tempfile::tempdir().unwrap();
        let top = std::fs::canonicalize(dir.path()).unwrap();
        git(&top, &["init", "-q", "-b", "trunk", "plain"]);
        let plain = top.join("plain");
        assert_eq!(start(&plain), RepositoryStart::NoCommit);
        git(&plain, &["commit", "-q", "--allow-empty", "-m", "one"]);
        let first = RepositoryStart::At(git(&plain, &["rev-parse", "HEAD"]));
        git(&plain, &["commit", "-q", "--allow-empty", "-m", "two"]);
        // A branch that began on its own, and a merge of another history.
        git(&plain, &["worktree", "add", "-q", "--detach", "../pages"]);
        git(&top.join("pages"), &["checkout", "-q", "--orphan", "pages"]);
        git(&top.join("pages"), &["commit", "-q", "--allow-empty", "-m", "pages"]);
        git(&plain, &["merge", "-q", "--allow-unrelated-histories", "-m", "both", "pages"]);
        git(&top, &["clone", "-q", "plain", "clone"]);
        git(&top, &["clone", "-q", "-b", "pages", "plain", "pages-clone"]);
        git(&top, &["clone", "-q", "--bare", "plain", "bare.git"]);
        git(&top.join("bare.git"), &["worktree", "add", "-q", "--detach", "../of-bare", "trunk"]);
        for name in ["plain", "pages", "clone", "pages-clone", "of-bare"] {
            assert_eq!(start(&top.join(name)), first, "{name}");
        }
        let url = format!("file://{}", plain.display());
        git(&top, &["clone", "-q", "--depth", "1", &url, "shallow"]);
        assert_eq!(start(&top.join("shallow")), RepositoryStart::Shallow);
        assert!(is_in_bare_repository(&top.join("bare.git/refs")) && !is_in_bare_repository(&plain));
    }
}
