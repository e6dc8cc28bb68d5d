//! An agent that was refused is told when the path is free: once, and only if it is.

use std::path::Path;

use serde_json::Value;

use super::{assert_held, refused, reserve, two};
use crate::support::environment::TestEnvironment;

/// Alice holds `src/`; Bob wanted `src/auth/` and was refused. Returns Alice's host.
fn waiting() -> (TestEnvironment, u32) {
    let env = TestEnvironment::new();
    let host = env.join("Alice");
    env.join("Bob");
    env.join("Carol");
    reserve(&env, "Alice", &["src/"]);
    refused(&env, "Bob", &["src/auth/"]);
    (env, host)
}

/// The notices that the agent has not read yet; this reads them.
#[track_caller]
fn told(env: &TestEnvironment, name: &str) -> Vec<String> {
    let read = env.ok(&["read", "--as", name]);
    let from_us = |message: &&Value| message["from"] == "ravenry";
    let messages = read["messages"].as_array().unwrap().iter().filter(from_us);
    messages.map(|message| message["text"].as_str().unwrap().to_string()).collect()
}

#[track_caller]
fn assert_told_once(env: &TestEnvironment, name: &str, pattern: &str) {
    let texts = told(env, name);
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(texts[0].contains(&format!("`{pattern}`")) && texts[0].contains("Alice"), "{texts:?}");
    // No further notice, whatever happens next.
    env.names();
    env.ok(&["release", "--as", "Carol"]);
    reserve(env, "Carol", &["unrelated"]);
    env.ok(&["release", "--as", "Carol"]);
    assert_eq!(told(env, name), [""; 0]);
}

#[test]
fn when_the_holder_releases() {
    let (env, _) = waiting();
    assert_eq!(told(&env, "Bob"), [""; 0]);
    env.ok(&["release", "--as", "Alice"]);
    assert_told_once(&env, "Bob", "src/auth/");
    assert_eq!(told(&env, "Alice"), [""; 0], "nobody else is");
    reserve(&env, "Bob", &["src/auth/"]);
}

#[test]
fn when_the_holder_leaves() {
    let (env, _) = waiting();
    env.ok(&["leave", "--as", "Alice"]);
    assert_told_once(&env, "Bob", "src/auth/");
}

#[test]
fn when_the_holder_is_evicted() {
    let (env, _) = waiting();
    env.ok(&["evict", "Alice", "--force", "--as", "Carol"]);
    assert_told_once(&env, "Bob", "src/auth/");
}

#[test]
fn when_the_holder_dies_and_somebody_looks() {
    let (env, host) = waiting();
    env.kill(host);
    env.names();
    assert_told_once(&env, "Bob", "src/auth/");
}

#[test]
fn when_the_holder_dies_and_somebody_joins() {
    let (env, host) = waiting();
    env.kill(host);
    env.join("Dave");
    assert_told_once(&env, "Bob", "src/auth/");
}

#[test]
fn when_the_holder_dies_and_somebody_takes_its_name() {
    let (env, host) = waiting();
    env.kill(host);
    env.ok(&["join", "Alice", "--pid", &env.host().to_string(), "--session", "stranger"]);
    assert_told_once(&env, "Bob", "src/auth/");
}

#[test]
fn when_its_time_is_over() {
    let env = two();
    env.ok(&["reserve", "src/", "--ttl", "30m", "--as", "Alice"]);
    refused(&env, "Bob", &["src/auth/"]);
    env.names();
    assert_eq!(told(&env, "Bob"), [""; 0]);
    super::run_at(&env, "2027-11-15T12:00:00.000Z", &["agents"]).expect_code(0);
    assert_eq!(told(&env, "Bob").len(), 1);
}

#[test]
fn what_is_told_can_be_typed() {
    let env = two();
    let pattern = "it's/{a,b}/*.rs";
    reserve(&env, "Alice", &["."]);
    refused(&env, "Bob", &[pattern, "plain"]);
    env.ok(&["release", "--as", "Alice"]);
    let texts = told(&env, "Bob");
    assert_eq!(texts.len(), 1, "both in one message: {texts:?}");
    let (_, command) = texts[0].split_once("msg reserve ").unwrap();
    let msg = Path::new(env!("CARGO_BIN_EXE_msg"));
    let mut shell = std::process::Command::new("sh");
    shell.arg("-c").arg(format!("{} --as Bob reserve {command}", msg.display()));
    let given = env.msg();
    shell.env_clear().envs(given.get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert!(shell.current_dir(env.work()).status().unwrap().success(), "{command}");
    assert_held(&env, "Alice", &["it's/a/x.rs", "it's/b/y.rs", "plain"], "Bob");
}

#[test]
fn not_while_another_still_holds_it() {
    let env = TestEnvironment::new();
    for name in ["Alice", "Bob", "Carol"] {
        env.join(name);
    }
    reserve(&env, "Alice", &["src/a"]);
    reserve(&env, "Carol", &["src/c"]);
    refused(&env, "Bob", &["src/"]);
    env.ok(&["release", "--as", "Carol"]);
    env.names();
    assert_eq!(told(&env, "Bob"), [""; 0], "Alice has her part of it still");
    // Carol is first.
    reserve(&env, "Carol", &["src/c"]);
    env.ok(&["release", "--as", "Alice"]);
    assert_eq!(told(&env, "Bob"), [""; 0], "Carol has it again");
    env.ok(&["release", "--as", "Carol"]);
    assert_eq!(told(&env, "Bob").len(), 1);
}

#[test]
fn not_of_what_is_released_beside_it() {
    let (env, _) = waiting();
    reserve(&env, "Alice", &["docs/"]);
    env.ok(&["release", "docs/", "--as", "Alice"]);
    assert_eq!(told(&env, "Bob"), [""; 0]);
    env.ok(&["release", "src/", "--as", "Alice"]);
    assert_eq!(told(&env, "Bob").len(), 1);
}

#[test]
fn refused_twice_is_told_once() {
    let (env, _) = waiting();
    refused(&env, "Bob", &["src/auth/"]);
    refused(&env, "Bob", &["src/auth/", "docs/"]);
    env.ok(&["release", "--as", "Alice"]);
    assert_told_once(&env, "Bob", "src/auth/");
}

#[test]
fn refused_again_later_is_told_again() {
    let (env, _) = waiting();
    for _ in 0..2 {
        env.ok(&["release", "--as", "Alice"]);
        assert_told_once(&env, "Bob", "src/auth/");
        reserve(&env, "Alice", &["src/"]);
        refused(&env, "Bob", &["src/auth/"]);
    }
}

#[test]
fn who_got_it_by_itself_is_not_told() {
    let (env, host) = waiting();
    env.kill(host);
    reserve(&env, "Bob", &["src/"]);
    env.names();
    env.ok(&["release", "--as", "Bob"]);
    assert_eq!(told(&env, "Bob"), [""; 0]);
}

/// An agent that reserved a part still waits for the whole.
#[test]
fn who_got_a_part_of_it_is_told_of_the_whole() {
    let env = two();
    reserve(&env, "Alice", &["src/auth/"]);
    refused(&env, "Bob", &["src/"]);
    reserve(&env, "Bob", &["src/main.rs"]);
    env.ok(&["release", "--as", "Alice"]);
    assert_eq!(told(&env, "Bob").len(), 1);
}

#[test]
fn who_is_gone_is_not_waited_for() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let host = env.join("Bob");
    reserve(&env, "Alice", &["src/"]);
    refused(&env, "Bob", &["src/auth/"]);
    env.kill(host);
    env.ok(&["release", "--as", "Alice"]);
    assert!(env.mail().is_empty(), "{:?}", env.mail());
}

#[test]
fn all_who_wait_are_told() {
    let (env, _) = waiting();
    refused(&env, "Carol", &["src/**/*.rs"]);
    env.ok(&["rename", "Dave", "--as", "Carol"]);
    env.ok(&["release", "--as", "Alice"]);
    assert_eq!(told(&env, "Bob").len(), 1);
    assert_eq!(told(&env, "Dave").len(), 1, "under the new name");
}
