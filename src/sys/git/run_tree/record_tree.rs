//! Records the files of a work tree as a tree object, with an index of our own.
//!
//! The index says what is tracked. Working files that differ from it are put into it, and so are new files that are
//! neither ignored, nor large, nor look like secrets.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::error::RunTreeError;
use super::git_call::GitCaller;
use super::left_out::{LeftOutFile, LeftOutReason, reason_for};
use super::status_entry::{StatusEntry, path_of};
use crate::sys::files;

/// A tree object of the working files.
#[derive(Clone, Debug)]
pub(super) struct RecordedTree {
    pub(super) tree: String,
    /// Files and repositories that are not in it.
    pub(super) left_out: Vec<LeftOutFile>,
}

/// Records the work tree at `root`. `git` works there, with a private index. `wanted` are files to record even if they
/// are ignored. Files for which `is_known` is true are new to git but not news: they are neither recorded nor told.
pub(super) fn record_tree(
    git: &GitCaller,
    root: &Path,
    wanted: &[PathBuf],
    is_known: &dyn Fn(&Path) -> Result<bool, RunTreeError>,
) -> Result<RecordedTree, RunTreeError> {
    reveal_hidden(git, root)?;
    let mut left_out = Vec::new();
    let mut changed = Vec::new();
    let mut removed = Vec::new();
    let mut entries = StatusEntry::all(git)?;
    let listed: BTreeSet<PathBuf> = entries.iter().filter_map(StatusEntry::untracked).cloned().collect();
    entries.extend(wanted.iter().filter(|path| !listed.contains(*path)).cloned().map(StatusEntry::Untracked));
    for entry in entries {
        match entry {
            StatusEntry::Changed(path) => changed.push(path),
            StatusEntry::Deleted(path) => removed.push((path, None)),
            StatusEntry::SubmoduleConflict { path, ours } => {
                left_out.push(LeftOutFile { path: path.clone(), reason: LeftOutReason::Submodule });
                removed.push((path, ours));
            }
            StatusEntry::Submodule(path) => {
                left_out.push(LeftOutFile { path, reason: LeftOutReason::Submodule });
            }
            StatusEntry::Repository(path) if !is_known(&path)? => {
                left_out.push(LeftOutFile { path, reason: LeftOutReason::Repository });
            }
            StatusEntry::Untracked(path) | StatusEntry::Intended(path) if !is_known(&path)? => {
                match reason_for(root, &path)? {
                    None => changed.push(path),
                    Some(reason) => left_out.push(LeftOutFile { path, reason }),
                }
            }
            StatusEntry::Repository(_)
            | StatusEntry::Untracked(_)
            | StatusEntry::Intended(_)
            | StatusEntry::Staged(_) => {}
        }
    }
    if !removed.is_empty() {
        git.feed(&["update-index", "-z", "--index-info"], index_lines(git, &removed)?)?;
    }
    add_files(git, &changed)?;
    Ok(RecordedTree { tree: git.line(&["write-tree"])?, left_out })
}

/// Puts working files into the index.
pub(super) fn add_files(git: &GitCaller, paths: &[PathBuf]) -> Result<(), RunTreeError> {
    if paths.is_empty() {
        return Ok(());
    }
    // `--remove`: a file may have gone since it was listed. `--replace`: it may be where a directory was.
    git.feed(&["update-index", "--add", "--remove", "--replace", "-z", "--stdin"], joined(paths))?;
    Ok(())
}

/// The paths in the index.
pub(super) fn indexed(git: &GitCaller) -> Result<BTreeSet<PathBuf>, RunTreeError> {
    let listed = git.ask(&["ls-files", "-z"])?;
    Ok(listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(path_of).collect())
}

/// Clears the marks by which git does not look at a working file, if there is one.
fn reveal_hidden(git: &GitCaller, root: &Path) -> Result<(), RunTreeError> {
    let listed = git.ask(&["ls-files", "-v", "-z"])?;
    let mut hidden = Vec::new();
    for line in listed.split(|byte| *byte == 0) {
        // A lower-case letter: assume unchanged. `S`: not in the work tree (sparse).
        let [tag, b' ', path @ ..] = line else { continue };
        let path = path_of(path);
        let is_hidden = match tag {
            b'S' | b's' => files::link_metadata(&root.join(&path))?.is_some(),
            tag => tag.is_ascii_lowercase(),
        };
        if is_hidden {
            hidden.push(path);
        }
    }
    if !hidden.is_empty() {
        for flag in ["--no-assume-unchanged", "--no-skip-worktree"] {
            git.feed(&["update-index", flag, "-z", "--stdin"], joined(&hidden))?;
        }
    }
    Ok(())
}

fn joined(paths: &[PathBuf]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path.as_os_str().as_bytes());
        bytes.push(0);
    }
    bytes
}

/// What `update-index --index-info` reads: paths to remove, or to set to a commit of a submodule.
fn index_lines(git: &GitCaller, removed: &[(PathBuf, Option<String>)]) -> Result<Vec<u8>, RunTreeError> {
    // As long as the names of objects are here.
    let null = "0".repeat(git.line(&["hash-object", "-t", "tree", "--stdin"])?.len());
    let mut bytes = Vec::new();
    for (path, commit) in removed {
        let line = match commit {
            None => format!("0 {null}\t"),
            Some(commit) => format!("160000 {commit} 0\t"),
        };
        bytes.extend_from_slice(line.as_bytes());
        bytes.extend_from_slice(path.as_os_str().as_bytes());
        bytes.push(0);
    }
    Ok(bytes)
}
