//! What git alone can tell: where it looks for hooks, and what is staged. It is asked as a child process.
//!
//! In a hook, git says by variables which repository, work tree and index it is about (`GIT_DIR`, `GIT_INDEX_FILE`, …);
//! they reach the child as they are. Only plumbing is called, because settings of the user change what the rest says.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

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
    #[error(transparent)]
    File(#[from] FileError),
}

/// A path that a commit would change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Staged {
    /// From the root of the work tree.
    pub path: OsString,
    /// Another repository lies there, before or after: all beneath it changes at once.
    pub is_repository: bool,
}

/// The repository that a directory lies in, as git sees it.
#[derive(Debug)]
pub struct Repository {
    /// The root of the work tree.
    pub root: PathBuf,
    cwd: PathBuf,
}

impl Repository {
    /// The repository of the working directory, which is `cwd`.
    pub fn here(cwd: &Path) -> Result<Self, GitError> {
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

    /// What a commit would change now, by path. Both names of a file that was renamed are in it.
    ///
    /// A merge changes what differs from all of its parents: the rest is what others committed.
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

    /// The other parents of the merge that is under way, if one is.
    fn merged(&self) -> Result<Vec<String>, GitError> {
        let file = path(ask(git().args(["rev-parse", "--git-path", "MERGE_HEAD"]))?);
        let text = files::read(&self.cwd.join(file))?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&text).lines().map(str::to_string).collect())
    }

    /// The file that git runs as that hook, there or not. `core.hooksPath` is counted in.
    pub fn hook(&self, name: &str) -> Result<PathBuf, GitError> {
        let file = ask(self.at_root().args(["rev-parse", "--git-path", &format!("hooks/{name}")]))?;
        Ok(self.root.join(path(file)))
    }

    /// Where all work trees of the repository keep what they share.
    pub fn common_dir(&self) -> Result<PathBuf, GitError> {
        Ok(self.root.join(path(ask(self.at_root().args(["rev-parse", "--git-common-dir"]))?)))
    }

    /// Would a file there be committed with the rest? It is tracked, or nothing says that it is to be ignored.
    pub fn would_commit(&self, file: &Path) -> Result<bool, GitError> {
        let mut list = self.at_root();
        list.env("GIT_LITERAL_PATHSPECS", "1").args(["ls-files", "-z", "--"]).arg(file);
        if !ask(&mut list)?.is_empty() {
            return Ok(true);
        }
        let ignored = run(self.at_root().args(["check-ignore", "-q", "--"]).arg(file))?;
        Ok(!ignored.status.success())
    }

    /// Run from the root, whatever variables say that are read from where we are.
    fn at_root(&self) -> Command {
        let mut command = git();
        command.current_dir(&self.root);
        if let Some(dir) = std::env::var_os("GIT_DIR") {
            command.env("GIT_DIR", self.cwd.join(dir)).env("GIT_WORK_TREE", &self.root);
        }
        command
    }
}

/// Where the index differs from a tree.
fn differing(tree: &str) -> Result<Vec<Staged>, GitError> {
    // What is only intended to be added is not committed; that a submodule is ignored keeps nobody from committing it.
    let options = ["--cached", "--raw", "-z", "--no-renames", "--no-abbrev"];
    let more = ["--ignore-submodules=none", "--ita-invisible-in-index", tree, "--"];
    Ok(parse(&ask(git().arg("diff-index").args(options).args(more))?))
}

/// `:<mode> <mode> <object> <object> <status>`, NUL, path, NUL; again and again.
fn parse(raw: &[u8]) -> Vec<Staged> {
    const REPOSITORY: &[u8] = b"160000";
    let mut fields = raw.split(|byte| *byte == 0);
    let mut staged = Vec::new();
    while let (Some(about), Some(path)) = (fields.next(), fields.next()) {
        let mut modes = about.strip_prefix(b":").unwrap_or(about).split(|byte| *byte == b' ').take(2);
        let is_repository = modes.any(|mode| mode == REPOSITORY);
        staged.push(Staged { path: OsStr::from_bytes(path).to_os_string(), is_repository });
    }
    // One that is in conflict is told more than once.
    staged.dedup_by(|a, b| a.path == b.path);
    staged
}

fn has_commit() -> Result<bool, GitError> {
    Ok(run(git().args(["rev-parse", "-q", "--verify", "HEAD^{commit}"]))?.status.success())
}

/// The tree without anything in it, by the name that it has in this repository.
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

/// What git answers, if it does.
fn ask(command: &mut Command) -> Result<Vec<u8>, GitError> {
    let output = run(command)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let command = command.get_args().next().unwrap_or_default().to_string_lossy().into_owned();
    Err(GitError::Failed { command, said: said(&output) })
}

/// The first line of its complaint.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().next().unwrap_or("it said nothing");
    line.trim_start_matches("fatal: ").to_string()
}

/// A path that was printed alone on a line, whatever characters are in it.
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
