//! Tests of waking: what the sender is told about it, and the scene that the tests of the routes share.

use ravenry::domain::hook::HookAnswer;
use serde_json::Value;

use super::codex::Codex;
use super::waiters::Waiter;
use crate::support::environment::{TestEnvironment, end};
use crate::support::hook_call::{Call, session_of};
use crate::support::running::post;

/// Alice, and Bob in Claude Code, with `mailTurns` 2.
pub fn scene() -> (TestEnvironment, u32) {
    scene_in("claude")
}

pub fn scene_in(harness: &str) -> (TestEnvironment, u32) {
    let env = TestEnvironment::new();
    env.join("Alice");
    let host = env.host();
    let pid = host.to_string();
    env.ok(&["join", "Bob", "--pid", &pid, "--session", &session_of("Bob"), "--harness", harness]);
    env.ok(&["config", "set", "mailTurns", "2"]);
    (env, host)
}

pub fn call(env: &TestEnvironment, fixture: &str) -> Call {
    Call::new(env, fixture, &session_of("Bob"))
}

pub fn stop(env: &TestEnvironment) -> HookAnswer {
    call(env, "claude/Stop").answer(env)
}

pub fn prompt(env: &TestEnvironment, text: &str) -> HookAnswer {
    call(env, "claude/UserPromptSubmit").with("/prompt", text).answer(env)
}

/// Sends to Bob; returns the wake route.
#[track_caller]
pub fn send(env: &TestEnvironment, args: &[&str]) -> String {
    let sent = env.ok(&[&["send", "Bob", "--as", "Alice"], args].concat());
    sent["sent"][0]["wake"].as_str().unwrap().to_string()
}

#[test]
fn send_tells_how_it_will_be_noticed() {
    let (env, _) = scene();
    assert_eq!(send(&env, &["nobody knows what he is at"]), "none");
    prompt(&env, "hello");
    assert_eq!(send(&env, &["he is busy"]), "hook");
    env.ok(&["read", "--as", "Bob"]);
    assert_eq!(stop(&env), HookAnswer::Silence);
    assert_eq!(send(&env, &["he rests, and nobody is there to wake him"]), "prompt");
    env.ok(&["read", "--as", "Bob"]);
    let waiter = Waiter::start(&env);
    assert_eq!(send(&env, &["not worth it", "--importance", "low"]), "none");
    let sent = env.ok(&["send", "Bob", "wake up", "--as", "Alice"]);
    assert_eq!(sent["sent"][0]["wake"], "rewake");
    let receipt = env.ok(&["receipt", sent["sent"][0]["id"].as_str().unwrap(), "--as", "Alice"]);
    assert_eq!((&receipt["state"], &receipt["wake"]), (&Value::from("stored"), &Value::from("rewake")));
    drop(waiter);
    env.ok(&["config", "set", "wake", "false"]);
    stop(&env);
    assert_eq!(send(&env, &["nobody is to be woken"]), "none");
}

#[test]
fn the_receipt_of_a_message_to_a_dead_agent_promises_no_next_step() {
    let (env, host) = scene();
    prompt(&env, "hello");
    let sent = env.ok(&["send", "Bob", "hi", "--as", "Alice"]);
    assert_eq!(sent["sent"][0]["wake"], "hook");
    let receipt = || {
        let id = sent["sent"][0]["id"].as_str().unwrap();
        let text = end(env.msg().args(["receipt", id, "--as", "Alice"])).expect_code(0).stdout;
        text.split_once(" ago").unwrap().1.to_string()
    };
    insta::assert_snapshot!(receipt(), @"; it is busy and gets this with its next tool call or prompt");
    env.kill(host);
    insta::assert_snapshot!(receipt(), @": Bob has ended; it gets the message when it comes back");
}

/// Anybody can start the process that a hook starts to wake an agent.
#[test]
fn nobody_is_woken_without_mail() {
    let env = TestEnvironment::new();
    let log = env.path().join("queued");
    let mut codex = Codex::new(&env, &format!("echo \"$*\" >>'{}'\n", log.display()));
    codex.join(&env, "Bob");
    prompt(&env, "hello");
    stop(&env);
    env.run(&["hook", "rouse", "Bob"]).expect_code(0);
    assert!(!log.exists(), "nothing waits for Bob");
    post(&env.store(), "Bob", "hello");
    env.run(&["hook", "rouse", "Bob"]).expect_code(0);
    assert!(log.exists());
}
