//! Which records are marked as not merged, after a branch was merged in one commit or given up.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::environment::{TestEnvironment, end, put};

const FLOCK: &str = "pub fn lock() {\n    take();\n}\n\npub fn unlock() {\n    give();\n}\n";

fn git(dir: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(["-c", "user.name=J", "-c", "user.email=j@example.org"]).args(args);
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A repository whose branch `feature`, in a work tree of its own, has two commits and two records.
struct FeatureBranch {
    env: TestEnvironment,
    linked: PathBuf,
}

impl FeatureBranch {
    fn new() -> Self {
        let env = TestEnvironment::new();
        git(&env.work(), &["init", "-q", "-b", "main"]);
        put(&env.work().join("src/flock.rs"), FLOCK);
        git(&env.work(), &["add", "-A"]);
        git(&env.work(), &["commit", "-q", "-m", "add the lock"]);
        let linked = env.path().join("linked");
        git(&env.work(), &["worktree", "add", "-q", "-b", "feature", linked.to_str().unwrap()]);
        let branch = Self { env, linked };
        put(&branch.linked.join("src/retry.rs"), "pub fn retry() {\n    again_and_again();\n}\n");
        branch.commit("add retry");
        put(&branch.linked.join("src/limit.rs"), "pub fn limit() {\n    not_for_ever();\n}\n");
        branch.commit("add limit");
        branch.learn(&["Retries are limited", "--at", "src/retry.rs#retry", "--at", "src/limit.rs:1-3"]);
        branch.learn(&["Nothing is said about a place"]);
        branch
    }

    fn commit(&self, title: &str) {
        git(&self.linked, &["add", "-A"]);
        git(&self.linked, &["commit", "-q", "-m", title]);
    }

    fn learn(&self, args: &[&str]) {
        let mut command = self.env.msg();
        end(command.arg("learn").args(args).current_dir(&self.linked).env("USER", "bob")).expect_code(0);
    }

    fn squash(&self) {
        git(&self.env.work(), &["merge", "-q", "--squash", "feature"]);
        git(&self.env.work(), &["commit", "-q", "-m", "add retry and limit"]);
    }

    fn remove_branch(&self) {
        git(&self.env.work(), &["worktree", "remove", self.linked.to_str().unwrap()]);
        git(&self.env.work(), &["branch", "-q", "-D", "feature"]);
    }

    /// The names of the records that are marked in the main work tree.
    fn marked(&self) -> Vec<&'static str> {
        let listed = end(self.env.msg().args(["knowledge", "list"])).expect_code(0).stdout;
        let marked = |name: &&str| {
            let row = listed.lines().find(|row| row.contains(name)).unwrap_or_else(|| panic!("{listed}"));
            row.contains("on feature, not merged")
        };
        ["retries-are-limited", "nothing-is-said-about-a-place"].into_iter().filter(marked).collect()
    }
}

const BOTH: [&str; 2] = ["retries-are-limited", "nothing-is-said-about-a-place"];

#[test]
fn a_branch_that_was_squashed_and_removed_is_merged() {
    let branch = FeatureBranch::new();
    assert_eq!(branch.marked(), BOTH);
    branch.squash();
    assert_eq!(branch.marked(), BOTH, "the branch is still there: more may follow");
    branch.remove_branch();
    assert_eq!(branch.marked(), BOTH[1..], "a record without a place can't be compared");
    // Later changes of the rest of the file are no reason to doubt it, and later changes of the text are.
    let retry = branch.env.work().join("src/retry.rs");
    put(&retry, "// Waits between.\n\npub fn retry() {\n    again_and_again();\n}\n");
    assert_eq!(branch.marked(), BOTH[1..]);
    git(&branch.env.work(), &["mv", "src/limit.rs", "src/limits.rs"]);
    assert_eq!(branch.marked(), BOTH[1..], "moved");
    put(&retry, "pub fn retry() {\n    once();\n}\n");
    assert_eq!(branch.marked(), BOTH);
}

#[test]
fn a_branch_that_was_given_up_is_not_merged() {
    let branch = FeatureBranch::new();
    branch.remove_branch();
    assert_eq!(branch.marked(), BOTH);
}

#[test]
fn a_branch_that_a_remote_repository_has_still_exists() {
    let branch = FeatureBranch::new();
    branch.squash();
    branch.remove_branch();
    assert_eq!(branch.marked(), BOTH[1..]);
    git(&branch.env.work(), &["update-ref", "refs/remotes/origin/feature", "HEAD~1"]);
    assert_eq!(branch.marked(), BOTH);
}
