//! What a directory is before it is used as a mesh: a mesh, empty, or something else that must not be changed.

use std::ffi::OsStr;
use std::path::Path;

use super::layout::{DIRECTORIES, LATER};
use crate::sys::files::{self, FileError};

/// Names that a file system or a file manager puts into a directory that is otherwise empty.
const NOT_CONTENT: [&str; 2] = ["lost+found", ".DS_Store"];

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ground {
    /// It bears the marks of a mesh, ours or pi-messenger's.
    Mesh,
    /// It is empty, or holds the beginning of a mesh and nothing else.
    Free,
    /// It holds something else.
    Foreign,
}

/// One `stat` for a mesh of ours; the directory is listed only if it bears no marks.
pub(super) fn examine(dir: &Path) -> Result<Ground, FileError> {
    if bears_marks(dir)? {
        return Ok(Ground::Mesh);
    }
    let is_ours = |name: &OsStr| {
        let known = DIRECTORIES.iter().chain(&LATER).chain(&NOT_CONTENT);
        known.into_iter().any(|known| OsStr::new(known) == name)
    };
    Ok(if files::all_names(dir, is_ours)? { Ground::Free } else { Ground::Foreign })
}

/// `mesh.lock` is ours alone; pi-messenger's mesh has none before our first command, but `registry/` and `inbox/`.
pub(super) fn bears_marks(dir: &Path) -> Result<bool, FileError> {
    let is_there = |name: &str| Ok::<_, FileError>(files::link_metadata(&dir.join(name))?.is_some());
    let is_dir = |name: &str| {
        Ok::<_, FileError>(files::metadata(&dir.join(name))?.is_some_and(|metadata| metadata.is_dir()))
    };
    Ok(is_there("mesh.lock")? || (is_dir("registry")? && is_dir("inbox")?))
}
