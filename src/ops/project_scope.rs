//! The project that a directory belongs to: its repository with all work trees. Without git, the directory itself.

use std::path::{Path, PathBuf};

use crate::sys::git::WorkTree;

#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::ops) enum ProjectScope {
    /// The directory that all work trees share.
    Repository(PathBuf),
    Folder(PathBuf),
}

impl ProjectScope {
    pub(in crate::ops) fn around(dir: &Path) -> Self {
        match WorkTree::containing(dir).and_then(|tree| tree.repository()) {
            Some(repository) => Self::Repository(repository),
            None => Self::Folder(dir.to_path_buf()),
        }
    }

    /// Whether that directory is in this project. Without git, one is inside the other.
    pub(in crate::ops) fn includes(&self, dir: &Path) -> bool {
        match (self, Self::around(dir)) {
            (Self::Repository(own), Self::Repository(other)) => *own == other,
            (Self::Folder(own), Self::Folder(other)) => own.starts_with(&other) || other.starts_with(own),
            (Self::Repository(_) | Self::Folder(_), _) => false,
        }
    }
}
