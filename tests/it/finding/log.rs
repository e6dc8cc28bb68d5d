//! `msg log`, with what real hooks saw.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::environment::{TestEnvironment, end};
use crate::support::hook_call::{Call, session_of};

/// A repository in which Alice and Bob work.
fn stage() -> TestEnvironment {
    let env = TestEnvironment::new();
    fs::create_dir_all(env.work().join("src")).unwrap();
    fs::write(env.work().join("src/login.rs"), "one\n").unwrap();
    fs::write(env.work().join("src/other.rs"), "one\n").unwrap();
    git(&env, "git init -q && git add . && git commit -qm begin");
    env.join("Alice");
    env.join("Bob");
    env
}

fn git(env: &TestEnvironment, line: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(env.work()).env("HOME", env.home());
    for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"] {
        shell.env(name, "Somebody");
    }
    for name in ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
        shell.env(name, "somebody@example.org");
    }
    assert!(shell.output().unwrap().status.success(), "{line}");
}

fn edit(env: &TestEnvironment, name: &str, file: &str) {
    let path = env.work().join(file);
    fs::write(&path, format!("by {name}\n")).unwrap();
    Call::new(env, "claude/PostToolUse-Edit", &session_of(name))
        .with("/tool_input/file_path", json!(path))
        .answer(env);
}

fn commit(env: &TestEnvironment, name: &str, file: &str, subject: &str) {
    let line = format!("git add {file} && git commit -qm '{subject}'");
    git(env, &line);
    Call::bash(env, "PostToolUse", &session_of(name), &line).answer(env);
}

/// Files of the same name in two repositories are two files, wherever one asks.
#[test]
fn a_path_in_another_repository_is_that_path() {
    let env = stage();
    env.ok(&["reserve", "*.txt", "--reason", "in the first", "--as", "Alice"]);
    let other = env.path().join("other");
    fs::create_dir(&other).unwrap();
    git(&env, "git init -q ../other");
    let there = |args: &[&str]| {
        let mut command = env.msg();
        end(command.current_dir(&other).args(args).arg("--json")).expect_code(0).json()
    };
    let host = env.host().to_string();
    there(&["join", "Dee", "--session", "dee", "--pid", &host]);
    there(&["reserve", "a.txt", "--reason", "in the second", "--as", "Dee"]);
    let who = |log: serde_json::Value| {
        let entries = log["entries"].as_array().unwrap().iter().map(|entry| entry["agent"].clone());
        entries.collect::<Vec<_>>()
    };
    assert_eq!(who(there(&["log", "../work/a.txt"])), ["Alice"]);
    assert_eq!(who(there(&["log", "a.txt"])), ["Dee"]);
    assert_eq!(who(env.ok(&["log", "a.txt"])), ["Alice"]);
    let mut outside = env.msg();
    let path = env.work().join("a.txt");
    outside.current_dir(env.path()).args(["log", path.to_str().unwrap(), "--json"]);
    assert_eq!(who(end(&mut outside).expect_code(0).json()), ["Alice"]);
}

#[test]
fn what_is_not_there_is_said() {
    let env = stage();
    let missing = env.run(&["log", "no/such"]).expect_code(0).stdout;
    assert!(missing.starts_with("There is no `no/such` here") && missing.contains("msg agents"), "{missing}");
    let pattern = env.run(&["log", "src/**"]).expect_code(0).stdout;
    assert!(pattern.contains("patterns are not looked for"), "{pattern}");
}

/// Who did what, oldest first.
#[track_caller]
fn entries(env: &TestEnvironment, args: &[&str]) -> Vec<String> {
    let log = env.ok(&[&["log"], args].concat());
    let entry = |entry: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let (path, event) = (text(&entry["path"]), &entry["event"]);
        let about = [path, text(&event["target"]), text(&event["preview"])].join("");
        format!("{} {} {about}", text(&entry["agent"]), text(&entry["kind"]))
    };
    log["entries"].as_array().unwrap().iter().map(entry).collect()
}

#[test]
fn of_a_file() {
    let env = stage();
    edit(&env, "Alice", "src/login.rs");
    env.ok(&["reserve", "src/login.rs", "--as", "Alice"]);
    Call::edit(&env, &session_of("Bob"), "src/login.rs").answer(&env);
    edit(&env, "Bob", "src/other.rs");
    commit(&env, "Alice", "src/login.rs", "auth: fix the login");
    commit(&env, "Bob", "src/other.rs", "other: change it");
    env.ok(&["release", "--as", "Alice"]);
    let expected = [
        "Alice changed src/login.rs",
        "Alice reserve src/login.rs",
        "Bob refused src/login.rs",
        "Alice commit auth: fix the login",
        "Alice release src/login.rs",
    ];
    assert_eq!(entries(&env, &["src/login.rs"]), expected);
    assert_eq!(entries(&env, &["./src/../src/login.rs"]), expected);
    assert_eq!(entries(&env, &[env.work().join("src/login.rs").to_str().unwrap()]), expected);
    let all = entries(&env, &["src"]);
    assert_eq!(all.len(), 7, "{all:?}");
    assert_eq!(entries(&env, &["."]), all);
    assert_eq!(entries(&env, &["src/login.rs", "--limit", "1"]), expected[4..]);
    assert_eq!(entries(&env, &["src/login.rs", "--since", "0"]), [] as [&str; 0]);
    let text = env.run(&["log", "src/login.rs"]).expect_code(0).stdout;
    assert!(
        text.contains("Alice  changed `src/login.rs`") && text.contains("was refused src/login.rs"),
        "{text}"
    );
    // What was deleted is still known.
    fs::remove_file(env.work().join("src/login.rs")).unwrap();
    assert_eq!(entries(&env, &["src/login.rs"]), expected);
    let nothing = env.run(&["log", "src/never.rs"]).expect_code(0).stdout;
    assert!(nothing.starts_with("There is no `src/never.rs` here, and nothing is known of it."), "{nothing}");
}

#[test]
fn of_an_agent() {
    let env = stage();
    edit(&env, "Alice", "src/login.rs");
    edit(&env, "Bob", "src/other.rs");
    commit(&env, "Alice", "src/login.rs", "auth: fix the login");
    let alice = entries(&env, &["Alice"]);
    assert_eq!(alice, ["Alice join ", "Alice changed src/login.rs", "Alice commit auth: fix the login"]);
    assert_eq!(entries(&env, &["alice"]), alice);
    // A path comes first, unless one says that it is an agent.
    fs::create_dir(env.work().join("Alice")).unwrap();
    assert_eq!(entries(&env, &["Alice"]), [] as [&str; 0]);
    assert_eq!(entries(&env, &["Alice", "--agent"]), alice);
    assert_eq!(env.fails(1, &["log", "Nobody", "--agent"]), "unknown_agent");
    assert_eq!(env.fails(2, &["log", "no agent", "--agent"]), "invalid_name");
    assert_eq!(env.fails(2, &["log", ""]), "invalid_value");
}

#[test]
fn changes_that_follow_each_other_are_one_entry() {
    let env = stage();
    for _ in 0..3 {
        edit(&env, "Alice", "src/login.rs");
    }
    let log = env.ok(&["log", "src/login.rs"]);
    assert_eq!(log["entries"].as_array().unwrap().len(), 1, "{log}");
    assert_eq!(log["entries"][0]["times"], 3);
    assert_eq!(log["subject"]["path"], "src/login.rs");
}

#[test]
fn without_a_mesh() {
    let env = TestEnvironment::new();
    assert_eq!(entries(&env, &["src/x.rs"]), [] as [&str; 0]);
    assert_eq!(env.fails(1, &["log", "Alice", "--agent"]), "unknown_agent");
    let answer = env.ok(&["search", "x"]);
    assert_eq!(answer["results"], json!([]));
}
