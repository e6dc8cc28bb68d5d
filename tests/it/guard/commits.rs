//! Tests of what a commit changes, whatever it does to a path and however it is made.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use ravenry::sys::test_switches;

use super::fixture::{Repo, bare_of_commits, guarded, repo};

/// A change of the work tree, and Alice's path that blocks its commit; `None` if nothing does.
type Case = (&'static str, fn(&Repo), Option<&'static str>);

const CASES: [Case; 19] = [
    ("an addition", |repo| repo.write("src/new.rs", ""), Some("src/new.rs")),
    ("an addition elsewhere", |repo| repo.write("docs/new.md", ""), None),
    ("an edit", |repo| repo.write("src/a.rs", "two\n"), Some("src/a.rs")),
    ("an edit deep down", |repo| repo.write("src/deep/b.rs", "two\n"), Some("src/deep/b.rs")),
    ("an edit elsewhere", |repo| repo.write("d.txt", "two\n"), None),
    ("a glob", |repo| repo.write("any.lock", ""), Some("any.lock")),
    ("what the glob does not mean", |repo| repo.write("docs/any.lock", ""), None),
    ("a deletion", |repo| drop(repo.git(&["rm", "-q", "src/a.rs"])), Some("src/a.rs")),
    ("a deletion elsewhere", |repo| drop(repo.git(&["rm", "-q", "d.txt"])), None),
    ("a rename out of it", |repo| drop(repo.git(&["mv", "src/a.rs", "a.rs"])), Some("src/a.rs")),
    ("a rename into it", |repo| drop(repo.git(&["mv", "d.txt", "src/d.txt"])), Some("src/d.txt")),
    ("a rename elsewhere", |repo| drop(repo.git(&["mv", "d.txt", "e.txt"])), None),
    ("a copy out of it", |repo| repo.write("copy.rs", "one\n"), None),
    ("a copy into it", |repo| repo.write("src/copy.md", "one\n"), Some("src/copy.md")),
    ("a mode", |repo| super::fixture::set_mode(&repo.root().join("src/a.rs"), 0o755), Some("src/a.rs")),
    ("a file that becomes a link", |repo| become_link(repo, "src/a.rs"), Some("src/a.rs")),
    ("a link that leads into it", |repo| symlink("src/a.rs", repo.root().join("link")).unwrap(), None),
    ("a file that becomes a directory", become_directory, Some("src/a.rs")),
    ("several", several, Some("src/new.rs")),
];

fn become_link(repo: &Repo, file: &str) {
    let path = repo.root().join(file);
    fs::remove_file(&path).unwrap();
    symlink("../d.txt", path).unwrap();
}

fn become_directory(repo: &Repo) {
    fs::remove_file(repo.root().join("src/a.rs")).unwrap();
    repo.write("src/a.rs/x", "");
}

fn several(repo: &Repo) {
    repo.write("d.txt", "two\n");
    repo.write("src/a.rs", "two\n");
    repo.write("src/new.rs", "");
}

#[test]
fn whatever_is_done_to_a_path() {
    for (what, change, held) in CASES {
        let repo = guarded();
        change(&repo);
        repo.git(&["add", "-A"]).expect_code(0);
        match held {
            Some(path) => {
                let ended = repo.refused(&["commit", "-qm", what], path);
                let reason = "Alice holds `src/` (";
                let said = ended.stderr.contains(reason) || ended.stderr.contains("`*.lock`");
                assert!(said && ended.stderr.contains("“new login”"), "{what}: {ended}");
                for way in ["msg send Alice", "git commit --no-verify"] {
                    assert!(ended.stderr.contains(way), "{what}: {ended}");
                }
                repo.committed(&["commit", "--no-verify", "-qm", what]);
            }
            None => repo.committed(&["commit", "-qm", what]),
        }
    }
}

#[test]
fn the_first_commit() {
    for format in ["sha1", "sha256"] {
        let repo = bare_of_commits();
        fs::remove_dir_all(repo.root().join(".git")).unwrap();
        repo.git(&["init", "-q", "-b", "main", "--object-format", format]).expect_code(0);
        repo.env.ok(&["guard", "install"]);
        repo.write("src/a.rs", "");
        repo.write("d.txt", "");
        repo.git(&["add", "."]).expect_code(0);
        let ended = repo.git(&["commit", "-qm", "one"]).expect_code(1);
        assert!(ended.stderr.contains("one of 2 files") && ended.stderr.contains("src/a.rs"), "{ended}");
        repo.git(&["reset", "-q", "src"]).expect_code(0);
        repo.committed(&["commit", "-qm", "one"]);
    }
}

/// Each way uses its own index, which git passes to the hook in a variable.
#[test]
fn every_way_to_commit() {
    let repo = guarded();
    repo.write("src/a.rs", "two\n");
    repo.write("d.txt", "two\n");
    repo.refused(&["commit", "-qam", "all"], "src/a.rs");
    repo.refused(&["commit", "-qm", "only", "src/a.rs"], "src/a.rs");
    repo.refused(&["commit", "-qm", "only", "--only", "src/a.rs", "d.txt"], "src/a.rs");
    repo.refused(&["commit", "-qm", "too", "--include", "src/a.rs"], "src/a.rs");
    repo.committed(&["commit", "-qm", "only", "d.txt"]);
    repo.git(&["add", "src/a.rs"]).expect_code(0);
    repo.write("d.txt", "three\n");
    repo.committed(&["commit", "-qm", "only, though more is staged", "--only", "d.txt"]);
    assert_eq!(repo.checked(), [("src/a.rs".to_string(), Some("Alice".to_string()))]);
    repo.refused(&["commit", "-qm", "staged"], "src/a.rs");
    let deep = repo.root().join("docs");
    repo.refused_in(&deep, &["commit", "-qm", "from elsewhere"], "src/a.rs");
    repo.refused_in(&repo.root().join("src"), &["commit", "-qm", "from there", "."], "src/a.rs");
    let root = repo.root();
    let root = root.to_str().unwrap();
    repo.refused_in(&repo.env.home(), &["-C", root, "commit", "-qm", "from far away"], "src/a.rs");
    let (dir, tree) = (format!("--git-dir={root}/.git"), format!("--work-tree={root}"));
    repo.refused_in(&repo.env.home(), &[&dir, &tree, "commit", "-qm", "as it is told"], "src/a.rs");
}

#[test]
fn what_is_amended_is_what_is_new() {
    let repo = guarded();
    repo.write("src/a.rs", "two\n");
    repo.git(&["commit", "--no-verify", "-qam", "by a person"]).expect_code(0);
    repo.committed(&["commit", "--amend", "-qm", "only its words"]);
    repo.write("d.txt", "two\n");
    repo.committed(&["commit", "--amend", "-qam", "and more"]);
    repo.write("src/a.rs", "one\n");
    repo.refused(&["commit", "--amend", "-qam", "back"], "src/a.rs");
    repo.git(&["reset", "-q", "--hard"]).expect_code(0);
    repo.committed(&["commit", "--allow-empty", "-qm", "nothing"]);
}

#[test]
fn odd_names() {
    let names: [&[u8]; 12] = [
        b"a b",
        b"new\nline",
        b"tab\t",
        b"-dash",
        b"--",
        b"\xff\xfe",
        "ü".as_bytes(),
        "u\u{308}".as_bytes(),
        b"[id].tsx",
        b"*",
        b"quote\"'`$(x)",
        b":colon",
    ];
    for name in names {
        let repo = guarded();
        let file = repo.root().join("odd").join(OsStr::from_bytes(name));
        fs::create_dir(file.parent().unwrap()).unwrap();
        fs::write(&file, "").unwrap();
        repo.git(&["add", "odd"]).expect_code(0);
        repo.refused(&["commit", "-qm", "odd"], "odd/");
        assert_eq!(
            repo.checked(),
            [(format!("odd/{}", String::from_utf8_lossy(name)), Some("Alice".into()))]
        );
    }
}

/// The name is reserved literally, not as a glob.
#[test]
fn an_odd_name_that_is_reserved() {
    let repo = guarded();
    repo.write("[id] 'x'.tsx", "");
    repo.env.ok(&["reserve", "[id] 'x'.tsx", "--as", "Alice"]);
    repo.write("i 'x'.tsx", "");
    repo.git(&["add", "."]).expect_code(0);
    let held = repo.checked();
    assert_eq!(held[0], ("[id] 'x'.tsx".to_string(), Some("Alice".to_string())));
    assert_eq!(held[1], ("i 'x'.tsx".to_string(), None));
}

#[test]
fn what_is_only_intended_is_not_committed() {
    let repo = guarded();
    repo.write("src/new.rs", "");
    repo.git(&["add", "-N", "src/new.rs"]).expect_code(0);
    repo.write("d.txt", "two\n");
    repo.git(&["add", "d.txt"]).expect_code(0);
    repo.committed(&["commit", "-qm", "d"]);
}

/// Settings that change git's output but not the commit.
#[test]
fn whatever_is_configured() {
    let settings = [
        ("diff.renames", "copies"),
        ("diff.relative", "true"),
        ("diff.noprefix", "true"),
        ("diff.external", "false"),
        ("diff.orderFile", "/no/such/file"),
        ("core.quotePath", "true"),
        ("color.ui", "always"),
        ("core.pager", "false"),
        ("status.short", "true"),
        ("core.abbrev", "4"),
    ];
    let repo = guarded();
    for (key, value) in settings {
        repo.git(&["config", key, value]).expect_code(0);
    }
    repo.git(&["mv", "src/a.rs", "docs/ä.rs"]).expect_code(0);
    repo.write("docs/c.md", "two\n");
    repo.git(&["add", "."]).expect_code(0);
    let docs = repo.root().join("docs");
    repo.refused_in(&docs, &["commit", "-qm", "moved"], "src/a.rs");
    let ended = crate::support::environment::end(
        repo.env.msg().current_dir(&docs).args(["guard", "check", "--json"]),
    );
    let paths: Vec<String> = ended.json()["paths"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["path"].as_str().unwrap().to_string())
        .collect();
    assert_eq!(paths, ["docs/c.md", "docs/ä.rs", "src/a.rs"]);
}

#[test]
fn a_repository_within_is_all_that_is_in_it() {
    for pattern in ["vendor/x", "vendor/x/src/", "vendor/**/*.rs"] {
        let repo = guarded();
        submodule(&repo, "vendor/x");
        repo.committed(&["commit", "-qm", "a submodule"]);
        repo.env.ok(&["reserve", pattern, "--as", "Alice"]);
        let inner = repo.root().join("vendor/x");
        repo.git_in(&inner, &["commit", "--allow-empty", "-qm", "more"]).expect_code(0);
        // A change that git does not show can still be committed.
        repo.git(&["config", "submodule.vendor/x.ignore", "all"]).expect_code(0);
        repo.git(&["config", "diff.ignoreSubmodules", "all"]).expect_code(0);
        repo.git(&["add", "-f", "vendor/x"]).expect_code(0);
        repo.refused(&["commit", "-qm", pattern], "vendor/x");
    }
}

/// A submodule is a repository of its own, with hooks of its own.
#[test]
fn within_a_submodule() {
    let repo = guarded();
    submodule(&repo, "lib");
    repo.refused(&["commit", "-qm", "a submodule"], "lib");
    repo.git(&["commit", "--no-verify", "-qm", "a submodule"]).expect_code(0);
    let inner = repo.root().join("lib");
    let install = repo.env.msg().current_dir(&inner).args(["guard", "install"]).output().unwrap();
    assert!(install.status.success());
    assert!(repo.root().join(".git/modules/lib/hooks/pre-commit").is_file());
    crate::support::environment::put(&inner.join("x"), "two\n");
    let ended = repo.git_in(&inner, &["commit", "-qam", "x"]).expect_code(1);
    assert!(ended.stderr.contains("Alice holds `lib/` ("), "{ended}");
}

fn submodule(repo: &Repo, place: &str) {
    let origin = repo.env.path().join("origin");
    fs::create_dir(&origin).unwrap();
    repo.git_in(&origin, &["init", "-q", "-b", "main"]).expect_code(0);
    crate::support::environment::put(&origin.join("x"), "one\n");
    repo.git_in(&origin, &["add", "."]).expect_code(0);
    repo.git_in(&origin, &["commit", "-qm", "one"]).expect_code(0);
    let origin = origin.to_str().unwrap();
    let add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", origin, place];
    repo.git(&add).expect_code(0);
}

#[test]
fn in_a_linked_work_tree() {
    let repo = guarded();
    let linked = repo.env.path().join("linked");
    repo.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "-b", "topic"]).expect_code(0);
    crate::support::environment::put(&linked.join("src/a.rs"), "two\n");
    // Alice's reservation is in the main work tree.
    repo.committed_in(&linked, &["commit", "-qam", "here it is free"]);
    let reserve =
        repo.env.msg().current_dir(&linked).args(["reserve", "docs/", "--as", "Alice"]).output().unwrap();
    assert!(reserve.status.success());
    crate::support::environment::put(&linked.join("docs/c.md"), "two\n");
    repo.refused_in(&linked.join("docs"), &["commit", "-qam", "docs"], "docs/c.md");
    repo.write("docs/c.md", "three\n");
    repo.committed(&["commit", "-qam", "docs in the main one"]);
}

/// The work tree can be reached through links.
#[test]
fn through_a_link() {
    let repo = guarded();
    let link = repo.env.path().join("way");
    symlink(repo.root(), &link).unwrap();
    repo.write("src/a.rs", "two\n");
    repo.refused_in(&link.join("docs"), &["commit", "-qam", "x"], "src/a.rs");
}

#[test]
fn nobody_has_joined_yet() {
    let repo = guarded();
    fs::remove_dir_all(repo.env.mesh()).unwrap();
    repo.write("src/a.rs", "two\n");
    repo.committed(&["commit", "-qam", "x"]);
    assert!(!repo.env.mesh().exists(), "looking makes no mesh");
}

/// Reservations that do not count: of dead agents, expired ones, and the caller's own.
#[test]
fn who_counts() {
    let repo = guarded();
    repo.write("src/a.rs", "two\n");
    repo.git(&["add", "."]).expect_code(0);
    let mut own = repo.git_command(&repo.root());
    own.args(["commit", "-qm", "one's own"]).env("MSG_AGENT", "Alice");
    crate::support::environment::end(&mut own).expect_code(0);

    repo.write("src/a.rs", "three\n");
    repo.env.join("Bob");
    let mut other = repo.git_command(&repo.root());
    other.args(["commit", "-qam", "another's"]).env("MSG_AGENT", "Bob");
    crate::support::environment::end(&mut other).expect_code(1);
    // For an unknown caller all reservations count.
    let mut nobody = repo.git_command(&repo.root());
    nobody.args(["commit", "-qam", "nobody's"]).env("MSG_AGENT", "Nobody");
    crate::support::environment::end(&mut nobody).expect_code(1);

    repo.env.ok(&["reserve", "docs/", "--ttl", "1h", "--as", "Alice"]);
    repo.write("docs/c.md", "two\n");
    repo.refused(&["commit", "-qm", "docs", "docs"], "docs/c.md");
    let mut later = repo.git_command(&repo.root());
    later.args(["commit", "-qm", "docs", "docs"]).env(test_switches::NOW, "2099-01-01T00:00:00.000Z");
    crate::support::environment::end(&mut later).expect_code(0);

    repo.refused(&["commit", "-qam", "while she lives"], "src/a.rs");
    repo.env.kill(repo.alice);
    repo.committed(&["commit", "-qam", "when she is gone"]);
}

/// The committing agent is found by its ancestor process, as in every command.
#[test]
fn an_agent_commits_its_own_from_its_shell() {
    let repo = repo();
    repo.env.ok(&["guard", "install"]);
    repo.env.ok(&["release", "--as", "Alice"]);
    let script = "\
        msg join Bob --pid $$ --session bobs >/dev/null && msg reserve src/ --as Bob >/dev/null && \
        echo two > src/a.rs && git commit -qam mine && echo three > d.txt && exec git commit -qam free";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script]).env_clear();
    for (name, value) in repo.git_command(&repo.root()).get_envs() {
        shell.env(name, value.unwrap());
    }
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_msg")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    crate::support::environment::end(shell.env("PATH", path).current_dir(repo.root())).expect_code(0);
}

#[test]
fn a_check_writes_nothing() {
    let repo = guarded();
    repo.write("src/a.rs", "two\n");
    repo.git(&["add", "."]).expect_code(0);
    let before = (super::fixture::everything(&repo.env.mesh()), super::fixture::everything(&repo.root()));
    assert_eq!(repo.checked().len(), 1);
    let after = (super::fixture::everything(&repo.env.mesh()), super::fixture::everything(&repo.root()));
    assert_eq!(before, after);
}
