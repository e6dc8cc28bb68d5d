//! Tests of awareness where a repository or the clock is not what one expects.

use std::io::Write as _;
use std::process::{Command, Stdio};

use ravenry::sys::test_switches::{BACKGROUND, NOW};
use serde_json::json;

use super::counting::errors;
use super::{counts, git, join, prompt, prompt_at, repository};
use crate::support::environment::{TestEnvironment, end};
use crate::support::hook_call::{Call, session_of};

/// Lets git import that.
fn import(env: &TestEnvironment, stream: &[u8]) {
    git(&env.work(), &["init", "-q", "-b", "main"]);
    let mut command = Command::new("git");
    command.arg("-C").arg(env.work()).args(["fast-import", "--quiet"]).stdin(Stdio::piped());
    let mut import = command.spawn().unwrap();
    import.stdin.take().unwrap().write_all(stream).unwrap();
    assert!(import.wait().unwrap().success());
}

/// A commit for git to import. Paths are quoted as git quotes them.
fn commit(number: usize, subject: &str, content: &str, files: impl Iterator<Item = String>) -> String {
    let who = format!("Jo <jo@example.org> {} +0000", 1_700_000_000 + 600 * number);
    let changes: String =
        files.map(|file| format!("M 100644 inline {file}\ndata {}\n{content}\n", content.len())).collect();
    let length = subject.len();
    format!("commit refs/heads/main\nauthor {who}\ncommitter {who}\ndata {length}\n{subject}\n{changes}\n")
}

fn edit_at(env: &TestEnvironment, name: &str, file: &str, now: &str) {
    let call = Call::new(env, "claude/PostToolUse-Edit", &session_of(name))
        .with("/tool_input/file_path", json!(env.work().join(file)));
    end(call.command(env).env(NOW, now).env(BACKGROUND, "wait")).expect_code(0);
}

/// Robin is in that file, about which Alice is asked.
fn is_told(env: &TestEnvironment, file: &str) -> String {
    join(env, "Alice");
    join(env, "Robin");
    assert!(counts(env).is_some(), "nothing is counted");
    prompt(env, "Robin", "look after the login");
    edit_at(env, "Robin", file, "2026-11-15T12:00:00Z");
    let told = prompt(env, "Alice", "the login forgets its users");
    assert_eq!(errors(env), [""; 0]);
    told
}

#[test]
fn a_repository_of_many_files() {
    let env = TestEnvironment::new();
    let every = (0..20_000).map(|number| format!("src/part{}/file{number}.rs", number / 100));
    let mut stream = commit(0, "everything", "x", every);
    for number in 1..9 {
        let content = number.to_string();
        stream +=
            &commit(number, "keep the login alive", &content, ["src/auth/login.rs".to_string()].into_iter());
    }
    import(&env, stream.as_bytes());
    assert!(is_told(&env, "src/auth/login.rs").contains("`src/auth/login.rs`; prompts about `login`"));
}

#[test]
fn a_shallow_clone_says_what_it_has() {
    let origin = repository();
    let env = TestEnvironment::new();
    let url = format!("file://{}", origin.work().display());
    // Of the last 5 commits one is about the login.
    git(env.path(), &["clone", "-q", "--depth", "5", &url, "work"]);
    assert!(env.work().join(".git/shallow").exists());
    assert_eq!(is_told(&env, "src/auth/login.rs"), "", "one commit is not a habit");
}

#[test]
fn names_that_are_not_utf8_are_counted() {
    let env = TestEnvironment::new();
    let mut stream = String::new();
    for number in 0..9 {
        let files = ["\"src/\\377\\nlogin.rs\"", "src/auth/login.rs"].map(str::to_string);
        stream += &commit(number, "keep the login alive", &number.to_string(), files.into_iter());
    }
    import(&env, stream.as_bytes());
    assert!(is_told(&env, "src/auth/login.rs").contains("`src/auth/login.rs`"));
    let counted = std::fs::read(counts(&env).unwrap()).unwrap();
    let name = b"src/\xff\nlogin.rs";
    assert!(counted.windows(name.len()).any(|bytes| bytes == name), "it is counted by its bytes");
}

#[test]
fn a_clock_that_jumps_forward() {
    let env = repository();
    join(&env, "Alice");
    join(&env, "Robin");
    edit_at(&env, "Robin", "src/auth/login.rs", "2026-11-15T12:00:00Z");
    let ask = |now| prompt_at(&env, "Alice", "the login forgets its users", now);
    assert_eq!(ask("2031-01-01T00:00:00Z"), "", "Robin was there years ago");
    assert_ne!(ask("2026-11-15T12:01:00Z"), "", "the clock was set back");
    assert_eq!(ask("2026-11-15T12:02:00Z"), "");
}

#[test]
fn a_clock_that_was_ahead() {
    let env = repository();
    join(&env, "Alice");
    join(&env, "Robin");
    let ask = |now| prompt_at(&env, "Alice", "the login forgets its users", now);
    edit_at(&env, "Robin", "src/auth/login.rs", "2031-01-01T00:00:00Z");
    assert_ne!(ask("2031-01-01T00:01:00Z"), "");
    assert_eq!(ask("2026-11-15T12:00:00Z"), "", "nobody knows when Robin was there");
    edit_at(&env, "Robin", "src/auth/login.rs", "2026-11-15T12:01:00Z");
    assert_ne!(ask("2026-11-15T12:02:00Z"), "", "what was told in 2031 is not told yet");
    assert_eq!(ask("2026-11-15T12:03:00Z"), "");
    assert_eq!(errors(&env), [""; 0]);
}
