//! Whether the asker's branch has what a record is about.
//!
//! It has, if `HEAD` leads to the commit at which the record was made. The commits of a branch that was squashed or
//! rebased when it was merged are never there, so for a branch that is gone its text decides: if all that the record is
//! anchored to is in the asker's work tree as it was recorded, it was merged, or is at least about code that the asker
//! has. A branch that still exists, and a record without an anchor in a file, are judged by the commit alone. What git
//! can't tell in time is not held against a record.

use std::collections::HashSet;

use crate::domain::knowledge::search::MergeState;
use crate::domain::knowledge::{AnchorFinding, AnchorTarget};

use super::anchors::AnchorJudge;
use super::project::KnowledgeProject;

#[derive(Debug)]
pub(super) struct MergeJudge {
    /// The commits of records to which `HEAD` does not lead.
    unmerged: HashSet<String>,
    /// The asker's branch.
    branch: Option<String>,
    /// All branches; `None` if they are not known or not needed.
    branches: Option<HashSet<String>>,
}

impl MergeJudge {
    /// For records that were made at these commits.
    pub(super) fn new(project: &KnowledgeProject, judge: &mut AnchorJudge, commits: &[String]) -> Self {
        let unmerged = judge.unmerged(commits);
        let branches = if unmerged.is_empty() { None } else { project.branches(judge.git_limit()) };
        Self { unmerged, branch: project.branch(), branches }
    }

    /// The state of a record that was made at a commit of a branch, and whose anchors were judged so.
    pub(super) fn state<'a>(
        &self,
        commit: Option<&String>,
        branch: Option<&String>,
        findings: impl IntoIterator<Item = (&'a AnchorTarget, &'a AnchorFinding)>,
    ) -> MergeState {
        match commit {
            Some(commit)
                if self.unmerged.contains(commit)
                    && !self.is_own_branch(branch)
                    && !(self.may_be_gone(branch) && is_all_here(findings)) =>
            {
                MergeState::Unmerged
            }
            _ => MergeState::Merged,
        }
    }

    /// A commit of this very branch was amended or rebased.
    fn is_own_branch(&self, branch: Option<&String>) -> bool {
        self.branch.is_some() && branch == self.branch.as_ref()
    }

    fn may_be_gone(&self, branch: Option<&String>) -> bool {
        branch.is_some_and(|branch| self.branches.as_ref().is_none_or(|known| !known.contains(branch)))
    }
}

/// Whether the text of every anchor is in the work tree, and there is one. The rest of its file may be different, but of a
/// whole file the text is all of it.
fn is_all_here<'a>(findings: impl IntoIterator<Item = (&'a AnchorTarget, &'a AnchorFinding)>) -> bool {
    let mut in_files = findings.into_iter().filter(|(target, _)| target.path().is_some()).peekable();
    in_files.peek().is_some()
        && in_files.all(|(target, finding)| match finding {
            AnchorFinding::Fresh | AnchorFinding::Moved { .. } => true,
            AnchorFinding::Drifted => !matches!(target, AnchorTarget::File { .. }),
            AnchorFinding::Stale | AnchorFinding::Gone => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Within the short time of a hook git may not tell which branches there are.
    #[test]
    fn a_branch_that_may_be_gone_is_not_held_against_a_record_whose_text_is_here() {
        let (commit, branch) = ("abc".to_string(), "feature".to_string());
        let target = AnchorTarget::parse("src/a.rs#a").unwrap();
        let state = |branches: Option<&[&str]>, finding: AnchorFinding| {
            let branches = branches.map(|names| names.iter().map(ToString::to_string).collect());
            let judge = MergeJudge { unmerged: HashSet::from([commit.clone()]), branch: None, branches };
            judge.state(Some(&commit), Some(&branch), [(&target, &finding)])
        };
        assert_eq!(state(None, AnchorFinding::Fresh), MergeState::Merged, "not known");
        assert_eq!(state(Some(&["main"]), AnchorFinding::Fresh), MergeState::Merged, "gone");
        assert_eq!(state(Some(&["feature"]), AnchorFinding::Fresh), MergeState::Unmerged);
        assert_eq!(state(None, AnchorFinding::Stale), MergeState::Unmerged, "its text is not here");
    }
}
