//! A commit of a work tree as it is, which nobody notices.

use super::error::RunTreeError;
use super::left_out::LeftOutFile;
use super::record_tree::record_tree;
use super::repository::RunRepository;

/// A commit whose tree is the work tree, and whose parent is `HEAD`. No ref leads to it yet.
#[derive(Clone, Debug)]
pub struct TreeSnapshot {
    pub commit: String,
    pub tree: String,
    /// What was `HEAD`.
    pub head: String,
    /// What is in the work tree but not in the snapshot.
    pub left_out: Vec<LeftOutFile>,
}

impl RunRepository {
    /// A snapshot of the work tree: changed, new and removed files as they are now.
    pub fn snapshot(&self) -> Result<TreeSnapshot, RunTreeError> {
        let head = self.head()?;
        let index = self.index()?;
        let recorded = record_tree(&index.caller(&self.git()), self.root(), &[], &|_| Ok(false))?;
        let commit = self.own_commit(&recorded.tree, &[&head], "ravenry: snapshot of the work tree\n")?;
        Ok(TreeSnapshot { commit, tree: recorded.tree, head, left_out: recorded.left_out })
    }
}
