//! Which repository or folder a setting that people made is about: a mode, or a budget.
//!
//! The name of its file is the hash of the directory that the work trees of the repository share, so all of them have one.
//! Outside of any repository it is the hash of a folder, and it applies to everything below, but for repositories that have
//! one themselves.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::domain::awareness::RepositoryId;
use crate::sys::git::WorkTree;

/// The one of `names` that applies at `path`, which has its links resolved.
pub(super) fn nearest(names: &[String], path: &Path) -> Option<RepositoryId> {
    let is_set = |id: &RepositoryId| names.iter().any(|name| name == id.as_str());
    match repository_of(path) {
        // A folder keeps what was set for it if somebody makes a repository in it.
        Some(repository) => repository.ancestors().chain(path.ancestors()).map(id_of).find(is_set),
        None => path.ancestors().map(id_of).find(is_set),
    }
}

/// The directory that the work trees of the repository of `path` share.
pub(super) fn repository_of(path: &Path) -> Option<PathBuf> {
    WorkTree::containing(path)?.repository()
}

/// The name of the file for a directory.
pub(super) fn id_of(directory: &Path) -> RepositoryId {
    RepositoryId::of(directory.as_os_str().as_bytes())
}
