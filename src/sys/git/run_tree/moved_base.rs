//! Moves the base of a run that has ended to where a branch is now, so that its worker can go on from there.
//!
//! Its work is merged with what others did meanwhile. Where that conflicts, the files have both sides, with git's marks
//! between them: that is what the worker is to resolve. What has no marks is told beside.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::error::RunTreeError;
use super::snapshot::TreeSnapshot;
use super::three_way::marked_merge;
use super::tree_diff::FileChangeKind;
use super::unmarked_conflicts::{ConflictNote, conflict_note, marked_in, with_unmarked};
use super::work_tree::RunTree;
use crate::sys::files;

impl RunTree {
    /// Puts the work of a run onto another base. Its directory must be gone: it is made anew, from the new tip, when a
    /// worker goes on. [`RunTree::marked_files`] then tells what is in conflict. Doing it again with the same base changes
    /// nothing.
    pub fn move_base(&self, base: &TreeSnapshot, message: &str) -> Result<(), RunTreeError> {
        self.repository.require_merging_git()?;
        let _own = self.lock()?;
        if files::link_metadata(&self.path())?.is_some() {
            return Err(RunTreeError::Exists(self.refs.id().to_string()));
        }
        let (old_base, old_tip) = (self.base()?, self.tip()?);
        if self.repository.tree_of(&old_base)? == base.tree {
            return Ok(());
        }
        let merged = marked_merge(&self.repository.git(), &old_base, &base.commit, &old_tip)?;
        let tree = with_unmarked(&self.repository, &merged, [&base.commit, &old_tip])?;
        let tip = self.repository.commit(&tree, &[&base.commit], message, Some(&old_tip))?;
        // In one step: with only one of them moved, the work of others would be taken for that of the run.
        self.repository.change_refs(&[
            format!("update {} {} {old_base}", self.refs.base(), base.commit),
            format!("update {} {tip} {old_tip}", self.refs.tip()),
        ])
    }

    /// Files that the run changed and that are still in conflict: with git's marks, or told beside.
    pub fn marked_files(&self) -> Result<Vec<PathBuf>, RunTreeError> {
        let marked = marked_in(&self.repository.git(), &self.tip()?)?;
        let mut files = self.unmarked_files()?;
        let changed = self.changes()?.into_iter().map(|change| change.path);
        let is_new = |path: &PathBuf| marked.contains(path) && conflict_note(path).is_none();
        files.extend(changed.filter(is_new));
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// Files of which both sides are still beside, because git could not mark them.
    pub fn unmarked_files(&self) -> Result<Vec<PathBuf>, RunTreeError> {
        let (mut files, mut others) = (BTreeSet::new(), BTreeSet::new());
        for change in self.changes()?.into_iter().filter(|change| change.kind != FileChangeKind::Removed) {
            match conflict_note(&change.path) {
                Some(ConflictNote::Of(file)) => files.insert(file),
                Some(ConflictNote::About) => others.insert(change.path),
                None => false,
            };
        }
        Ok(if files.is_empty() { others } else { files }.into_iter().collect())
    }
}
