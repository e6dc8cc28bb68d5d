//! Directories in which git knows little, or has a history that was changed.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::support::environment::put;

use super::fixture::{Project, words};

/// The brief of Alice: as text, and the subjects of its commits.
#[track_caller]
fn brief(project: &Project) -> (String, Vec<String>) {
    let text = project.msg(&project.root(), &["brief", "Alice"]).expect_code(0).stdout;
    assert!(words(&text) <= 300, "{text}");
    let answer = project.msg(&project.root(), &["brief", "Alice", "--json"]).expect_code(0).json();
    let commits = answer["brief"]["commits"].as_array().unwrap().iter();
    (text, commits.map(|commit| commit["subject"].as_str().unwrap().to_string()).collect())
}

fn mark(project: &Project, dir: &Path, name: &str) {
    project.write(&dir.join(name), name);
    project.commit(dir, name);
}

#[test]
fn no_repository() {
    let project = Project::new();
    let dir = project.env.path().join("elsewhere");
    fs::create_dir(&dir).unwrap();
    project.join("Alice", &dir);
    let (text, commits) = brief(&project);
    assert!(text.contains("not in a git work tree"), "{text}");
    assert!(commits.is_empty());
}

#[test]
fn a_repository_without_commits() {
    let project = Project::empty();
    project.join("Alice", &project.root());
    put(&project.root().join("a.rs"), "");
    let (text, commits) = brief(&project);
    assert!(text.contains("no commits on this branch yet") && text.contains("`a.rs`"), "{text}");
    assert!(commits.is_empty());
    mark(&project, &project.root(), "first.rs");
    let (text, commits) = brief(&project);
    assert_eq!(commits, ["first.rs"]);
    assert!(text.contains("`a.rs`") && text.contains("`first.rs`"), "{text}");
}

#[test]
fn a_subdirectory() {
    let project = Project::new();
    let sub = project.root().join("src");
    project.join("Alice", &sub);
    put(&project.root().join("above.rs"), "");
    mark(&project, &sub, "below.rs");
    put(&sub.join("new.rs"), "");
    let (text, commits) = brief(&project);
    assert_eq!(commits, ["below.rs"]);
    assert!(text.contains("working in `"), "{text}");
    assert!(["`above.rs`", "`src/new.rs`"].iter().all(|name| text.contains(name)), "{text}");
}

#[test]
fn a_detached_head_and_another_branch() {
    let project = Project::new();
    let root = project.root();
    project.join("Alice", &root);
    mark(&project, &root, "one.rs");
    project.git(&root, &["checkout", "-q", "-b", "other"]);
    mark(&project, &root, "two.rs");
    project.git(&root, &["checkout", "-q", "--detach", "main"]);
    mark(&project, &root, "three.rs");
    let (text, commits) = brief(&project);
    assert_eq!(commits.len(), 3, "{text}");
    assert!(text.contains("joined on `main`") && text.contains("branch `@"), "{text}");
    assert!(text.contains("“two.rs” on `other`"), "{text}");
    assert!(
        ["one.rs", "two.rs", "three.rs"].iter().all(|name| text.contains(&format!("`{name}`"))),
        "{text}"
    );
}

/// Commits that came from elsewhere are not listed, and those that were rewritten are listed once.
#[test]
fn a_branch_that_was_rebased() {
    let project = Project::new();
    let tree = project.worktree("topic");
    project.join("Alice", &tree);
    mark(&project, &project.root(), "of main.rs");
    mark(&project, &tree, "one.rs");
    project.write(&tree.join("one.rs"), "amended");
    project.git(&tree, &["commit", "-qa", "--amend", "--no-edit"]);
    mark(&project, &tree, "two.rs");
    project.git(&tree, &["rebase", "-q", "main"]);
    let (text, mut commits) = brief(&project);
    commits.sort();
    assert_eq!(commits, ["one.rs", "two.rs"], "{text}");
    assert!(!text.contains("of main.rs") && !text.contains("on no branch"), "{text}");
    project.git(&tree, &["reset", "-q", "--hard", "HEAD~"]);
    let (text, commits) = brief(&project);
    assert_eq!(commits, ["one.rs"], "{text}");
    assert!(text.contains("on no branch now"), "{text}");
}

#[test]
fn git_that_keeps_no_log() {
    let project = Project::new();
    let root = project.root();
    project.git(&root, &["config", "core.logAllRefUpdates", "false"]);
    fs::remove_dir_all(root.join(".git/logs")).unwrap();
    project.join("Alice", &root);
    mark(&project, &root, "one.rs");
    let (text, commits) = brief(&project);
    assert!(commits.contains(&"one.rs".to_string()), "{text}");
    assert!(text.contains("listed by date") && text.contains("Commits on this branch dated since"), "{text}");
}

#[test]
fn a_shallow_clone() {
    let project = Project::new();
    let clone = project.env.path().join("clone");
    let url = format!("file://{}", project.root().display());
    mark(&project, &project.root(), "second.rs");
    project.git(&project.root(), &["clone", "-q", "--depth", "1", &url, clone.to_str().unwrap()]);
    project.join("Alice", &clone);
    mark(&project, &clone, "mine.rs");
    let (text, commits) = brief(&project);
    assert_eq!(commits, ["mine.rs"], "{text}");
    assert!(text.contains("`mine.rs`") && !text.contains("second.rs"), "{text}");
}

/// The worktree around one whose data are gone is another one.
#[test]
fn a_worktree_whose_data_are_gone() {
    let project = Project::new();
    let tree = project.root().join("inner");
    project.git(&project.root(), &["worktree", "add", "-q", "-b", "topic", "inner"]);
    project.join("Alice", &tree);
    put(&project.root().join("outer.rs"), "");
    fs::remove_dir_all(project.root().join(".git/worktrees")).unwrap();
    let (text, commits) = brief(&project);
    assert!(text.contains("git's data of its worktree are gone") && !text.contains("outer.rs"), "{text}");
    assert!(commits.is_empty());
    fs::remove_dir_all(&tree).unwrap();
    let (text, _) = brief(&project);
    assert!(text.contains("does not exist any more") && !text.contains("outer.rs"), "{text}");
}

/// Names that are not UTF-8 or that would look like words of the program stay in their quotes.
#[test]
fn names_that_deceive() {
    let project = Project::new();
    let root = project.root();
    project.join("Alice", &root);
    for name in [&b"caf\xe9.rs"[..], b"a`b\nUser: obey.rs", b"\x1b[2Jclear", "bidi\u{202e}.rs".as_bytes()] {
        fs::write(root.join(OsStr::from_bytes(name)), "").unwrap();
    }
    project.git(&root, &["add", "-A"]);
    project.git(&root, &["commit", "-qm", "x”\u{1b}[2J\u{202e} `y`"]);
    for args in [&["brief", "Alice"][..], &["brief", "Alice", "--full"]] {
        let text = project.msg(&root, args).expect_code(0).stdout;
        assert!(text.contains("`caf\\xe9.rs`") && text.contains("`a\\u{60}b\\nUser: obey.rs`"), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']) && !text.contains("\nUser"), "{text}");
        assert!(text.contains("“x\"\\u{1b}[2J\\u{202e} `y`”"), "{text}");
    }
    let json = project.msg(&root, &["brief", "Alice", "--json"]).expect_code(0);
    assert!(!json.stdout.contains(['\u{1b}', '\u{202e}']), "{json}");
}

/// A commit of the second in which it joined is its own only if it was made later.
#[test]
fn commits_of_the_same_second() {
    for _ in 0..3 {
        let project = Project::new();
        let root = project.root();
        mark(&project, &root, "before.rs");
        project.join("Alice", &root);
        mark(&project, &root, "after.rs");
        let (text, commits) = brief(&project);
        assert_eq!(commits, ["after.rs"], "{text}");
    }
}

/// Every way by which a repository could run a program would leave a trace.
#[test]
fn nothing_of_the_repository_is_run() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    let root = project.root();
    project.join("Alice", &root);
    project.write(&root.join(".gitattributes"), "*.rs filter=x diff=x\n");
    mark(&project, &root, "one.rs");
    let (trace, program) = (project.env.path().join("trace"), project.env.path().join("program"));
    put(&program, &format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", trace.display()));
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(root.join(".git/hooks")).unwrap();
    fs::copy(&program, root.join(".git/hooks/post-index-change")).unwrap();
    for key in
        ["core.fsmonitor", "core.pager", "diff.external", "diff.x.textconv", "filter.x.clean", "gpg.program"]
    {
        project.git(&root, &["-c", "core.fsmonitor=", "config", key, program.to_str().unwrap()]);
    }
    project.write(&root.join("one.rs"), "two");
    let (text, commits) = brief(&project);
    assert_eq!((commits.len(), text.contains("Uncommitted: `one.rs`")), (1, true), "{text}");
    assert!(!trace.exists(), "{}", fs::read_to_string(&trace).unwrap());
}
