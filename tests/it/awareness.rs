//! Tests of awareness: what hooks record, what is counted, and what a model is told before it collides.

mod commands;
mod counting;
mod domains;
mod endings;
mod heads_up;
mod mcp;
mod odd_repositories;
mod privacy;
mod replaying;
mod worktrees;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ravenry::domain::hook::HookAnswer;
use ravenry::sys::test_switches::{BACKGROUND, NOW};
use serde_json::json;

use crate::support::environment::{TestEnvironment, end, put};
use crate::support::hook_call::{Call, context, session_of};

/// The time of most calls.
const NOON: &str = "2026-11-15T12:00:00Z";

/// A repository in which prompts about logins end in `src/auth/login.rs`.
fn repository() -> TestEnvironment {
    let env = TestEnvironment::new();
    git(&env.work(), &["init", "-q", "-b", "main"]);
    for number in 0..12 {
        let (file, subject) = match number % 4 {
            0 => ("src/auth/login.rs", "keep the login alive"),
            1 => ("src/store/cache.rs", "evict stale entries of the cache"),
            2 => ("docs/tour.md", "describe the tour"),
            _ => ("src/ui/theme.rs", "darker theme"),
        };
        commit(&env, file, &format!("{number}"), subject);
    }
    env
}

fn commit(env: &TestEnvironment, file: &str, content: &str, subject: &str) {
    put(&env.work().join(file), content);
    git(&env.work(), &["add", "-A"]);
    git(&env.work(), &["commit", "-q", "-m", subject]);
}

fn git(dir: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(["-c", "user.name=J", "-c", "user.email=j@example.org"]).args(args);
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What the model of that agent is told at a prompt.
fn prompt(env: &TestEnvironment, name: &str, text: &str) -> String {
    prompt_at(env, name, text, NOON)
}

fn prompt_at(env: &TestEnvironment, name: &str, text: &str, now: &str) -> String {
    let call = Call::new(env, "claude/UserPromptSubmit", &session_of(name)).with("/prompt", text);
    let ended = end(call.command(env).env(NOW, now).env(BACKGROUND, "wait")).expect_code(0);
    match call.understand(&ended) {
        HookAnswer::Silence => String::new(),
        answer => context(answer),
    }
}

/// The agent changes a file.
fn edit(env: &TestEnvironment, name: &str, file: &str) {
    edit_at(env, name, file, NOON);
}

fn edit_at(env: &TestEnvironment, name: &str, file: &str, now: &str) {
    let call = Call::new(env, "claude/PostToolUse-Edit", &session_of(name))
        .with("/tool_input/file_path", json!(env.work().join(file)));
    end(call.command(env).env(NOW, now)).expect_code(0);
}

/// The files of the mesh about this repository that end in `ending`.
fn files(env: &TestEnvironment, ending: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(env.mesh().join("awareness")).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        all.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    found.sort();
    found
}

/// The counts, which have no ending.
fn counts(env: &TestEnvironment) -> Option<PathBuf> {
    files(env, "").into_iter().find(|path| path.extension().is_none())
}

/// Joins, and waits until the history is counted.
fn join(env: &TestEnvironment, name: &str) {
    let host = env.host().to_string();
    let args = ["join", name, "--harness", "claude", "--session", &session_of(name), "--pid", &host];
    end(env.msg().args(args).env(BACKGROUND, "wait")).expect_code(0);
}

/// Alice was told that Robin is in `src/auth/login.rs`.
fn told_of_login() -> TestEnvironment {
    let env = repository();
    join(&env, "Alice");
    join(&env, "Robin");
    prompt(&env, "Robin", "look after the login");
    edit(&env, "Robin", "src/auth/login.rs");
    assert_ne!(prompt(&env, "Alice", "the login forgets its users"), "");
    env
}
