//! Moves the base of a run that has ended to where a branch is now, so that its worker can go on from there.
//!
//! Its work is merged with what others did meanwhile. Where that conflicts, the files have both sides, with git's marks
//! between them: that is what the worker is to resolve.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::PathBuf;

use super::error::RunTreeError;
use super::git_call::failed;
use super::snapshot::TreeSnapshot;
use super::status_entry::path_of;
use super::three_way::marked_merge;
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
        let tip = self.repository.commit(&merged.tree, &[&base.commit], message, Some(&old_tip))?;
        // In one step: with only one of them moved, the work of others would be taken for that of the run.
        self.repository.change_refs(&[
            format!("update {} {} {old_base}", self.refs.base(), base.commit),
            format!("update {} {tip} {old_tip}", self.refs.tip()),
        ])
    }

    /// Files that the run changed and that have git's marks of a conflict.
    pub fn marked_files(&self) -> Result<Vec<PathBuf>, RunTreeError> {
        let tip = self.tip()?;
        let args = ["grep", "-z", "-l", "-I", "-E", "-e", "^(<{7}|>{7}) ", &tip].map(OsStr::new);
        let answer = self.repository.git().answer(&args, Vec::new())?;
        let prefix = format!("{tip}:");
        let found: BTreeSet<PathBuf> = match answer.code {
            Some(0) => {
                let names = answer.output.split(|byte| *byte == 0);
                names.filter_map(|name| name.strip_prefix(prefix.as_bytes())).map(path_of).collect()
            }
            Some(1) => return Ok(Vec::new()),
            _ => return Err(failed(&args, &answer)),
        };
        let changes = self.changes()?;
        Ok(changes.into_iter().map(|change| change.path).filter(|path| found.contains(path)).collect())
    }
}
