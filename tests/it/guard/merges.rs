//! A merge commit changes what its author wrote: the paths that differ from all of its parents. The rest was committed
//! by others, who were checked then or work elsewhere.

use super::fixture::{Repo, guarded};

/// On `topic` another agent changes some files; on `main`, where we are, we change some.
fn branches(theirs: &[(&str, &str)], ours: &[(&str, &str)]) -> Repo {
    let repo = guarded();
    repo.git(&["checkout", "-qb", "topic"]).expect_code(0);
    change(&repo, theirs);
    repo.git(&["checkout", "-q", "main"]).expect_code(0);
    change(&repo, ours);
    repo
}

/// Commits a change without the guard.
fn change(repo: &Repo, files: &[(&str, &str)]) {
    files.iter().for_each(|(file, text)| repo.write(file, text));
    repo.git(&["add", "."]).expect_code(0);
    repo.git(&["commit", "--no-verify", "-qm", "changed"]).expect_code(0);
}

#[test]
fn what_others_committed_is_free() {
    let repo = branches(&[("src/a.rs", "theirs\n"), ("src/new.rs", "")], &[("d.txt", "ours\n")]);
    repo.git(&["merge", "--no-commit", "--no-ff", "topic"]).expect_code(0);
    assert_eq!(repo.checked(), []);
    repo.committed(&["commit", "-qm", "merged"]);
}

#[test]
fn what_is_resolved_is_changed() {
    let repo = branches(&[("src/a.rs", "theirs\n"), ("d.txt", "theirs\n")], &[("src/a.rs", "ours\n")]);
    repo.git(&["merge", "topic"]).expect_code(1);
    assert_eq!(repo.checked(), [("src/a.rs".to_string(), Some("Alice".to_string()))], "in conflict");
    repo.write("src/a.rs", "both\n");
    repo.git(&["add", "."]).expect_code(0);
    repo.refused(&["commit", "-qm", "merged"], "src/a.rs");
    assert_eq!(repo.checked(), [("src/a.rs".to_string(), Some("Alice".to_string()))]);
    // Taking one side unchanged writes nothing.
    for (side, text) in [("--theirs", "theirs\n"), ("--ours", "ours\n")] {
        repo.git(&["checkout", "-q", "-m", "src/a.rs"]).expect_code(0);
        repo.git(&["checkout", "-q", side, "src/a.rs"]).expect_code(0);
        repo.git(&["add", "."]).expect_code(0);
        assert_eq!(repo.git(&["show", ":src/a.rs"]).stdout, text);
        assert_eq!(repo.checked(), [], "{side}");
    }
    repo.committed(&["commit", "-qm", "merged"]);
}

#[test]
fn what_is_slipped_in_is_changed() {
    let repo = branches(&[("d.txt", "theirs\n")], &[("docs/c.md", "ours\n")]);
    repo.git(&["merge", "--no-commit", "--no-ff", "topic"]).expect_code(0);
    repo.write("src/a.rs", "by the way\n");
    repo.refused(&["commit", "-qam", "merged"], "src/a.rs");
}

#[test]
fn a_merge_of_many() {
    let repo = branches(&[("src/a.rs", "theirs\n")], &[("d.txt", "ours\n")]);
    repo.git(&["checkout", "-qb", "third", "main~1"]).expect_code(0);
    change(&repo, &[("src/deep/b.rs", "third\n")]);
    repo.git(&["checkout", "-q", "main"]).expect_code(0);
    repo.git(&["merge", "--no-commit", "topic", "third"]).expect_code(0);
    assert_eq!(repo.checked(), []);
    repo.write("src/deep/b.rs", "fourth\n");
    repo.refused(&["commit", "-qam", "merged"], "src/deep/b.rs");
}

/// A cherry-picked commit counts as a change if a person has to commit it.
#[test]
fn what_is_picked_is_changed() {
    let repo = branches(&[("src/a.rs", "theirs\n")], &[("src/a.rs", "ours\n")]);
    repo.git(&["cherry-pick", "topic"]).expect_code(1);
    repo.write("src/a.rs", "theirs\n");
    repo.git(&["add", "."]).expect_code(0);
    repo.refused(&["commit", "-qm", "picked"], "src/a.rs");
}

#[test]
fn in_a_linked_work_tree() {
    let repo = branches(&[("src/a.rs", "theirs\n"), ("d.txt", "theirs\n")], &[("src/a.rs", "ours\n")]);
    let linked = repo.env.path().join("linked");
    repo.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "-b", "other", "main"]).expect_code(0);
    let reserve =
        repo.env.msg().current_dir(&linked).args(["reserve", ".", "--as", "Alice"]).output().unwrap();
    assert!(reserve.status.success());
    repo.git_in(&linked, &["merge", "topic"]).expect_code(1);
    crate::support::environment::put(&linked.join("src/a.rs"), "both\n");
    let ended = repo.refused_in(&linked, &["commit", "-qam", "merged"], "src/a.rs");
    assert!(ended.stderr.contains("the only file"), "d.txt is theirs: {ended}");
}
