//! Tests of where git looks for the hook, and who else would get it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use insta::assert_snapshot;

use super::fixture::{Repo, awk, everything, guarded, put_program, repo, set_mode};
use crate::support::environment::{Ended, TestEnvironment, end};

/// Runs `msg guard` in that directory.
fn guard_in(repo: &Repo, dir: &Path, args: &[&str]) -> Ended {
    end(repo.env.msg().current_dir(dir).arg("guard").args(args).arg("--json"))
}

/// A commit of Alice's path is refused.
#[track_caller]
fn assert_guarded(repo: &Repo) {
    repo.write("src/a.rs", "changed\n");
    repo.refused(&["commit", "-qm", "x", "src/a.rs"], "src/a.rs");
}

#[test]
fn from_anywhere_in_the_work_tree() {
    for dir in ["", "src/deep"] {
        let repo = repo();
        let installed = guard_in(&repo, &repo.root().join(dir), &["install"]).expect_code(0).json();
        let hook = fs::canonicalize(repo.hook()).unwrap();
        assert_eq!(installed["hook"], hook.to_str().unwrap());
        assert_eq!(installed["changed"][0], installed["hook"]);
        assert_eq!(installed["chained"], false);
        assert_guarded(&repo);
        guard_in(&repo, &repo.root().join(dir), &["uninstall"]).expect_code(0);
        assert!(!repo.hook().exists());
    }
}

#[test]
fn work_trees_share_the_hook() {
    let repo = repo();
    let linked = repo.env.path().join("linked");
    repo.git(&["worktree", "add", "-q", linked.to_str().unwrap()]).expect_code(0);
    guard_in(&repo, &linked.join("src"), &["install"]).expect_code(0);
    assert!(repo.hook().is_file());
    assert_guarded(&repo);
    assert_eq!(guard_in(&repo, &repo.root(), &["install"]).json()["changed"].as_array().unwrap().len(), 0);
    guard_in(&repo, &linked, &["uninstall"]).expect_code(0);
    assert!(!repo.hook().exists());
}

#[test]
fn where_no_repository_is() {
    let env = TestEnvironment::new();
    for action in ["install", "uninstall", "check"] {
        assert_eq!(env.fails(2, &["guard", action]), "no_repository", "{action}");
    }
    let repo = repo();
    let bare = repo.env.path().join("bare.git");
    repo.git(&["init", "-q", "--bare", bare.to_str().unwrap()]).expect_code(0);
    let before = everything(&bare);
    for dir in [&bare, &repo.root().join(".git/hooks")] {
        for action in ["install", "uninstall", "check"] {
            let ended = guard_in(&repo, dir, &[action]).expect_code(2);
            assert_eq!(ended.kind(), "no_repository", "{ended}");
        }
    }
    assert_eq!(everything(&bare), before);
    let mut without = repo.env.msg();
    without.args(["guard", "install"]).env("PATH", "/nonexistent");
    assert_snapshot!(end(&mut without), @"
    [exit 4]
    --- stderr
    error: git can't be run: No such file or directory (os error 2)
    hint: is git installed, and on your PATH?
    ");
}

/// As husky does it: hooks in the work tree that git ignores.
#[test]
fn a_directory_that_is_ignored() {
    let repo = repo();
    repo.write(".husky/_/.gitignore", "*");
    repo.write(".husky/_/h", HUSKY);
    put_program(&repo.root().join(".husky/_/pre-commit"), "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"");
    repo.write(".husky/pre-commit", "echo users hook; test ! -e stop\n");
    repo.git(&["config", "core.hooksPath", ".husky/_"]).expect_code(0);
    let before = everything(&repo.root().join(".husky"));
    let ended = end(repo.env.msg().current_dir(repo.root().join("docs")).args(["guard", "install"]));
    assert_snapshot!(repo.env.redact(ended), @"
    The guard is in `.husky/_/pre-commit`: git refuses to commit what others have reserved. The hook that is there runs first.
    --- stderr
    note: husky wrote this hook and may overwrite it without the guard; if so, run `msg guard install` again
    ");
    assert!(!repo.hook().exists());
    repo.write("src/a.rs", "two\n");
    let ended = repo.refused(&["commit", "-qam", "x"], "src/a.rs");
    assert!(ended.stderr.contains("users hook"), "{ended}");
    repo.git(&["reset", "-q", "--hard"]).expect_code(0);
    repo.write("d.txt", "two\n");
    repo.write("stop", "");
    assert_snapshot!(repo.git(&["commit", "-qam", "x"]), @"
    [exit 1]
    --- stderr
    users hook
    husky - pre-commit script failed (code 1)
    ");
    fs::remove_file(repo.root().join("stop")).unwrap();
    repo.git(&["commit", "-qam", "x"]).expect_code(0);
    repo.env.ok(&["guard", "uninstall"]);
    assert_eq!(everything(&repo.root().join(".husky")), before);
}

/// The relevant part of husky 9: it uses its own name, and files next to it.
const HUSKY: &str = r#"#!/usr/bin/env sh
[ "$HUSKY" = "2" ] && set -x
n=$(basename "$0")
s=$(dirname "$(dirname "$0")")/$n
[ ! -f "$s" ] && exit 0
sh -e "$s" "$@"
c=$?
[ $c != 0 ] && echo "husky - $n script failed (code $c)"
exit $c
"#;

/// The directory is committed, or would be.
#[test]
fn a_directory_that_is_tracked() {
    let repo = repo();
    put_program(&repo.root().join(".githooks/pre-commit"), "#!/bin/sh\n");
    repo.git(&["config", "core.hooksPath", ".githooks"]).expect_code(0);
    for is_tracked in [false, true] {
        if is_tracked {
            repo.git(&["add", ".githooks"]).expect_code(0);
            repo.git(&["commit", "-qm", "hooks"]).expect_code(0);
            // Ignoring a tracked file has no effect.
            repo.write(".gitignore", ".githooks\n");
        }
        let before = everything(&repo.root().join(".githooks"));
        let ended = repo.env.run(&["guard", "install", "--json"]).expect_code(1);
        assert_eq!(ended.kind(), "shared_hooks");
        assert_eq!(repo.env.fails(1, &["guard", "install", "--dry-run"]), "shared_hooks");
        assert_eq!(everything(&repo.root().join(".githooks")), before);
        repo.env.ok(&["guard", "install", "--shared"]);
        // The guard is already installed, so `--shared` is not needed.
        repo.env.ok(&["guard", "install"]);
        assert_guarded(&repo);
        repo.git(&["checkout", "-q", "src"]).expect_code(0);
        repo.env.ok(&["guard", "uninstall"]);
        assert_eq!(everything(&repo.root().join(".githooks")), before);
    }
}

/// One directory for all repositories of the user, set in every possible way.
#[test]
fn a_directory_of_the_users() {
    for (how, value) in
        [("--global", "~/my hooks"), ("--local", "~/my hooks"), ("--local", "../home/my hooks")]
    {
        let repo = repo();
        repo.git(&["config", how, "core.hooksPath", value]).expect_code(0);
        let home = everything(&repo.env.home());
        let kind = repo.env.fails(1, &["guard", "install"]);
        assert_eq!(kind, "shared_hooks", "{how} {value}");
        assert_eq!(everything(&repo.env.home()), home, "{how} {value}");
        repo.env.ok(&["guard", "install", "--shared"]);
        assert!(repo.env.home().join("my hooks/pre-commit").is_file(), "{how} {value}");
        assert_guarded(&repo);
        repo.env.ok(&["guard", "uninstall"]);
        assert!(!repo.env.home().join("my hooks/pre-commit").exists());
    }
}

/// `.git/hooks` itself may be a link.
#[test]
fn a_directory_that_is_a_link() {
    let repo = repo();
    let hooks = repo.root().join(".git/hooks");
    fs::remove_dir_all(&hooks).unwrap();
    fs::create_dir(repo.env.path().join("shared")).unwrap();
    symlink("../../shared", &hooks).unwrap();
    assert_eq!(repo.env.fails(1, &["guard", "install"]), "shared_hooks");
    fs::remove_file(&hooks).unwrap();
    symlink("../docs", &hooks).unwrap();
    assert_eq!(repo.env.fails(1, &["guard", "install"]), "shared_hooks");
}

#[test]
fn a_directory_that_is_not_there() {
    let repo = repo();
    fs::remove_dir_all(repo.root().join(".git/hooks")).unwrap();
    assert_eq!(repo.env.ok(&["guard", "uninstall"])["changed"].as_array().unwrap().len(), 0);
    assert!(!repo.root().join(".git/hooks").exists());
    repo.env.ok(&["guard", "install"]);
    assert_guarded(&repo);
}

/// Everyone who may enter the hooks directory can run the kept hook.
#[test]
fn a_repository_of_several_users() {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    for shared in [0o2775, 0o750, 0o700] {
        let repo = repo();
        let hooks = repo.root().join(".git/hooks");
        repo.put_hook(&awk(""));
        set_mode(&repo.hook(), 0o750);
        set_mode(&hooks, shared);
        repo.env.ok(&["guard", "install"]);
        assert_eq!(mode(&hooks.join("pre-commit.ravenry")), shared);
        assert_eq!(mode(&hooks.join("pre-commit.ravenry/pre-commit")), 0o750);
        // A directory that `install` creates.
        fs::remove_dir_all(&hooks).unwrap();
        set_mode(&repo.root().join(".git"), shared);
        repo.env.ok(&["guard", "install"]);
        assert_eq!((mode(&hooks), mode(&repo.hook())), (shared, 0o755));
    }
    // Write permission for all is not copied to new directories.
    let repo = repo();
    let open = repo.env.path().join("open");
    fs::create_dir(&open).unwrap();
    set_mode(&open, 0o1777);
    repo.git(&["config", "core.hooksPath", open.join("a/b").to_str().unwrap()]).expect_code(0);
    repo.env.ok(&["guard", "install", "--shared"]);
    assert_eq!((mode(&open.join("a")), mode(&open.join("a/b"))), (0o775, 0o775));
}

#[test]
fn hooks_that_are_switched_off() {
    let repo = repo();
    repo.git(&["config", "core.hooksPath", "/dev/null"]).expect_code(0);
    for action in ["install", "uninstall"] {
        assert_eq!(repo.env.fails(1, &["guard", action]), "hook_in_the_way");
    }
    assert_snapshot!(repo.env.transcript(&[&["guard", "install"], &["guard", "uninstall"]]), @"
    $ msg guard install
    [exit 1]
    --- stderr
    error: git looks for hooks in `/dev/null`, which is not a directory
    hint: `git config --show-origin core.hooksPath` shows where that is set

    $ msg guard uninstall
    [exit 1]
    --- stderr
    error: git looks for hooks in `/dev/null`, which is not a directory
    hint: `git config --show-origin core.hooksPath` shows where that is set
    ");
}

/// Inside a hook, variables name the repository. `install` honours them.
#[test]
fn where_variables_say() {
    let repo = repo();
    let mut command = repo.env.msg();
    command.current_dir(repo.env.path()).args(["guard", "install"]);
    end(command.env("GIT_DIR", "work/.git").env("GIT_WORK_TREE", "work")).expect_code(0);
    assert_guarded(&repo);
}

#[test]
fn places_with_odd_names() {
    let repo = guarded();
    let clone = repo.env.path().join("it's $HOME\n`x` ü");
    repo.git(&["clone", "-q", ".", clone.to_str().unwrap()]).expect_code(0);
    guard_in(&repo, &clone, &["install"]).expect_code(0);
    let reserve =
        repo.env.msg().current_dir(&clone).args(["reserve", "docs/", "--as", "Alice"]).output().unwrap();
    assert!(!reserve.status.success() || clone.join(".git/hooks/pre-commit").is_file());
    crate::support::environment::put(&clone.join("d.txt"), "two\n");
    repo.committed_in(&clone, &["commit", "-qam", "x"]);
}
