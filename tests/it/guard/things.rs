//! A commit changes the index, `HEAD` and a branch: whoever holds one of them keeps others from committing.

use super::fixture::{guarded, repo};

#[test]
fn a_held_part_of_the_repository_stops_a_commit() {
    for part in ["@git/index", "@git/HEAD", "@git/branch:main"] {
        let repo = guarded();
        repo.env.ok(&["reserve", part, "--reason", "the release", "--as", "Alice"]);
        repo.write("d.txt", "two\n");
        repo.git(&["add", "d.txt"]).expect_code(0);
        let ended = repo.refused(&["commit", "-qm", "two"], part);
        assert!(ended.stderr.contains("“the release”") && ended.stderr.contains("msg send Alice"), "{ended}");
        assert!(!ended.stderr.contains("git reset PATH"), "no path is in the way: {ended}");
        assert!(ended.stderr.contains("refused: what a commit needs is reserved"), "no file is: {ended}");
        repo.refused(&["commit", "-q", "--allow-empty", "-m", "empty"], part);
        repo.committed(&["commit", "--no-verify", "-qm", "two"]);
        repo.env.ok(&["release", part, "--as", "Alice"]);
        repo.committed(&["commit", "-q", "--allow-empty", "-m", "three"]);
    }
}

#[test]
fn another_branch_or_work_tree_does_not() {
    let repo = guarded();
    repo.env.ok(&["reserve", "@git/branch:other", "@git/branch:main/x", "@port:3000", "--as", "Alice"]);
    repo.committed(&["commit", "-q", "--allow-empty", "-m", "two"]);
    repo.git(&["worktree", "add", "-q", "-b", "topic", "../topic"]).expect_code(0);
    repo.env.ok(&["reserve", "@git/index", "@git/HEAD", "--as", "Alice"]);
    let topic = repo.root().join("../topic");
    repo.committed_in(&topic, &["commit", "-q", "--allow-empty", "-m", "three"]);
    repo.env.ok(&["reserve", "@git/branch:topic", "--as", "Alice"]);
    repo.refused_in(&topic, &["commit", "-q", "--allow-empty", "-m", "four"], "@git/branch:topic");
    repo.git_in(&topic, &["checkout", "-q", "--detach"]).expect_code(0);
    repo.committed_in(&topic, &["commit", "-q", "--allow-empty", "-m", "four"]);
    // A dead holder stops nobody.
    repo.env.kill(repo.alice);
    repo.committed(&["commit", "-q", "--allow-empty", "-m", "five"]);
}

#[test]
fn only_held_parts_are_listed() {
    let repo = repo();
    repo.write("d.txt", "two\n");
    repo.git(&["add", "d.txt"]).expect_code(0);
    assert_eq!(repo.checked(), [("d.txt".to_string(), None)]);
    repo.env.ok(&["reserve", "@git/HEAD", "--as", "Alice"]);
    let held = ("@git/HEAD".to_string(), Some("Alice".to_string()));
    assert_eq!(repo.checked(), [("d.txt".to_string(), None), held]);
}
