//! Merges a run's work into a clean work tree and commits it.
//!
//! The commit has one parent, `HEAD`: no snapshot becomes part of the person's history. No hook runs.

use super::error::RunTreeError;
use super::file_writer::obstacles;
use super::merge::{MergePreview, PreparedMerge};
use super::repository::RunRepository;
use super::status_entry::StatusEntry;
use super::three_way::{ThreeWay, three_way};
use super::tree_diff::{FileChangeKind, changes_between};
use super::work_tree::RunTree;
use super::write_merge::MergedFiles;
use crate::sys::files;

/// Files in git's directory of a work tree that show an operation in progress.
const OPERATIONS: [(&str, &str); 6] = [
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("BISECT_LOG", "bisect"),
];

impl RunTree {
    /// What [`RunTree::commit_merge`] would do. An error if the tree is not clean or no branch is checked out.
    pub fn prepare_commit(&self) -> Result<MergePreview, RunTreeError> {
        let repository = &self.repository;
        repository.require_merging_git()?;
        let head = self.branch_head()?;
        if let Some(interrupted) = self.interrupted_merge()? {
            if interrupted.ours == head {
                let tree = repository.tree_of(&interrupted.result)?;
                let changes = changes_between(&repository.git(), &head, &tree)?;
                let tip = interrupted.tip;
                return Ok(MergePreview::Ready(PreparedMerge {
                    ours: head,
                    tip,
                    tree,
                    changes,
                    is_resumed: true,
                }));
            }
            // Only the record that it is merged was missing.
            let parent = repository.object_at(&format!("{head}^"))?;
            if parent == Some(interrupted.ours)
                && repository.tree_of(&head)? == repository.tree_of(&interrupted.result)?
            {
                let _own = self.lock()?;
                self.finish_merge(&interrupted.tip)?;
                return Ok(MergePreview::AlreadyMerged);
            }
            return self.prepare_merge();
        }
        let tip = self.tip()?;
        let merged = repository.object_at(&self.refs.merged())?;
        if merged.as_ref() == Some(&tip) {
            return Ok(MergePreview::AlreadyMerged);
        }
        self.require_clean()?;
        let base = merged.map_or_else(|| self.base(), Ok)?;
        match three_way(&repository.git(), &base, &head, &tip)? {
            ThreeWay::Conflicts(conflicts) => Ok(MergePreview::Conflicts(conflicts)),
            ThreeWay::Clean(tree) => {
                let changes = changes_between(&repository.git(), &head, &tree)?;
                let obstacles = obstacles(repository.root(), &changes)?;
                Ok(match (changes.is_empty(), obstacles.is_empty()) {
                    (true, _) => MergePreview::Nothing,
                    (_, false) => MergePreview::Conflicts(obstacles),
                    _ => MergePreview::Ready(PreparedMerge {
                        ours: head,
                        tip,
                        tree,
                        changes,
                        is_resumed: false,
                    }),
                })
            }
        }
    }

    /// Writes a merge that [`RunTree::prepare_commit`] prepared, and commits it on the branch that is checked out.
    pub fn commit_merge(&self, prepared: &PreparedMerge, message: &str) -> Result<MergedFiles, RunTreeError> {
        let _own = self.lock()?;
        let repository = &self.repository;
        let _tree = repository.lock()?;
        let head = self.branch_head()?;
        if prepared.ours != head {
            return Err(RunTreeError::ChangedMeanwhile(vec!["HEAD".into()]));
        }
        if prepared.is_resumed {
            self.write_rest(prepared)?;
        } else {
            self.require_clean()?;
            self.write_files(prepared)?;
        }
        let commit = repository.commit(&prepared.tree, &[&head], message, None)?;
        let git = repository.git();
        // After a crash, the index may have the result already.
        if git.line_or_none(&["diff-index", "--cached", "--quiet", &commit, "--"])?.is_none() {
            // `-i`: the files are written already.
            git.ask(&["read-tree", "-m", "-i", &head, &commit])?;
        }
        let reason = format!("ravenry: merge of run {}", self.refs.id());
        git.with_reflogs().ask(&["update-ref", "-m", &reason, "HEAD", &commit, &head])?;
        // Only times and sizes of the files just written; an index that is not up to date is no mistake.
        git.line_or_none(&["update-index", "-q", "--refresh"])?;
        self.finish_merge(&prepared.tip)?;
        Ok(MergedFiles { changes: prepared.changes.clone(), commit: Some(commit) })
    }

    /// Writes what an interrupted merge did not write.
    fn write_rest(&self, whole: &PreparedMerge) -> Result<(), RunTreeError> {
        match self.prepare_merge()? {
            MergePreview::Ready(rest) => {
                // The tree of the rest also has files that git does not track.
                let more = changes_between(&self.repository.git(), &whole.tree, &rest.tree)?;
                let changed = more.into_iter().filter(|change| change.kind != FileChangeKind::Added);
                let changed: Vec<_> = changed.map(|change| change.path).collect();
                if changed.is_empty() {
                    self.write_files(&rest)
                } else {
                    Err(RunTreeError::NotClean(changed))
                }
            }
            MergePreview::Conflicts(conflicts) => {
                Err(RunTreeError::NotClean(conflicts.into_iter().map(|found| found.path).collect()))
            }
            MergePreview::AlreadyMerged | MergePreview::Nothing => Ok(()),
        }
    }

    /// `HEAD`, if it is a branch and no operation is in progress.
    fn branch_head(&self) -> Result<String, RunTreeError> {
        for (name, operation) in OPERATIONS {
            if files::exists(&self.repository.git_dir().join(name))? {
                return Err(RunTreeError::InProgress(operation));
            }
        }
        let branch = self.repository.git().line_or_none(&["symbolic-ref", "-q", "HEAD"])?;
        if branch.is_none() { Err(RunTreeError::DetachedHead) } else { self.repository.head() }
    }

    fn require_clean(&self) -> Result<(), RunTreeError> {
        self.repository.require_clean()
    }
}

impl RunRepository {
    /// An error if a tracked file was changed. Files that git does not track may be there.
    pub fn require_clean(&self) -> Result<(), RunTreeError> {
        let index = self.index()?;
        let entries = StatusEntry::all(&index.caller(&self.git()))?;
        let changed: Vec<_> = entries
            .into_iter()
            .filter_map(|entry| match entry {
                StatusEntry::Changed(path)
                | StatusEntry::Deleted(path)
                | StatusEntry::Intended(path)
                | StatusEntry::Staged(path)
                | StatusEntry::SubmoduleConflict { path, .. } => Some(path),
                StatusEntry::Submodule(_) | StatusEntry::Untracked(_) | StatusEntry::Repository(_) => None,
            })
            .collect();
        if changed.is_empty() { Ok(()) } else { Err(RunTreeError::NotClean(changed)) }
    }
}
