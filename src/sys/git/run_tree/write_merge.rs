//! Writes a prepared merge to the person's work tree as uncommitted changes. Index and `HEAD` stay.
//!
//! Before the first write, every file is checked: a file that has changed since the snapshot stops the merge. A ref
//! holds the result while it is written, so that a killed merge can be finished.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::error::RunTreeError;
use super::file_writer::{in_order, obstacles, stamp, write};
use super::merge::PreparedMerge;
use super::private_index::PrivateIndex;
use super::record_tree::record_tree;
use super::tree_diff::{TreeChange, changes_between};
use super::work_tree::RunTree;
use crate::sys::files::{self, FileStamp};

/// What a merge wrote.
#[derive(Clone, Debug)]
pub struct MergedFiles {
    pub changes: Vec<TreeChange>,
    /// The commit, if the merge was committed.
    pub commit: Option<String>,
}

impl RunTree {
    /// Writes the merge. An error before the first write leaves everything as it was.
    pub fn write_merge(&self, prepared: &PreparedMerge) -> Result<MergedFiles, RunTreeError> {
        let _own = self.lock()?;
        let _tree = self.repository.lock()?;
        self.write_files(prepared)?;
        self.finish_merge(&prepared.tip)?;
        Ok(MergedFiles { changes: prepared.changes.clone(), commit: None })
    }

    /// Writes the files, and leaves the ref of the merge.
    pub(super) fn write_files(&self, prepared: &PreparedMerge) -> Result<(), RunTreeError> {
        let repository = &self.repository;
        let root = repository.root();
        let changes = &prepared.changes;
        let stamps = self.stamps(changes)?;
        self.require_unchanged(prepared)?;
        let index = PrivateIndex::empty(repository.state())?;
        self.stage(&index, prepared)?;
        // The rest of an interrupted merge is held by the ref already.
        if !prepared.is_resumed {
            let message = format!("ravenry: merge of run {}\n", self.refs.id());
            let parents = [prepared.ours.as_str(), &prepared.tip];
            let result = repository.own_commit(&prepared.tree, &parents, &message)?;
            repository.set_ref(&self.refs.merging(), &result)?;
        }
        let changed = self.differing(changes, &stamps)?;
        if !changed.is_empty() {
            if !prepared.is_resumed {
                repository.drop_ref(&self.refs.merging())?;
            }
            return Err(RunTreeError::ChangedMeanwhile(changed));
        }
        for (written, change) in in_order(changes).into_iter().enumerate() {
            let known = changes.iter().position(|other| other.path == change.path).map(|at| &stamps[at]);
            if known != Some(&stamp(root, &change.path)?) && !is_made_by_us(changes, &change.path) {
                return Err(RunTreeError::ChangedWhileWriting { path: change.path.clone(), written });
            }
            if let Err(error) = write(root, &index.staging(), change) {
                if written == 0 && !prepared.is_resumed {
                    repository.drop_ref(&self.refs.merging())?;
                    return Err(error);
                }
                return Err(RunTreeError::HalfWritten { written, source: Box::new(error) });
            }
        }
        Ok(())
    }

    /// Writes down that the work tree has all of the run's work.
    pub fn mark_merged(&self) -> Result<(), RunTreeError> {
        let _own = self.lock()?;
        self.finish_merge(&self.tip()?)
    }

    /// Writes a tree into a directory that is not there yet, for checks of a merge before it is written.
    pub fn export_tree(&self, tree: &str, to: &Path) -> Result<(), RunTreeError> {
        files::create_new_dir(to)?;
        self.write_tree_into(tree, to)
    }

    /// Writes the files of a tree that are not there.
    pub(super) fn write_tree_into(&self, tree: &str, to: &Path) -> Result<(), RunTreeError> {
        let index = PrivateIndex::empty(self.repository.state())?;
        let git = index.caller(&self.repository.git());
        git.ask(&["read-tree", "--reset", tree])?;
        let args = ["checkout-index", "-a", "-q", "--ignore-skip-worktree-bits"];
        git.feed(&[&args.map(OsStr::new)[..], &[&prefix_of(to)]].concat(), Vec::new()).map(drop)
    }

    /// Writes down that the tip is merged.
    pub(super) fn finish_merge(&self, tip: &str) -> Result<(), RunTreeError> {
        self.repository.set_ref(&self.refs.merged(), tip)?;
        self.repository.drop_ref(&self.refs.merging())
    }

    fn stamps(&self, changes: &[TreeChange]) -> Result<Vec<Option<FileStamp>>, RunTreeError> {
        changes.iter().map(|change| stamp(self.repository.root(), &change.path)).collect()
    }

    fn differing(
        &self,
        changes: &[TreeChange],
        stamps: &[Option<FileStamp>],
    ) -> Result<Vec<PathBuf>, RunTreeError> {
        let now = self.stamps(changes)?;
        let pairs = changes.iter().zip(now.iter().zip(stamps));
        Ok(pairs.filter(|(_, (now, then))| now != then).map(|(change, _)| change.path.clone()).collect())
    }

    /// An error if a file that will be written is not as in the snapshot.
    fn require_unchanged(&self, prepared: &PreparedMerge) -> Result<(), RunTreeError> {
        let repository = &self.repository;
        let index = repository.index()?;
        let now = record_tree(&index.caller(&repository.git()), repository.root(), &[], &|_| Ok(false))?;
        let since = changes_between(&repository.git(), &prepared.ours, &now.tree)?;
        let is_touched = |path: &Path| prepared.changes.iter().any(|change| change.path == path);
        let mut changed: Vec<PathBuf> =
            since.into_iter().map(|change| change.path).filter(|path| is_touched(path)).collect();
        changed.extend(obstacles(repository.root(), &prepared.changes)?.into_iter().map(|found| found.path));
        changed.sort();
        changed.dedup();
        if changed.is_empty() { Ok(()) } else { Err(RunTreeError::ChangedMeanwhile(changed)) }
    }

    /// Checks the new files out into a directory of ours: filters and line ends are then as in the work tree.
    fn stage(&self, index: &PrivateIndex, prepared: &PreparedMerge) -> Result<(), RunTreeError> {
        let git = index.caller(&self.repository.git());
        git.ask(&["read-tree", "--reset", &prepared.tree])?;
        let mut paths = Vec::new();
        for change in prepared.changes.iter().filter(|change| !change.new.is_absent()) {
            paths.extend_from_slice(change.path.as_os_str().as_bytes());
            paths.push(0);
        }
        if paths.is_empty() {
            return Ok(());
        }
        let prefix = prefix_of(&index.staging());
        let args = ["checkout-index", "-f", "-z", "--ignore-skip-worktree-bits", "--stdin"];
        let args = [&args.map(OsStr::new)[..], &[&prefix]].concat();
        git.feed(&args, paths).map(drop)
    }
}

/// The option by which git checks files out into another directory.
fn prefix_of(dir: &Path) -> OsString {
    let mut prefix = OsString::from("--prefix=");
    prefix.push(dir);
    prefix.push("/");
    prefix
}

/// Whether the path is below or above another one that is changed, so that our own writes changed what is there.
fn is_made_by_us(changes: &[TreeChange], path: &Path) -> bool {
    changes
        .iter()
        .any(|other| other.path != path && (other.path.starts_with(path) || path.starts_with(&other.path)))
}
