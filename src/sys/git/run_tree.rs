//! The git side of runs: work trees that start from a snapshot of a person's work tree, and whose work comes back.
//!
//! A run's work is the difference from its *base* (the snapshot) to its *tip* (what was there when it was closed). Both
//! are held by refs under `refs/ravenry/`, so nothing depends on the work tree's directory. Everything is done by
//! plumbing, with an index of our own: the person's index, stash, `HEAD`, configuration and files are not touched, but
//! for the files that a merge writes.
//!
//! The order is: [`RunRepository::open`], [`RunRepository::snapshot`], [`RunTree::create`], the setup, the
//! worker, [`RunTree::close`], then [`RunTree::prepare_merge`] and [`RunTree::write_merge`] or
//! [`RunTree::commit_merge`], or [`RunTree::discard`]. Every step can be repeated after a crash at any moment.

mod branch;
mod brought_files;
mod closing;
mod commit_merge;
mod crew_branch;
mod error;
mod file_writer;
mod fingerprint;
mod git_call;
mod left_out;
mod merge;
mod moved_base;
mod private_index;
mod record_tree;
mod remotes;
mod removal;
mod repository;
mod run_refs;
mod snapshot;
mod status_entry;
mod three_way;
mod tree_diff;
mod unmarked_conflicts;
mod work_tree;
mod write_merge;

pub use branch::RunBranch;
pub use brought_files::{BroughtFile, BroughtHow, WantedFiles};
pub use closing::ClosedTree;
pub use crew_branch::{CrewBranch, CrewMerge, CrewMove, PreparedStep};
pub use error::RunTreeError;
pub use fingerprint::{ParentChange, TreeFingerprint};
pub use left_out::{LeftOutFile, LeftOutReason};
pub use merge::{MergePreview, PreparedMerge};
pub use removal::DiscardedRun;
pub use repository::{RunRepository, merging_git};
pub use run_refs::RunRefs;
pub use snapshot::TreeSnapshot;
pub use three_way::MergeConflict;
pub use tree_diff::{DiffColour, FileChangeKind, TreeChange};
pub use work_tree::{MadeTree, RunTree};
pub use write_merge::MergedFiles;

#[cfg(test)]
mod tests;
