//! The branch that a crew builds. Each commit on it is the work of one run, and was made in memory: whoever moves the
//! branch has tested that very tree before.
//!
//! Branch and mark of the run move in one transaction of git, so the work of a run is on the branch exactly if the run
//! is marked as merged. Somebody who moved the branch in between is not overrun: the merge is prepared anew.
//!
//! Where the branch was last is held by a ref of ours. If somebody removes the branch or takes commits off it, they are
//! still there, and nothing is built without them until the crew is started again.

use super::error::RunTreeError;
use super::repository::RunRepository;
use super::snapshot::TreeSnapshot;
use super::three_way::{MergeConflict, ThreeWay, three_way};
use super::tree_diff::{TreeChange, changes_between};
use super::work_tree::RunTree;

/// The branch of one crew, whether it is there or not.
#[derive(Clone, Debug)]
pub struct CrewBranch {
    repository: RunRepository,
    name: String,
}

/// What merging a run into the branch would do.
#[derive(Clone, Debug)]
pub enum CrewMerge {
    /// All that the run left is on the branch, by this commit.
    Already { commit: Option<String> },
    /// The branch has the same content without it, or the run changed nothing.
    Nothing,
    /// These files stop it.
    Conflicts(Vec<MergeConflict>),
    /// This could be the next commit.
    Ready(PreparedStep),
}

/// The next commit of a crew's branch, as far as it is known before it is tested.
#[derive(Clone, Debug)]
pub struct PreparedStep {
    /// Where the branch is.
    pub onto: String,
    /// The tip of the run.
    tip: String,
    /// The tree after the merge, to be tested.
    pub tree: String,
    /// How it differs from where the branch is.
    pub changes: Vec<TreeChange>,
}

/// What became of a step.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum CrewMove {
    /// The branch is at this commit.
    Moved { commit: String },
    /// Somebody else moved the branch or changed the run meanwhile. Nothing was changed.
    Behind,
}

impl CrewBranch {
    /// The branch `ravenry/crew-STEM`. An error if that can't be the name of a branch.
    pub fn of(repository: &RunRepository, stem: &str) -> Result<Self, RunTreeError> {
        let name = format!("ravenry/crew-{stem}");
        let full = format!("refs/heads/{name}");
        if stem.is_empty() || repository.git().line_or_none(&["check-ref-format", &full])?.is_none() {
            return Err(RunTreeError::BadBranch(name));
        }
        Ok(Self { repository: repository.clone(), name })
    }

    /// The branch as people name it.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn full_name(&self) -> String {
        format!("refs/heads/{}", self.name)
    }

    /// The commit that it is at; `None`: there is no such branch.
    pub fn at(&self) -> Result<Option<String>, RunTreeError> {
        self.repository.object_at(&self.full_name())
    }

    /// Makes the branch at a commit, unless it is there. Then it is taken as it is: what has to be on it was looked for
    /// before. Returns where it began.
    pub fn begin(&self, commit: &str) -> Result<String, RunTreeError> {
        self.require_not_lost(commit)?;
        if let Some(at) = self.at()? {
            self.repository.set_ref(&self.tip_name(), &at)?;
        } else {
            let begun = self.repository.change_refs(&[
                format!("create {} {commit}", self.full_name()),
                format!("update {} {commit}", self.start_name()),
                format!("update {} {commit}", self.tip_name()),
            ]);
            // Another may have been faster.
            if let Err(error) = begun
                && self.at()?.is_none()
            {
                return Err(error);
            }
        }
        // Somebody may have made a branch with that name.
        Ok(self.start()?.unwrap_or_else(|| commit.to_string()))
    }

    /// A commit of the work tree as it is, on top of `HEAD`, for the branch to begin at. The work tree is not touched.
    pub fn snapshot_commit(&self) -> Result<String, RunTreeError> {
        let snapshot = self.repository.snapshot()?;
        if snapshot.tree == self.repository.tree_of(&snapshot.head)? {
            return Ok(snapshot.head);
        }
        let message = "What was not committed when the crew began\n";
        self.repository.commit(&snapshot.tree, &[&snapshot.head], message, None)
    }

    /// Where the branch began, if we made it.
    pub fn start(&self) -> Result<Option<String>, RunTreeError> {
        self.repository.object_at(&self.start_name())
    }

    fn start_name(&self) -> String {
        // Once: the end of a branch's name may begin like the whole.
        format!("refs/ravenry/crew/{}", self.name.strip_prefix("ravenry/crew-").unwrap_or(&self.name))
    }

    /// Where it was last, as far as we know.
    fn tip_name(&self) -> String {
        format!("refs/ravenry/crew-tip/{}", self.name.strip_prefix("ravenry/crew-").unwrap_or(&self.name))
    }

    /// The commit that it is at. It is remembered, should somebody remove the branch or take commits off it.
    fn here(&self) -> Result<String, RunTreeError> {
        // The one that is written later is read first: the branch is where it was last, or above that.
        let known = self.repository.object_at(&self.tip_name())?;
        let name = || self.name.clone();
        match (self.at()?, known) {
            (Some(at), Some(tip)) if at == tip => Ok(at),
            (Some(at), Some(tip)) if !self.has_all_of(&at, &tip)? => {
                Err(RunTreeError::CommitsGone { name: name(), tip })
            }
            (Some(at), _) => {
                self.repository.set_ref(&self.tip_name(), &at)?;
                Ok(at)
            }
            (None, Some(tip)) => Err(RunTreeError::BranchGone { name: name(), tip }),
            (None, None) => Err(RunTreeError::NoBranch(name())),
        }
    }

    /// An error if there is no such branch, or if somebody took commits off it since it was begun.
    pub fn require_there(&self) -> Result<(), RunTreeError> {
        self.here().map(drop)
    }

    /// An error if somebody removed the branch, and a new one that begins at `commit` would not have what was on it.
    pub fn require_not_lost(&self, commit: &str) -> Result<(), RunTreeError> {
        let Some(tip) = self.repository.object_at(&self.tip_name())? else { return Ok(()) };
        if self.at()?.is_some() {
            return Ok(());
        }
        match self.has_all_of(commit, &tip)? {
            true => Ok(()),
            false => Err(RunTreeError::BranchGone { name: self.name.clone(), tip }),
        }
    }

    /// The work tree in which somebody has the branch checked out.
    pub fn checked_out_at(&self) -> Result<Option<String>, RunTreeError> {
        self.repository.checked_out_at(&self.full_name())
    }

    /// An error if somebody has the branch checked out: their files would no longer be those of their branch.
    pub fn require_free(&self) -> Result<(), RunTreeError> {
        match self.repository.is_checked_out(&self.full_name())? {
            true => Err(RunTreeError::CheckedOut(self.name.clone())),
            false => Ok(()),
        }
    }

    /// What a run for this crew starts from: the branch, with a commit of our own above it, as with every base.
    pub fn base(&self) -> Result<TreeSnapshot, RunTreeError> {
        let head = self.here()?;
        let tree = self.repository.tree_of(&head)?;
        let commit = self.repository.own_commit(&tree, &[&head], "ravenry: base of a crew's run\n")?;
        Ok(TreeSnapshot { commit, tree, head, left_out: Vec::new() })
    }

    /// Merges the work of a run in memory.
    pub fn prepare(&self, run: &RunTree) -> Result<CrewMerge, RunTreeError> {
        self.repository.require_merging_git()?;
        let tip = run.tip()?;
        let before = self.repository.object_at(&run.refs.crewed())?;
        if before.as_ref() == Some(&tip) {
            return Ok(CrewMerge::Already { commit: self.repository.object_at(&run.refs.crew_commit())? });
        }
        let onto = self.here()?;
        // What is on the branch already is not merged again.
        let base = before.map_or_else(|| run.base(), Ok)?;
        let git = self.repository.git();
        let tree = match three_way(&git, &base, &onto, &tip)? {
            ThreeWay::Conflicts(conflicts) => return Ok(CrewMerge::Conflicts(conflicts)),
            ThreeWay::Clean(tree) => tree,
        };
        let changes = changes_between(&git, &onto, &tree)?;
        if changes.is_empty() {
            return Ok(CrewMerge::Nothing);
        }
        Ok(CrewMerge::Ready(PreparedStep { onto, tip, tree, changes }))
    }

    /// Makes the commit and moves the branch to it, if branch and run are still what they were.
    pub fn advance(
        &self,
        run: &RunTree,
        step: &PreparedStep,
        message: &str,
    ) -> Result<CrewMove, RunTreeError> {
        let _own = run.lock()?;
        self.require_free()?;
        if run.tip()? != step.tip {
            return Ok(CrewMove::Behind);
        }
        // With the time of the tip: the same work on the same commit is the same commit, however often it is made.
        let commit = self.repository.commit(&step.tree, &[&step.onto], message, Some(&step.tip))?;
        let mut changes = vec![
            format!("update {} {commit} {}", self.full_name(), step.onto),
            format!("update {} {commit}", self.tip_name()),
            format!("update {} {}", run.refs.crewed(), step.tip),
            format!("update {} {commit}", run.refs.crew_commit()),
            format!("update {} {}", run.refs.merged(), step.tip),
        ];
        // Its own branch has nothing that is not on this one.
        let own = run.refs.branch();
        if let Some(there) = self.repository.object_at(&own)?
            && self.repository.object_at(&run.refs.branched())?.as_ref() == Some(&there)
            && !self.repository.is_checked_out(&own)?
        {
            changes.push(format!("delete {own} {there}"));
        }
        match self.repository.change_refs(&changes) {
            Ok(()) => Ok(CrewMove::Moved { commit }),
            Err(_) if self.at()?.as_ref() != Some(&step.onto) => Ok(CrewMove::Behind),
            Err(error) => Err(error),
        }
    }

    /// Whether the work of a commit is in that of another: the commit is below it, or what it changed is there in another
    /// way, as after a merge that squashed it.
    pub fn has_work(&self, at: &str, commit: &str) -> Result<bool, RunTreeError> {
        if !self.has_commit(commit)? {
            return Ok(false);
        }
        if self.is_below(commit, at)? {
            return Ok(true);
        }
        let git = self.repository.git();
        match three_way(&git, &format!("{commit}^"), at, commit)? {
            ThreeWay::Conflicts(_) => Ok(false),
            ThreeWay::Clean(tree) => Ok(changes_between(&git, at, &tree)?.is_empty()),
        }
    }

    /// Whether the work of all commits that the second has is in the first.
    fn has_all_of(&self, at: &str, tip: &str) -> Result<bool, RunTreeError> {
        for missing in self.repository.git().line(&["rev-list", &format!("{at}..{tip}")])?.lines() {
            if !self.has_work(at, missing)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The tree of a commit.
    pub fn tree_of(&self, commit: &str) -> Result<String, RunTreeError> {
        self.repository.tree_of(commit)
    }

    /// Whether git still has that commit.
    pub fn has_commit(&self, commit: &str) -> Result<bool, RunTreeError> {
        Ok(self.repository.object_at(&format!("{commit}^{{commit}}"))?.is_some())
    }

    /// Whether the second commit has the first below it, or is it.
    pub fn is_below(&self, commit: &str, at: &str) -> Result<bool, RunTreeError> {
        let args = ["merge-base", "--is-ancestor", commit, at];
        Ok(self.repository.git().line_or_none(&args)?.is_some())
    }

    /// How many commits a person does not have yet, from a commit to the branch.
    pub fn commits_since(&self, commit: &str) -> Result<usize, RunTreeError> {
        let range = format!("{commit}..{}", self.full_name());
        let counted = self.repository.git().line(&["rev-list", "--count", &range])?;
        counted.trim().parse().map_err(|_| RunTreeError::Output("rev-list"))
    }
}
