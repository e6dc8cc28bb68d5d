//! Writes the files of a merge into a person's work tree, each in one step.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::brought_files::has_link_above;
use super::error::RunTreeError;
use super::three_way::MergeConflict;
use super::tree_diff::TreeChange;
use crate::sys::files::{self, FileStamp};

/// What must not be where the merge writes: files that the snapshot does not have, and links on the way.
pub(super) fn obstacles(root: &Path, changes: &[TreeChange]) -> Result<Vec<MergeConflict>, RunTreeError> {
    let removed: BTreeSet<&Path> =
        changes.iter().filter(|change| change.new.is_absent()).map(|change| change.path.as_path()).collect();
    let mut found = Vec::new();
    for change in changes {
        let mut tell =
            |why: &str| found.push(MergeConflict { path: change.path.clone(), why: why.to_string() });
        if change.new.is_submodule() || change.old.is_submodule() {
            tell("it is a submodule, which a merge does not change");
        } else if has_link_above(root, &change.path)? && !is_below(&change.path, &removed) {
            tell("a directory above it is a symbolic link");
        } else if change.new.is_absent() {
            continue;
        } else if has_file_above(root, &change.path, &removed)? {
            tell("a file is where its directory should be");
        } else if let Some(there) = files::link_metadata(&root.join(&change.path))? {
            if there.is_dir() && !has_only(root, &change.path, &removed)? {
                tell("there is a directory with other files");
            } else if !there.is_dir() && change.old.is_absent() {
                tell("there is a file that git does not track, or that is too large or secret to be merged");
            }
        }
    }
    Ok(found)
}

/// Whether a removed path is above it.
fn is_below(path: &Path, removed: &BTreeSet<&Path>) -> bool {
    path.ancestors().skip(1).any(|above| removed.contains(above))
}

/// Whether something that is not a directory, and stays, is above it.
fn has_file_above(root: &Path, path: &Path, removed: &BTreeSet<&Path>) -> Result<bool, RunTreeError> {
    for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
        if let Some(there) = files::link_metadata(&root.join(above))? {
            return Ok(!there.is_dir() && !removed.contains(above));
        }
    }
    Ok(false)
}

/// Whether a directory has only files that are removed.
fn has_only(root: &Path, dir: &Path, removed: &BTreeSet<&Path>) -> Result<bool, RunTreeError> {
    for entry in fs_err::read_dir(root.join(dir)).map_err(files::FileError::from)? {
        let entry = entry.map_err(files::FileError::from)?;
        let path = dir.join(entry.file_name());
        let is_dir = entry.file_type().map_err(files::FileError::from)?.is_dir();
        let goes = removed.contains(path.as_path()) || is_dir && has_only(root, &path, removed)?;
        if !goes {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The state of a file right now; `None` if there is nothing.
pub(super) fn stamp(root: &Path, path: &Path) -> Result<Option<FileStamp>, RunTreeError> {
    Ok(files::link_metadata(&root.join(path))?.map(|metadata| FileStamp::of(&metadata)))
}

/// The order in which changes are written. Files that make room for others are removed first; all others last, so that
/// a renamed file is never missing.
pub(super) fn in_order(changes: &[TreeChange]) -> Vec<&TreeChange> {
    let written: BTreeSet<&Path> =
        changes.iter().filter(|change| !change.new.is_absent()).map(|change| change.path.as_path()).collect();
    let makes_room = |change: &TreeChange| {
        let is_above = written.iter().any(|path| path.starts_with(&change.path));
        is_above || change.path.ancestors().skip(1).any(|above| written.contains(above))
    };
    let (removals, writes): (Vec<&TreeChange>, Vec<&TreeChange>) =
        changes.iter().partition(|change| change.new.is_absent());
    let (first, last): (Vec<&TreeChange>, Vec<&TreeChange>) =
        removals.into_iter().partition(|change| makes_room(change));
    first.into_iter().chain(writes).chain(last).collect()
}

/// Makes one change. `staged` has the new files as they are to be.
pub(super) fn write(root: &Path, staged: &Path, change: &TreeChange) -> Result<(), RunTreeError> {
    let target = root.join(&change.path);
    if change.new.is_absent() {
        files::remove(&target)?;
        return remove_empty_above(root, &change.path);
    }
    let there = files::link_metadata(&target)?;
    if there.as_ref().is_some_and(Metadata::is_dir) {
        remove_empty(&target)?;
    }
    make_directories(root, &change.path)?;
    let source = staged.join(&change.path);
    if change.new.is_link() {
        let text = files::read_link(&source)?.ok_or(RunTreeError::Output("checkout-index"))?;
        return Ok(files::replace_with_link(&target, &text)?);
    }
    let new = files::link_metadata(&source)?.ok_or(RunTreeError::Output("checkout-index"))?;
    let mode = mode_of(there.as_ref().filter(|there| there.is_file()), &new, change);
    let content = files::read_large(&source)?.ok_or(RunTreeError::Output("checkout-index"))?;
    Ok(files::replace_beside(&target, &content, mode)?)
}

/// The mode of the file that is there, with the executable bits of the new one.
fn mode_of(there: Option<&Metadata>, new: &Metadata, change: &TreeChange) -> u32 {
    let new_mode = new.permissions().mode() & 0o777;
    let Some(there) = there else { return new_mode };
    let mode = there.permissions().mode() & 0o777;
    if change.old.mode == change.new.mode {
        mode
    } else if change.new.is_executable() {
        // Who may read it may run it.
        mode | (mode & 0o444) >> 2
    } else {
        mode & !0o111
    }
}

/// The directories above a file, with the usual mode of the person's files.
fn make_directories(root: &Path, path: &Path) -> Result<(), RunTreeError> {
    let above: Vec<&Path> = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
    for above in above.into_iter().rev() {
        let dir = root.join(above);
        if files::link_metadata(&dir)?.is_none() {
            files::create_shared_dir(&dir)?;
        }
    }
    Ok(())
}

/// Removes directories that a removal left empty.
fn remove_empty_above(root: &Path, path: &Path) -> Result<(), RunTreeError> {
    for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
        if !files::remove_dir(&root.join(above))? {
            break;
        }
    }
    Ok(())
}

/// Removes a directory that has no files.
fn remove_empty(dir: &Path) -> Result<(), RunTreeError> {
    let mut below: Vec<PathBuf> = Vec::new();
    for entry in fs_err::read_dir(dir).map_err(files::FileError::from)? {
        below.push(entry.map_err(files::FileError::from)?.path());
    }
    for path in below {
        remove_empty(&path)?;
    }
    files::remove_dir(dir)?;
    Ok(())
}
