//! With the real git, in repositories that are odd or hostile.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::*;
use crate::sys::files;
use crate::sys::git::WorkTree;

struct Repo {
    dir: tempfile::TempDir,
}

impl Repo {
    fn new() -> Self {
        let repo = Self { dir: tempfile::tempdir().unwrap() };
        repo.git(&["init", "-q", "-b", "main"]);
        repo
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn git(&self, args: &[&str]) {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.path()).args(["-c", "user.name=J", "-c", "user.email=j@x"]).args(args);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    #[expect(clippy::disallowed_methods, reason = "makes a repository, not a mesh")]
    fn write(&self, name: impl AsRef<Path>, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[expect(clippy::disallowed_methods, reason = "makes a repository, not a mesh")]
    fn write_program(&self, name: impl AsRef<Path>, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        self.write(&name, text);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.path().join(name), mode).unwrap();
    }

    fn commit(&self, subject: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", subject]);
    }

    fn reader(&self) -> ReadOnlyGit {
        ReadOnlyGit::at(&WorkTree::containing(self.path()).unwrap(), Duration::from_secs(30)).unwrap()
    }
}

fn made(log: &GitList<HeadLogEntry>) -> usize {
    log.items.iter().filter(|entry| entry.has_made_commit).count()
}

#[test]
fn files_that_are_not_committed() {
    let repo = Repo::new();
    for name in ["kept", "changed", "removed", "a -> b\nc"] {
        repo.write(name, "one");
    }
    repo.commit("one");
    repo.write("changed", "two");
    repo.write("a -> b\nc", "two");
    repo.git(&["rm", "-q", "removed"]);
    repo.write("deep/er/new", "");
    repo.write(OsStr::from_bytes(b"n\xff\n"), "");
    repo.write("staged", "");
    repo.git(&["add", "staged"]);
    let mut found: Vec<(String, UncommittedChange)> = repo
        .reader()
        .uncommitted()
        .unwrap()
        .items
        .into_iter()
        .map(|file| (file.path.as_bytes().escape_ascii().to_string(), file.change))
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [
        (r"a -> b\nc", UncommittedChange::Modified),
        ("changed", UncommittedChange::Modified),
        ("deep/er/new", UncommittedChange::Untracked),
        (r"n\xff\n", UncommittedChange::Untracked),
        ("removed", UncommittedChange::Deleted),
        ("staged", UncommittedChange::Added),
    ];
    assert_eq!(found, expected.map(|(path, change)| (path.to_string(), change)));
}

#[test]
fn commits_with_their_files() {
    let repo = Repo::new();
    assert!(!repo.reader().has_commits().unwrap());
    repo.write("a", "one");
    repo.write(OsStr::from_bytes(b"n\xff\nx"), "");
    repo.commit("first\n\nbody");
    repo.git(&["checkout", "-q", "-b", "topic"]);
    repo.write("b", "");
    repo.commit("second");
    repo.git(&["checkout", "-q", "main"]);
    let reader = repo.reader();
    let head: Vec<(String, Vec<Vec<u8>>)> = reader
        .commits(CommitChoice::Since(Timestamp::UNIX_EPOCH))
        .unwrap()
        .items
        .into_iter()
        .map(|commit| (commit.subject, commit.files.iter().map(|file| file.as_bytes().to_vec()).collect()))
        .collect();
    assert_eq!(head, [("first".to_string(), vec![b"a".to_vec(), b"n\xff\nx".to_vec()])]);
    let others = reader.on_other_branches().unwrap();
    assert_eq!(others.len(), 1);
    assert_eq!(others[0].1, "topic");
    let log = reader.head_log().unwrap();
    assert_eq!((log.items.len(), made(&log)), (4, 2));
    let ids: Vec<String> = log.items.iter().map(|entry| entry.id.clone()).collect();
    assert_eq!(reader.not_on_head(&ids).unwrap(), [others[0].0.clone()]);
    let asked = [others[0].0.clone(), "0".repeat(40), "--all".to_string()];
    assert_eq!(reader.existing(&asked).unwrap(), [others[0].0.clone()]);
    assert!(reader.existing(&asked[1..]).unwrap().is_empty());
    let chosen = reader.commits(CommitChoice::Ids(&[others[0].0.clone(), "0".repeat(40)])).unwrap();
    assert_eq!(chosen.items.iter().map(|commit| commit.subject.as_str()).collect::<Vec<_>>(), ["second"]);
    assert!(reader.written_at(&others[0].0).is_some());
}

#[test]
fn what_makes_a_commit() {
    for what in [
        "commit: x",
        "commit (initial): x",
        "commit (amend): x",
        "commit (merge): Merge branch 'a'",
        "cherry-pick: x",
        "revert: x",
        "am: x",
        "rebase (pick): x",
        "rebase -i (squash): x",
        "rebase: x",
        "pull --rebase origin main (pick): x",
        "merge topic: Merge made by the 'ort' strategy.",
        "pull: Merge made by the 'ort' strategy.",
    ] {
        assert!(makes_commit(what), "{what}");
    }
    for what in [
        "",
        "checkout: moving from a to b",
        "reset: moving to HEAD~",
        "clone: from x",
        "merge topic: Fast-forward",
        "pull: Fast-forward",
        "rebase (start): checkout main",
        "rebase (finish): returning to refs/heads/a",
        "rebase: checkout main",
        "pull --rebase origin main (start): checkout abc",
        "commitment: none",
    ] {
        assert!(!makes_commit(what), "{what}");
    }
}

/// Every way by which a repository could run a program writes to a file; it stays empty.
#[test]
fn nothing_of_the_repository_is_run_or_changed() {
    let repo = Repo::new();
    let outside = tempfile::tempdir().unwrap();
    let trace = outside.path().join("ran");
    let program = outside.path().join("program");
    let script = format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", trace.display());
    repo.write_program(&program, &script);
    let program = program.to_str().unwrap();
    repo.write("a.txt", "one\n");
    repo.write(".gitattributes", "*.txt filter=x diff=x\n");
    repo.commit("one");
    for hook in ["post-index-change", "reference-transaction", "fsmonitor-watchman"] {
        repo.write_program(format!(".git/hooks/{hook}"), &script);
    }
    for key in [
        "core.fsmonitor",
        "core.pager",
        "pager.log",
        "pager.status",
        "diff.external",
        "diff.x.textconv",
        "diff.x.command",
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "filter.a=b.clean",
        "gpg.program",
        "core.sshCommand",
    ] {
        repo.git(&["-c", "core.fsmonitor=", "config", key, program]);
    }
    for (key, value) in
        [("log.showSignature", "true"), ("filter.x.required", "true"), ("diff.relative", "true")]
    {
        repo.git(&["-c", "core.fsmonitor=", "config", key, value]);
    }
    repo.write("a.txt", "two\n");
    let index = std::fs::metadata(repo.path().join(".git/index")).unwrap().modified().unwrap();
    let reader = repo.reader();
    assert_eq!(reader.uncommitted().unwrap().items.len(), 1);
    assert_eq!(reader.commits(CommitChoice::Since(Timestamp::UNIX_EPOCH)).unwrap().items.len(), 1);
    assert_eq!(made(&reader.head_log().unwrap()), 1);
    let ran = files::read(&trace).unwrap().unwrap_or_default();
    assert_eq!(String::from_utf8_lossy(&ran), "");
    assert_eq!(std::fs::metadata(repo.path().join(".git/index")).unwrap().modified().unwrap(), index);
}

#[test]
fn a_command_that_does_not_end_is_killed() {
    let repo = Repo::new();
    repo.write("a", "");
    let path = repo.path().join(".gitignore");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let tree = WorkTree::containing(repo.path()).unwrap();
    let reader = ReadOnlyGit::at(&tree, Duration::from_secs(2)).unwrap();
    match reader.uncommitted() {
        Err(GitError::TooSlow { .. }) => {}
        // Versions of git that don't wait for a pipe.
        other => assert!(other.is_ok(), "{other:?}"),
    }
}
