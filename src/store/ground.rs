//! What a directory is before it is used as a mesh: a mesh, empty, or something else that must not be changed.

use std::ffi::OsStr;
use std::path::Path;

use super::layout::{DIRECTORIES, LATER};
use crate::sys::files::{self, FileError};

/// What a mesh has later that is no directory.
const PLAIN: [&str; 6] =
    ["mesh.lock", "swarm.lock", "claims.json", "completions.json", "trouble.jsonl", "trouble.old.jsonl"];

/// Names that a file system or a file manager puts into a directory that is otherwise empty.
const NOT_CONTENT: [&str; 2] = ["lost+found", ".DS_Store"];

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ground {
    /// It bears the marks of a mesh, ours or pi-messenger's.
    Mesh,
    /// It is empty, or holds empty directories of a mesh that was begun, and nothing else.
    Free,
    /// It holds something else.
    Foreign,
}

/// One `stat` for a mesh of ours; the directory is listed only if it bears no marks.
pub(super) fn examine(dir: &Path) -> Result<Ground, FileError> {
    if bears_marks(dir)? {
        return Ok(Ground::Mesh);
    }
    let is_among = |names: &[&str], name: &OsStr| names.iter().any(|known| OsStr::new(known) == name);
    let is_ours = |name: &OsStr| {
        let is_part = is_among(&DIRECTORIES, name) || (is_among(&LATER, name) && !is_among(&PLAIN, name));
        is_among(&NOT_CONTENT, name) || (is_part && is_empty_dir(&dir.join(name)))
    };
    if files::all_names(dir, is_ours)? {
        return Ok(Ground::Free);
    }
    // Another process may have made a mesh of it since the first look: its marks come before any content.
    Ok(if bears_marks(dir)? { Ground::Mesh } else { Ground::Foreign })
}

/// Is it a directory itself, not a link to one, with nothing in it? What can't be looked at is not ours to decide about.
fn is_empty_dir(path: &Path) -> bool {
    let is_dir = files::link_metadata(path).is_ok_and(|found| found.is_some_and(|it| it.is_dir()));
    is_dir && files::all_names(path, |_| false).unwrap_or(false)
}

/// `mesh.lock` is ours alone; pi-messenger's mesh has none before our first command, but `registry/` and `inbox/`.
pub(super) fn bears_marks(dir: &Path) -> Result<bool, FileError> {
    let is_there = |name: &str| Ok::<_, FileError>(files::link_metadata(&dir.join(name))?.is_some());
    let is_dir = |name: &str| {
        Ok::<_, FileError>(files::metadata(&dir.join(name))?.is_some_and(|metadata| metadata.is_dir()))
    };
    Ok(is_there("mesh.lock")? || (is_dir("registry")? && is_dir("inbox")?))
}
