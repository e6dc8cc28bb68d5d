//! The branch of a run: its work, replayed onto a commit of the person as one commit.
//!
//! A snapshot holds what the person had not committed, so it is never an ancestor of a branch.

use super::error::RunTreeError;
use super::three_way::{MergeConflict, ThreeWay, three_way};
use super::work_tree::RunTree;

/// What became of the branch.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RunBranch {
    /// The run changed nothing, so there is no branch.
    Nothing,
    /// The branch is at this commit. Its parent is `onto`.
    At { commit: String, onto: String },
    /// The run's changes depend on what the person had not committed: they can't be replayed without it. The work is
    /// held by the ref of the tip.
    Conflicts(Vec<MergeConflict>),
    /// Somebody else put the branch at this commit, or has it checked out: it stays there.
    Moved(String),
    /// git is too old to replay anything.
    OldGit,
}

impl RunTree {
    /// Makes the branch of the tip, unless it is made.
    pub(super) fn make_branch(&self, message: &str) -> Result<RunBranch, RunTreeError> {
        let repository = &self.repository;
        let (base, tip) = (self.base()?, self.tip()?);
        let there = repository.object_at(&self.refs.branch())?;
        let branched = repository.object_at(&self.refs.branched())?;
        let branching = repository.object_at(&self.refs.branching())?;
        if let Some(there) = &there
            && branched.as_ref() != Some(there)
            && branching.as_ref() != Some(there)
        {
            return Ok(RunBranch::Moved(there.clone()));
        }
        let is_unchanged = repository.tree_of(&base)? == repository.tree_of(&tip)?;
        // Whoever saves the work of a supervisor that died after it was merged makes no branch of it again.
        if there.is_none() && (is_unchanged || self.is_merged()?) {
            return Ok(RunBranch::Nothing);
        }
        let is_of_tip = repository.object_at(&self.refs.replayed())?.as_ref() == Some(&tip);
        if let (Some(there), true) = (&there, is_of_tip)
            && branched.as_ref() == Some(there)
        {
            repository.drop_ref(&self.refs.branching())?;
            let onto = repository.git().line(&["rev-parse", "--verify", &format!("{there}^")])?;
            return Ok(RunBranch::At { commit: there.clone(), onto });
        }
        if let Some(there) = &there
            && repository.is_checked_out(&self.refs.branch())?
        {
            return Ok(RunBranch::Moved(there.clone()));
        }
        match repository.require_merging_git() {
            Err(RunTreeError::OldGit { .. }) => return Ok(RunBranch::OldGit),
            checked => checked?,
        }
        let (tree, onto) = match self.replay(&base, &tip)? {
            Ok(replayed) => replayed,
            Err(conflicts) => return Ok(RunBranch::Conflicts(conflicts)),
        };
        let commit = repository.commit(&tree, &[&onto], message, Some(&tip))?;
        // Written down first: after a crash we know that the branch is ours.
        repository.set_ref(&self.refs.branching(), &commit)?;
        let branch = self.refs.branch();
        repository.change_refs(&[match &there {
            None => format!("create {branch} {commit}"),
            Some(old) => format!("update {branch} {commit} {old}"),
        }])?;
        repository.set_ref(&self.refs.replayed(), &tip)?;
        repository.set_ref(&self.refs.branched(), &commit)?;
        repository.drop_ref(&self.refs.branching())?;
        Ok(RunBranch::At { commit, onto })
    }

    /// The tree of the work on top of `HEAD`; if that conflicts, on top of what was `HEAD` when the run started.
    fn replay(
        &self,
        base: &str,
        tip: &str,
    ) -> Result<Result<(String, String), Vec<MergeConflict>>, RunTreeError> {
        let repository = &self.repository;
        let start = repository.git().line(&["rev-parse", "--verify", &format!("{base}^")])?;
        let head = match repository.head() {
            _ if self.stays_on_start => start.clone(),
            Err(RunTreeError::NoCommits(_)) => start.clone(),
            head => head?,
        };
        let mut first = None;
        for onto in [head, start] {
            match three_way(&repository.git(), base, &onto, tip)? {
                ThreeWay::Clean(tree) => return Ok(Ok((tree, onto))),
                ThreeWay::Conflicts(conflicts) => first = first.or(Some(conflicts)),
            }
        }
        Ok(Err(first.unwrap_or_default()))
    }
}
