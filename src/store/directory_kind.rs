//! Classifies a directory before it is used as a mesh: a mesh, empty, or foreign and not to be changed.

use std::ffi::OsStr;
use std::path::Path;

use super::layout::{DIRECTORIES, LATER};
use crate::sys::files::{self, FileError};

/// The names in `LATER` that are plain files.
const PLAIN: [&str; 7] = [
    "mesh.lock",
    "swarm.lock",
    "claims.json",
    "completions.json",
    "claim-numbers.json",
    "trouble.jsonl",
    "trouble.old.jsonl",
];

/// Names that a file system or a file manager puts into a directory that is otherwise empty.
const NOT_CONTENT: [&str; 2] = ["lost+found", ".DS_Store"];

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum DirectoryKind {
    /// It has the marks of a mesh, ours or pi-messenger's.
    Mesh,
    /// It is empty, or contains only empty directories of a mesh that was being created.
    Empty,
    /// It contains something else.
    Foreign,
}

/// The mesh that this directory is, or is inside of. A directory that cannot be examined does not count.
pub fn mesh_around(dir: &Path) -> Option<&Path> {
    dir.ancestors().find(|above| looks_like_mesh(above).unwrap_or(false))
}

/// Takes one `stat` for a mesh of ours; the directory is listed only if it has no marks. Directories with those names may
/// have been there before the mesh, with content.
pub(super) fn examine(dir: &Path, before: &[&str]) -> Result<DirectoryKind, FileError> {
    if looks_like_mesh(dir)? {
        return Ok(DirectoryKind::Mesh);
    }
    let is_among = |names: &[&str], name: &OsStr| names.iter().any(|known| OsStr::new(known) == name);
    let is_ours = |name: &OsStr| {
        let is_part = is_among(&DIRECTORIES, name) || (is_among(&LATER, name) && !is_among(&PLAIN, name));
        let was_before = is_among(before, name) && is_dir(&dir.join(name));
        is_among(&NOT_CONTENT, name) || was_before || (is_part && is_empty_dir(&dir.join(name)))
    };
    if files::has_only_names(dir, is_ours)? {
        return Ok(DirectoryKind::Empty);
    }
    // Another process may have made it a mesh since the first check: the marks of a mesh come before any content.
    Ok(if looks_like_mesh(dir)? { DirectoryKind::Mesh } else { DirectoryKind::Foreign })
}

/// Whether it is a directory, not a link to one. `false` if it cannot be examined.
fn is_dir(path: &Path) -> bool {
    files::link_metadata(path).is_ok_and(|found| found.is_some_and(|it| it.is_dir()))
}

/// Whether it is an empty directory.
fn is_empty_dir(path: &Path) -> bool {
    is_dir(path) && files::has_only_names(path, |_| false).unwrap_or(false)
}

/// Whether it has the marks of a mesh: `mesh.lock`, which only we create, or `registry/` and `inbox/`, which
/// pi-messenger has even before our first command.
pub(super) fn looks_like_mesh(dir: &Path) -> Result<bool, FileError> {
    let is_there = |name: &str| Ok::<_, FileError>(files::link_metadata(&dir.join(name))?.is_some());
    let is_dir = |name: &str| {
        Ok::<_, FileError>(files::metadata(&dir.join(name))?.is_some_and(|metadata| metadata.is_dir()))
    };
    Ok(is_there("mesh.lock")? || (is_dir("registry")? && is_dir("inbox")?))
}
