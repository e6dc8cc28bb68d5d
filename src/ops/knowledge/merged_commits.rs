//! Which commits the asker's `HEAD` leads to. For one `HEAD` that never changes, so git is asked once about each commit,
//! and about those that the repository does not have.

use std::collections::HashSet;

use super::anchors::AnchorJudge;
use crate::domain::knowledge::search::MergeState;
use crate::sys::git::ReadOnlyGit;

impl AnchorJudge {
    /// Which of these commits the asker's branch does not have. Without git, and if git is too slow, all are merged.
    pub(super) fn unmerged(&mut self, commits: &[String]) -> HashSet<String> {
        let Some(head) = self.head_commit().map(str::to_string) else { return HashSet::new() };
        let mut unmerged = HashSet::new();
        let mut unknown = Vec::new();
        for commit in commits {
            match self.cache.merge_state(&head, commit) {
                Some(MergeState::Unmerged) => drop(unmerged.insert(commit.clone())),
                Some(MergeState::Merged) => {}
                None => unknown.push(commit.clone()),
            }
        }
        if unknown.is_empty() {
            return unmerged;
        }
        let git = self.tree.as_ref().and_then(|tree| ReadOnlyGit::at(tree, self.git_limit()).ok());
        let Some(git) = git else { return unmerged };
        let Ok(found) = git.not_on_head(&unknown) else { return unmerged };
        let found: HashSet<String> = found.into_iter().collect();
        // What the repository does not have yet may come.
        let known = git.existing(&unknown).unwrap_or_default().into_iter().map(|commit| {
            let state = if found.contains(&commit) { MergeState::Unmerged } else { MergeState::Merged };
            (commit, state)
        });
        self.cache.keep_merge_states(&head, known);
        unmerged.extend(found);
        unmerged
    }
}
