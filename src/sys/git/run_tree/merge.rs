//! Merging a run's work into the person's work tree: what would happen.
//!
//! The base of the merge is the run's base, "ours" is a fresh snapshot of the work tree. So only what the run changed
//! is merged, and what the person discarded in the meantime does not come back.

use std::path::{Path, PathBuf};

use super::error::RunTreeError;
use super::file_writer::obstacles;
use super::three_way::{MergeConflict, ThreeWay, three_way};
use super::tree_diff::{TreeChange, changes_between};
use super::work_tree::RunTree;
use crate::sys::files;

/// What a merge would do.
#[derive(Clone, Debug)]
pub enum MergePreview {
    /// The run's work was merged before.
    AlreadyMerged,
    /// The work tree has all of it already, or the run changed nothing.
    Nothing,
    /// These files stop it.
    Conflicts(Vec<MergeConflict>),
    /// It can be written.
    Ready(PreparedMerge),
}

/// A merge that can be written. Nothing has been touched.
#[derive(Clone, Debug)]
pub struct PreparedMerge {
    /// A snapshot of the work tree.
    pub(super) ours: String,
    /// The tip that is merged.
    pub(super) tip: String,
    /// The tree after the merge, for checks before it is written.
    pub tree: String,
    /// The files that will be written or removed.
    pub changes: Vec<TreeChange>,
    /// Whether it goes on with a merge that was interrupted.
    pub is_resumed: bool,
}

/// A merge that was begun and not finished.
pub(super) struct InterruptedMerge {
    /// A commit with the result, whose parents are the following two.
    pub(super) result: String,
    pub(super) ours: String,
    pub(super) tip: String,
}

impl RunTree {
    /// Merges in memory, and says what would be written. If an earlier merge of this run was interrupted, the rest of
    /// that merge is prepared.
    pub fn prepare_merge(&self) -> Result<MergePreview, RunTreeError> {
        self.repository.require_merging_git()?;
        match self.interrupted_merge()? {
            Some(interrupted) => self.prepare_rest(&interrupted),
            None => self.prepare_new(),
        }
    }

    fn prepare_new(&self) -> Result<MergePreview, RunTreeError> {
        let tip = self.tip()?;
        let merged = self.repository.object_at(&self.refs.merged())?;
        if merged.as_ref() == Some(&tip) {
            return Ok(MergePreview::AlreadyMerged);
        }
        // What was merged before is in the work tree, or was discarded on purpose.
        let base = merged.map_or_else(|| self.base(), Ok)?;
        let snapshot = self.repository.snapshot()?;
        match three_way(&self.repository.git(), &base, &snapshot.commit, &tip)? {
            ThreeWay::Conflicts(conflicts) => Ok(MergePreview::Conflicts(conflicts)),
            ThreeWay::Clean(tree) => {
                let changes = changes_between(&self.repository.git(), &snapshot.commit, &tree)?;
                if changes.is_empty() {
                    return Ok(MergePreview::Nothing);
                }
                let prepared = PreparedMerge { ours: snapshot.commit, tip, tree, changes, is_resumed: false };
                self.ready(prepared)
            }
        }
    }

    /// The rest of an interrupted merge is the difference that it was to make, merged into the work tree as it is.
    fn prepare_rest(&self, interrupted: &InterruptedMerge) -> Result<MergePreview, RunTreeError> {
        let git = self.repository.git();
        for change in changes_between(&git, &interrupted.ours, &interrupted.result)? {
            self.sweep_beside(&change.path)?;
        }
        let snapshot = self.repository.snapshot()?;
        // A rename of which a half is done is not a rename, but a file added and a file removed.
        let git = git.set("merge.renames=false");
        match three_way(&git, &interrupted.ours, &snapshot.commit, &interrupted.result)? {
            ThreeWay::Conflicts(conflicts) => Ok(MergePreview::Conflicts(conflicts)),
            ThreeWay::Clean(tree) => {
                let changes = changes_between(&git, &snapshot.commit, &tree)?;
                let tip = interrupted.tip.clone();
                let prepared = PreparedMerge { ours: snapshot.commit, tip, tree, changes, is_resumed: true };
                self.ready(prepared)
            }
        }
    }

    fn ready(&self, prepared: PreparedMerge) -> Result<MergePreview, RunTreeError> {
        let obstacles = obstacles(self.repository.root(), &prepared.changes)?;
        let is_free = obstacles.is_empty();
        Ok(if is_free { MergePreview::Ready(prepared) } else { MergePreview::Conflicts(obstacles) })
    }

    /// The merge that was begun and not finished, if any.
    pub(super) fn interrupted_merge(&self) -> Result<Option<InterruptedMerge>, RunTreeError> {
        let Some(result) = self.repository.object_at(&self.refs.merging())? else { return Ok(None) };
        let parent = |number: usize| {
            self.repository.git().line(&["rev-parse", "--verify", &format!("{result}^{number}")])
        };
        Ok(Some(InterruptedMerge { ours: parent(1)?, tip: parent(2)?, result }))
    }

    /// Gives up the rest of an interrupted merge: what it wrote stays, what it did not write is not written.
    pub fn abandon_merge(&self) -> Result<(), RunTreeError> {
        let _own = self.lock()?;
        self.repository.drop_ref(&self.refs.merging())
    }

    /// Removes what a killed process left beside a file that it was about to write.
    fn sweep_beside(&self, path: &Path) -> Result<(), RunTreeError> {
        let full: PathBuf = self.repository.root().join(path);
        match full.parent() {
            Some(dir) if files::link_metadata(dir)?.is_some_and(|there| there.is_dir()) => {
                Ok(files::sweep_in(dir)?)
            }
            _ => Ok(()),
        }
    }
}
