//! A fingerprint of a work tree: cheap enough to be taken after each command of a worker, to see whether the command
//! changed something in a tree that is not its own.
//!
//! Files that git ignores are not part of it.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::RunTreeError;
use super::git_call::GitCaller;
use super::status_entry::path_of;
use crate::domain::sha256;
use crate::sys::files::{self, FileStamp};

/// The state of a work tree at a moment.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TreeFingerprint {
    /// What `HEAD` names, and its commit.
    head: String,
    /// The files that differ from the index, or are not tracked, and a mark of their state.
    files: BTreeMap<PathBuf, String>,
}

/// A difference between two fingerprints.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum ParentChange {
    /// Another commit or branch is checked out.
    Head,
    /// This file was changed, added, removed, staged or restored. Relative to the root of the work tree.
    File(PathBuf),
}

impl TreeFingerprint {
    /// The fingerprint of the work tree at `root`. Nothing is written, not even the index.
    pub fn of(root: &Path) -> Result<Self, RunTreeError> {
        Self::by(root, &GitCaller::at(root))
    }

    /// The same, if git can tell in that time; else [`RunTreeError::TooSlow`].
    pub fn within(root: &Path, limit: Duration) -> Result<Self, RunTreeError> {
        Self::by(root, &GitCaller::at(root).within(limit))
    }

    fn by(root: &Path, git: &GitCaller) -> Result<Self, RunTreeError> {
        let git = git.with("GIT_OPTIONAL_LOCKS", "0");
        const STATUS: [&str; 7] = [
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--no-ahead-behind",
        ];
        let output = git.ask(&STATUS)?;
        let mut head = Vec::new();
        let mut marks = BTreeMap::new();
        for line in output.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            if line.starts_with(b"# branch.oid") || line.starts_with(b"# branch.head") {
                head.extend_from_slice(line);
                continue;
            }
            let words = match line.first() {
                Some(b'?') => 1,
                Some(b'1') => 8,
                Some(b'u') => 10,
                _ => continue,
            };
            let Some(path) = line.splitn(words + 1, |byte| *byte == b' ').nth(words) else { continue };
            let path = path_of(path);
            let about = &line[..line.len() - path.as_os_str().len()];
            let stamp = files::link_metadata(&root.join(&path))?.map(|metadata| FileStamp::of(&metadata));
            let state = format!("{}{stamp:?}", String::from_utf8_lossy(about));
            marks.insert(path, sha256(state.as_bytes())[..16].to_string());
        }
        Ok(Self { head: sha256(&head), files: marks })
    }

    /// What changed since then, in order of the names.
    pub fn changes_since(&self, then: &Self) -> Vec<ParentChange> {
        let mut changes = Vec::new();
        if self.head != then.head {
            changes.push(ParentChange::Head);
        }
        let differing = |path: &&PathBuf| self.files.get(*path) != then.files.get(*path);
        changes.extend(
            self.files.keys().chain(then.files.keys()).filter(differing).cloned().map(ParentChange::File),
        );
        changes.sort();
        changes.dedup();
        changes
    }

    /// As bytes, to be kept in a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{}\0", self.head).into_bytes();
        for (path, mark) in &self.files {
            bytes.extend_from_slice(format!("{mark} ").as_bytes());
            bytes.extend_from_slice(path.as_os_str().as_bytes());
            bytes.push(0);
        }
        bytes
    }

    /// The inverse of [`TreeFingerprint::to_bytes`]; `None` for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut lines = bytes.strip_suffix(b"\0")?.split(|byte| *byte == 0);
        let head = std::str::from_utf8(lines.next()?).ok()?.to_string();
        let entry = |line: &[u8]| {
            let space = line.iter().position(|byte| *byte == b' ')?;
            let mark = std::str::from_utf8(&line[..space]).ok()?.to_string();
            Some((path_of(&line[space + 1..]), mark))
        };
        let files = lines.map(entry).collect::<Option<BTreeMap<_, _>>>()?;
        Some(Self { head, files })
    }
}
