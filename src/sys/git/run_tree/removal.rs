//! Removing the work tree of a run, and giving up a run's work.

use super::closing::ClosedTree;
use super::error::RunTreeError;
use super::work_tree::RunTree;
use crate::sys::files;

/// What was removed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DiscardedRun {
    /// The branch that stays, because somebody else moved it, or has it checked out.
    pub kept_branch: Option<String>,
}

impl RunTree {
    /// Removes the directory of a run that was closed. An error if something in it is not saved.
    pub fn free(&self, closed: &ClosedTree) -> Result<(), RunTreeError> {
        if !closed.unsaved.is_empty() {
            let files = closed.unsaved.iter().map(|file| file.path.clone()).collect();
            return Err(RunTreeError::Unsaved { path: self.path(), files });
        }
        let _own = self.lock()?;
        self.remove_directory()?;
        files::remove(&self.manifest())?;
        Ok(())
    }

    /// Gives up everything of the run: the directory, its refs, and its branch unless somebody else moved it or has it
    /// checked out.
    pub fn discard(&self) -> Result<DiscardedRun, RunTreeError> {
        let _own = self.lock()?;
        self.remove_directory()?;
        let repository = &self.repository;
        let branch = repository.object_at(&self.refs.branch())?;
        let ours = [self.refs.branched(), self.refs.branching()];
        let mut is_ours = branch.is_none();
        for name in ours {
            is_ours |= branch.is_some() && repository.object_at(&name)? == branch;
        }
        let goes = is_ours && !repository.is_checked_out(&self.refs.branch())?;
        if let (Some(at), true) = (&branch, goes) {
            repository.change_refs(&[format!("delete {} {at}", self.refs.branch())])?;
        }
        // The base goes last: while it is there, the run is known and can be discarded again.
        for name in self.refs.own() {
            repository.drop_ref(&name)?;
        }
        files::remove(&self.manifest())?;
        Ok(DiscardedRun { kept_branch: (!goes).then(|| self.refs.branch_name()) })
    }

    /// Removes the directory and git's record of it, and nothing of other work trees.
    pub(super) fn remove_directory(&self) -> Result<(), RunTreeError> {
        let _lock = self.repository.lock()?;
        let admin = self.admin_dir()?;
        let (path, removed) = (self.path(), self.removed_path());
        files::remove_tree(&removed)?;
        // In one step: a directory of which a part is removed would look like a worker that removed files.
        if files::link_metadata(&path)?.is_some() {
            files::put_back(&path, &removed)?;
        }
        files::remove_tree(&removed)?;
        if let Some(admin) = admin {
            files::remove_tree(&admin)?;
        }
        // git has this directory only while there is a linked work tree.
        files::remove_dir(&self.repository.common_dir().join("worktrees"))?;
        Ok(())
    }
}
