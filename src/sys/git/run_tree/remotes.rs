//! What a run for another machine needs of git: to start from a commit that both machines have, and to bring commits from
//! and to a remote that both have.

use std::ffi::OsStr;
use std::time::Duration;

use super::error::RunTreeError;
use super::git_call::failed;
use super::repository::RunRepository;
use super::snapshot::TreeSnapshot;

/// How long a remote may take. Nobody is there to be asked for a password.
const REMOTE_LIMIT: Duration = Duration::from_secs(120);

impl RunRepository {
    /// What a run starts from that is not to have what is in the work tree: that commit, with a commit of our own above
    /// it, as with every base.
    pub fn base_at(&self, commit: &str) -> Result<TreeSnapshot, RunTreeError> {
        let tree = self.tree_of(commit)?;
        let base = self.own_commit(&tree, &[commit], "ravenry: base of a run\n")?;
        Ok(TreeSnapshot { commit: base, tree, head: commit.to_string(), left_out: Vec::new() })
    }

    /// Whether the commit is here, with all that it needs.
    pub fn has_commit(&self, commit: &str) -> Result<bool, RunTreeError> {
        let name = format!("{commit}^{{commit}}");
        let args = ["cat-file", "-e", name.as_str()].map(OsStr::new);
        Ok(self.git().with("GIT_NO_LAZY_FETCH", "1").answer(&args, Vec::new())?.code == Some(0))
    }

    /// Fetches the branches of a remote. No file of the work tree and no branch of the person changes.
    pub fn fetch_from(&self, remote: &str) -> Result<(), RunTreeError> {
        self.at_remote(&[
            "fetch",
            "--quiet",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
            "--",
            remote,
        ])
    }

    /// Pushes a branch of a run to a remote, under the same name. If there is another one, that stays.
    pub fn push_branch(&self, remote: &str, branch: &str) -> Result<(), RunTreeError> {
        let refspec = format!("refs/heads/{branch}:refs/heads/{branch}");
        self.at_remote(&["push", "--quiet", "--no-recurse-submodules", "--", remote, &refspec])
    }

    fn at_remote(&self, args: &[&str]) -> Result<(), RunTreeError> {
        let git = self.git().within(REMOTE_LIMIT);
        // Not even a program that the person configured for that may ask.
        let git = git.with("GIT_ASKPASS", "true").with("SSH_ASKPASS_REQUIRE", "never");
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        let answer = git.set("core.askPass=true").answer(&args, Vec::new())?;
        if answer.code == Some(0) { Ok(()) } else { Err(failed(&args, &answer)) }
    }
}
