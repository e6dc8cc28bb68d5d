//! What is checked out in a work tree, and git's directory of it, usually without starting `git`.

use std::path::PathBuf;

use super::{WorkTree, short, text_of};

impl WorkTree {
    /// Git's directory of this work tree, with its `HEAD` and index, where links lead.
    pub fn own_dir(&self) -> Option<PathBuf> {
        std::fs::canonicalize(&self.git_dir).ok()
    }

    /// The branch that the next commit here moves: the one that is checked out, or the one that is being rebased. `None`
    /// if `HEAD` is detached.
    pub fn current_branch(&self) -> Option<String> {
        let head = text_of(&self.git_dir.join("HEAD"))?;
        let name = match head.trim().strip_prefix("ref:").map(str::trim) {
            Some("refs/heads/.invalid") => self.git(&["symbolic-ref", "-q", "HEAD"])?,
            Some(reference) => reference.to_string(),
            None => self.rebased_branch()?,
        };
        name.starts_with("refs/heads/").then(|| short(&name))
    }

    /// The branch that a rebase in progress will move.
    fn rebased_branch(&self) -> Option<String> {
        let name = |dir: &&str| text_of(&self.git_dir.join(dir).join("head-name"));
        ["rebase-merge", "rebase-apply"].iter().find_map(name).map(|name| name.trim().to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn as_git_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let (main, linked) = (dir.path().join("main"), dir.path().join("linked"));
        crate::sys::files::create_dir(&main).unwrap();
        let git = |at: &Path, args: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.arg("-C").arg(at).args(["-c", "user.name=J", "-c", "user.email=j@x"]).args(args);
            command.output().unwrap().status.success()
        };
        let branch = |at: &Path| WorkTree::containing(at).unwrap().current_branch();
        assert!(git(&main, &["init", "-q", "-b", "feature/x"]));
        assert_eq!(branch(&main).as_deref(), Some("feature/x"), "no commit yet");
        assert!(git(&main, &["commit", "-q", "--allow-empty", "-m", "one"]));
        assert!(git(&main, &["worktree", "add", "-q", "-b", "topic", linked.to_str().unwrap()]));
        assert_eq!(branch(&linked).as_deref(), Some("topic"));
        let own = |at: &Path| WorkTree::containing(at).unwrap().own_dir().unwrap();
        let real = std::fs::canonicalize(&main).unwrap();
        assert_eq!((own(&main), own(&linked)), (real.join(".git"), real.join(".git/worktrees/linked")));
        assert!(git(&main, &["checkout", "-q", "--detach"]));
        assert_eq!(branch(&main), None);
        // A rebase that stops has detached `HEAD`, and will move the branch.
        assert!(git(&linked, &["commit", "-q", "--allow-empty", "-m", "two"]));
        assert!(!git(&linked, &["rebase", "-q", "--force-rebase", "--exec", "false", "HEAD~1"]));
        assert_eq!(branch(&linked).as_deref(), Some("topic"), "while it is rebased");
    }
}
