//! The output of `git status --porcelain=v2 -z`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::error::RunTreeError;
use super::git_call::GitCaller;

/// How a path differs from the index.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum StatusEntry {
    /// A tracked file was changed.
    Changed(PathBuf),
    /// A tracked file is gone.
    Deleted(PathBuf),
    /// Added with `git add --intent-to-add`: git tracks it, but has no content of it.
    Intended(PathBuf),
    /// A submodule that has other commits or changed files.
    Submodule(PathBuf),
    /// A submodule with a merge conflict, and the commit on our side.
    SubmoduleConflict { path: PathBuf, ours: Option<String> },
    /// A file that git does not track.
    Untracked(PathBuf),
    /// Another repository that git does not track.
    Repository(PathBuf),
    /// Only staged: the working file is as in the index.
    Staged(PathBuf),
}

const SUBMODULE: &str = "160000";

impl StatusEntry {
    /// The entries of a work tree.
    pub(super) fn all(git: &GitCaller) -> Result<Vec<Self>, RunTreeError> {
        const STATUS: [&str; 6] = [
            "status",
            "--porcelain=v2",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=none",
        ];
        parse(&git.ask(&STATUS)?)
    }

    /// The path, if git does not track it.
    pub(super) fn untracked(&self) -> Option<&PathBuf> {
        match self {
            Self::Untracked(path) | Self::Repository(path) => Some(path),
            _ => None,
        }
    }
}

pub(super) fn parse(output: &[u8]) -> Result<Vec<StatusEntry>, RunTreeError> {
    let lines = output.split(|byte| *byte == 0).filter(|line| !line.is_empty());
    let entries = lines.filter(|line| !line.starts_with(b"#") && !line.starts_with(b"!"));
    entries.map(|line| entry(line).ok_or(RunTreeError::Output("status"))).collect()
}

fn entry(line: &[u8]) -> Option<StatusEntry> {
    let (kind, rest) = line.split_at_checked(2)?;
    match kind {
        b"? " => {
            let path = path_of(rest);
            let is_directory = rest.ends_with(b"/");
            Some(if is_directory { StatusEntry::Repository(path) } else { StatusEntry::Untracked(path) })
        }
        // XY sub mH mI mW hH hI path
        b"1 " => ordinary(rest),
        // XY sub m1 m2 m3 mW h1 h2 h3 path
        b"u " => unmerged(rest),
        _ => None,
    }
}

fn ordinary(rest: &[u8]) -> Option<StatusEntry> {
    let (words, path) = words_and_path::<7>(rest)?;
    let [states, _, _, in_index, in_tree, _, _] = words;
    let here = *states.as_bytes().get(1)?;
    Some(match here {
        b'.' => StatusEntry::Staged(path),
        _ if in_index == SUBMODULE || in_tree == SUBMODULE => StatusEntry::Submodule(path),
        b'D' => StatusEntry::Deleted(path),
        b'A' => StatusEntry::Intended(path),
        _ => StatusEntry::Changed(path),
    })
}

fn unmerged(rest: &[u8]) -> Option<StatusEntry> {
    let (words, path) = words_and_path::<9>(rest)?;
    let [_, _, first, second, third, in_tree, _, ours, _] = words;
    Some(if [first, second, third].contains(&SUBMODULE) {
        StatusEntry::SubmoduleConflict { path, ours: (second == SUBMODULE).then(|| ours.to_string()) }
    } else if in_tree == "000000" {
        StatusEntry::Deleted(path)
    } else {
        StatusEntry::Changed(path)
    })
}

/// The first words of a line, and the path that follows them.
fn words_and_path<const COUNT: usize>(line: &[u8]) -> Option<([&str; COUNT], PathBuf)> {
    let mut parts = line.splitn(COUNT + 1, |byte| *byte == b' ');
    let mut words = [""; COUNT];
    for word in &mut words {
        *word = std::str::from_utf8(parts.next()?).ok()?;
    }
    Some((words, path_of(parts.next()?)))
}

pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    Path::new(OsStr::from_bytes(bytes.strip_suffix(b"/").unwrap_or(bytes))).to_path_buf()
}
