//! A directory for an index of our own, and other files that are needed for a moment.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::RunTreeError;
use super::git_call::GitCaller;
use crate::sys::files;

/// The directory. Dropping the value removes it; what a killed process left is removed by the next one.
#[derive(Debug)]
pub(super) struct PrivateIndex {
    dir: PathBuf,
}

impl PrivateIndex {
    /// An index that does not exist yet.
    pub(super) fn empty(state: &Path) -> Result<Self, RunTreeError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let parent = state.join("git-tmp");
        files::create_dir(&parent)?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = parent.join(format!("{}.{count}", files::own_mark()));
        files::create_new_dir(&dir)?;
        let index = Self { dir };
        files::sweep_directories(&parent)?;
        Ok(index)
    }

    /// A copy of another index: git then need not read files that have not changed. It has the same modification time,
    /// by which git knows which files may have changed in the moment in which the index was written.
    pub(super) fn copy_of(index: &Path, state: &Path) -> Result<Self, RunTreeError> {
        let private = Self::empty(state)?;
        files::copy_with_time(index, &private.path())?;
        Ok(private)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.dir.join("index")
    }

    /// A directory beside it, for checked out files.
    pub(super) fn staging(&self) -> PathBuf {
        self.dir.join("staged")
    }

    /// `git` calls that use it.
    pub(super) fn caller(&self, git: &GitCaller) -> GitCaller {
        git.with("GIT_INDEX_FILE", self.path())
    }

    /// Forgets what is in it.
    pub(super) fn clear(&self) -> Result<(), RunTreeError> {
        files::remove(&self.path())?;
        files::remove(&self.dir.join("index.lock"))?;
        Ok(())
    }
}

impl Drop for PrivateIndex {
    fn drop(&mut self) {
        // If this fails, it is swept once this process is gone.
        drop(files::remove_tree(&self.dir));
    }
}
