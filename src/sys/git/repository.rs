//! Questions that only git can answer, by running it: where it looks for hooks, and what is staged.
//!
//! In a hook, git sets variables that name the repository, work tree and index (`GIT_DIR`, `GIT_INDEX_FILE`, …); the
//! child inherits them unchanged. Only plumbing commands are used, because the user's settings change the output of
//! others.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::sys::files::{self, FileError};

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git can't be run: {0}")]
    NotRun(io::Error),
    #[error("`{}` is in no git repository", .0.display())]
    NoRepository(PathBuf),
    #[error("`{}` is in no work tree of its repository", .0.display())]
    NoWorkTree(PathBuf),
    #[error("`git {command}` failed: {said}")]
    Failed { command: String, said: String },
    #[error("`git {command}` took more than {} s", .limit.as_secs())]
    TooSlow { command: String, limit: Duration },
    #[error(transparent)]
    File(#[from] FileError),
}

/// A path that a commit would change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Staged {
    /// Relative to the root of the work tree.
    pub path: OsString,
    /// Whether there is another repository (a submodule) at this path, before or after the commit: everything below it
    /// changes at once.
    pub is_repository: bool,
}

/// The repository of a directory, as git sees it.
#[derive(Debug)]
pub struct Repository {
    /// The root of the work tree.
    pub root: PathBuf,
    cwd: PathBuf,
}

impl Repository {
    /// The repository of the current working directory, which is `cwd`.
    pub fn here(cwd: &Path) -> Result<Self, GitError> {
        Self::find(cwd, git)
    }

    /// The repository of another directory.
    pub fn at(dir: &Path) -> Result<Self, GitError> {
        Self::find(dir, || {
            let mut command = git();
            command.current_dir(dir);
            command
        })
    }

    fn find(cwd: &Path, git: impl Fn() -> Command) -> Result<Self, GitError> {
        let output = run(git().args(["rev-parse", "--show-toplevel"]))?;
        if output.status.success() {
            return Ok(Self { root: path(output.stdout), cwd: cwd.to_path_buf() });
        }
        let inside = run(git().args(["rev-parse", "--git-dir"]))?;
        Err(match said(&inside) {
            _ if inside.status.success() => GitError::NoWorkTree(cwd.to_path_buf()),
            said if said.contains("not a git repository") => GitError::NoRepository(cwd.to_path_buf()),
            said => GitError::Failed { command: "rev-parse".to_string(), said },
        })
    }

    /// The paths that a commit would change now. For a renamed file, both names are included.
    ///
    /// For a merge, these are the paths that differ from all of its parents: the rest was committed by others.
    pub fn staged(&self) -> Result<Vec<Staged>, GitError> {
        let mut staged = match differing("HEAD") {
            Err(GitError::Failed { .. }) if !has_commit()? => differing(&empty_tree()?)?,
            differing => differing?,
        };
        for parent in self.merged()? {
            let there = differing(&parent)?;
            let there: HashSet<&OsStr> = there.iter().map(|staged| staged.path.as_os_str()).collect();
            staged.retain(|staged| there.contains(staged.path.as_os_str()));
        }
        Ok(staged)
    }

    /// The other parents of the merge in progress, if any.
    fn merged(&self) -> Result<Vec<String>, GitError> {
        let file = path(ask(git().args(["rev-parse", "--git-path", "MERGE_HEAD"]))?);
        let text = files::read(&self.cwd.join(file))?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&text).lines().map(str::to_string).collect())
    }

    /// The file that git would run as that hook, whether it exists or not. Respects `core.hooksPath`.
    pub fn hook(&self, name: &str) -> Result<PathBuf, GitError> {
        let file = ask(self.at_root().args(["rev-parse", "--git-path", &format!("hooks/{name}")]))?;
        Ok(self.root.join(path(file)))
    }

    /// The directory with the data that all work trees of the repository share.
    pub fn common_dir(&self) -> Result<PathBuf, GitError> {
        Ok(self.root.join(path(ask(self.at_root().args(["rev-parse", "--git-common-dir"]))?)))
    }

    /// Whether a file there would be committed with the rest: it is tracked, or not ignored.
    pub fn would_commit(&self, file: &Path) -> Result<bool, GitError> {
        let mut list = self.at_root();
        list.env("GIT_LITERAL_PATHSPECS", "1").args(["ls-files", "-z", "--"]).arg(file);
        if !ask(&mut list)?.is_empty() {
            return Ok(true);
        }
        let ignored = run(self.at_root().args(["check-ignore", "-q", "--"]).arg(file))?;
        Ok(!ignored.status.success())
    }

    /// A `git` command that runs at the root. A relative `GIT_DIR` is resolved against the working directory.
    fn at_root(&self) -> Command {
        let mut command = git();
        command.current_dir(&self.root);
        if let Some(dir) = std::env::var_os("GIT_DIR") {
            command.env("GIT_DIR", self.cwd.join(dir)).env("GIT_WORK_TREE", &self.root);
        }
        command
    }
}

/// The paths at which the index differs from a tree.
fn differing(tree: &str) -> Result<Vec<Staged>, GitError> {
    // Paths added with `--intent-to-add` are not committed. A submodule can be committed even if it is ignored in
    // diffs.
    let options = ["--cached", "--raw", "-z", "--no-renames", "--no-abbrev"];
    let more = ["--ignore-submodules=none", "--ita-invisible-in-index", tree, "--"];
    Ok(parse(&ask(git().arg("diff-index").args(options).args(more))?))
}

/// Parses repeated entries of the form `:<mode> <mode> <object> <object> <status>`, NUL, path, NUL.
fn parse(raw: &[u8]) -> Vec<Staged> {
    const REPOSITORY: &[u8] = b"160000";
    let mut fields = raw.split(|byte| *byte == 0);
    let mut staged = Vec::new();
    while let (Some(about), Some(path)) = (fields.next(), fields.next()) {
        let mut modes = about.strip_prefix(b":").unwrap_or(about).split(|byte| *byte == b' ').take(2);
        let is_repository = modes.any(|mode| mode == REPOSITORY);
        staged.push(Staged { path: OsStr::from_bytes(path).to_os_string(), is_repository });
    }
    // A path in conflict is listed more than once.
    staged.dedup_by(|a, b| a.path == b.path);
    staged
}

fn has_commit() -> Result<bool, GitError> {
    Ok(run(git().args(["rev-parse", "-q", "--verify", "HEAD^{commit}"]))?.status.success())
}

/// The id of the empty tree in this repository's hash format.
fn empty_tree() -> Result<String, GitError> {
    let name = ask(git().args(["hash-object", "-t", "tree", "--stdin"]))?;
    Ok(String::from_utf8_lossy(&name).trim().to_string())
}

fn git() -> Command {
    let mut command = Command::new("git");
    command.env("LC_ALL", "C").stdin(Stdio::null());
    command
}

fn run(command: &mut Command) -> Result<Output, GitError> {
    command.output().map_err(GitError::NotRun)
}

/// The output of git, or an error if it failed.
fn ask(command: &mut Command) -> Result<Vec<u8>, GitError> {
    let output = run(command)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let command = command.get_args().next().unwrap_or_default().to_string_lossy().into_owned();
    Err(GitError::Failed { command, said: said(&output) })
}

/// The first line of its error output.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().next().unwrap_or("no output");
    line.trim_start_matches("fatal: ").to_string()
}

/// A path printed alone on a line, whatever characters it contains.
fn path(mut line: Vec<u8>) -> PathBuf {
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    OsString::from_vec(line).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_differences() {
        let raw = b":100644 000000 a b D\0old name\nx\0:000000 160000 a b A\0lib\0:100644 100644 a b U\0c\0\
                    :100644 100644 a b M\0c\0:120000 100644 a b T\0-f\xff\0";
        let staged: Vec<(Vec<u8>, bool)> =
            parse(raw).into_iter().map(|staged| (staged.path.into_vec(), staged.is_repository)).collect();
        let expected: [(&[u8], bool); 4] =
            [(b"old name\nx", false), (b"lib", true), (b"c", false), (b"-f\xff", false)];
        assert_eq!(staged, expected.map(|(path, is_repository)| (path.to_vec(), is_repository)));
        assert_eq!(parse(b""), []);
    }
}
