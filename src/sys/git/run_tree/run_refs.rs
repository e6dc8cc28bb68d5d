//! The refs of a run.

use super::error::RunTreeError;
use super::repository::RunRepository;

/// The names of the refs of one run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RunRefs {
    id: String,
}

impl RunRefs {
    /// An error if the id can't be part of a ref.
    pub fn of(id: &str) -> Result<Self, RunTreeError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if id.is_empty() || id.len() > 100 || id.starts_with('-') || !id.bytes().all(is_plain) {
            return Err(RunTreeError::BadId(id.to_string()));
        }
        Ok(Self { id: id.to_string() })
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// The snapshot that the run started from.
    pub fn base(&self) -> String {
        self.of_run("base")
    }

    /// What the run left.
    pub fn tip(&self) -> String {
        self.of_run("tip")
    }

    /// Files of the run that are never merged or pushed.
    pub fn saved(&self) -> String {
        format!("refs/ravenry/saved/{}", self.id)
    }

    /// The branch: base..tip, replayed onto a commit of the person.
    pub fn branch(&self) -> String {
        format!("refs/heads/{}", self.branch_name())
    }

    /// The branch as people name it.
    pub fn branch_name(&self) -> String {
        format!("ravenry/run-{}", self.id)
    }

    /// There once the work tree was complete.
    pub(super) fn ready(&self) -> String {
        self.of_run("ready")
    }

    /// The last commit that the worker made by itself.
    pub(super) fn worker(&self) -> String {
        self.of_run("worker")
    }

    /// Where we put the branch.
    pub(super) fn branched(&self) -> String {
        self.of_run("branched")
    }

    /// Where we are about to put the branch.
    pub(super) fn branching(&self) -> String {
        self.of_run("branching")
    }

    /// The tip that the branch was made of.
    pub(super) fn replayed(&self) -> String {
        self.of_run("replayed")
    }

    /// The tip that was merged last.
    pub(super) fn merged(&self) -> String {
        self.of_run("merged")
    }

    /// The tip that a crew put on its branch last.
    pub(super) fn crewed(&self) -> String {
        self.of_run("crewed")
    }

    /// The commit by which it did.
    pub(super) fn crew_commit(&self) -> String {
        self.of_run("crew-commit")
    }

    /// A merge that is being written: its tree is the result, its parents are the state before and the tip.
    pub(super) fn merging(&self) -> String {
        self.of_run("merging")
    }

    /// All of them but the branch.
    pub(super) fn own(&self) -> [String; 12] {
        [
            self.merging(),
            self.merged(),
            self.crewed(),
            self.crew_commit(),
            self.branching(),
            self.branched(),
            self.replayed(),
            self.worker(),
            self.saved(),
            self.ready(),
            self.tip(),
            self.base(),
        ]
    }

    fn of_run(&self, what: &str) -> String {
        format!("refs/ravenry/run/{}/{what}", self.id)
    }
}

impl RunRepository {
    /// The ids of all runs that have refs in this repository.
    pub fn runs(&self) -> Result<Vec<String>, RunTreeError> {
        let listed = self.git().line(&["for-each-ref", "--format=%(refname)", "refs/ravenry/run/"])?;
        let ids = listed.lines().filter_map(|name| {
            let (id, what) = name.strip_prefix("refs/ravenry/run/")?.split_once('/')?;
            (what == "base").then(|| id.to_string())
        });
        Ok(ids.collect())
    }

    /// The object that a ref leads to.
    pub(super) fn object_at(&self, name: &str) -> Result<Option<String>, RunTreeError> {
        self.git().line_or_none(&["rev-parse", "--verify", "-q", name])
    }

    /// The tree of a commit.
    pub(super) fn tree_of(&self, commit: &str) -> Result<String, RunTreeError> {
        self.git().line(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")])
    }

    /// Whether a branch is checked out in some work tree. Its `HEAD` would be changed with the branch.
    pub(super) fn is_checked_out(&self, branch: &str) -> Result<bool, RunTreeError> {
        Ok(self.checked_out_at(branch)?.is_some())
    }

    /// The work tree in which a branch is checked out.
    pub(super) fn checked_out_at(&self, branch: &str) -> Result<Option<String>, RunTreeError> {
        let place = self.git().line(&["for-each-ref", "--format=%(worktreepath)", branch])?;
        Ok(Some(place).filter(|place| !place.is_empty()))
    }

    /// Sets a ref, whatever it was.
    pub(super) fn set_ref(&self, name: &str, object: &str) -> Result<(), RunTreeError> {
        self.git().ask(&["update-ref", "--no-deref", name, object]).map(drop)
    }

    /// Several changes of refs, in the language of `git update-ref --stdin`: all of them or none.
    pub(super) fn change_refs(&self, changes: &[String]) -> Result<(), RunTreeError> {
        let mut input = String::from("start\n");
        for change in changes {
            input.push_str(change);
            input.push('\n');
        }
        input.push_str("prepare\ncommit\n");
        self.git().feed(&["update-ref", "--no-deref", "--stdin"], input.into_bytes()).map(drop)
    }

    /// Removes a ref, if it is there.
    pub(super) fn drop_ref(&self, name: &str) -> Result<(), RunTreeError> {
        if self.object_at(name)?.is_none() {
            return Ok(());
        }
        self.git().ask(&["update-ref", "--no-deref", "-d", name]).map(drop)
    }
}
