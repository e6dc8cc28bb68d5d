//! A worker whose account is at its limit, by a stand-in that prints what the real client prints.

use std::fs;

use jiff::Timestamp;
use serde_json::json;

use super::{put_harness, shown, wait_for_state, with_profiles};
use crate::support::environment::{TestEnvironment, wait_until};

/// At its limit at the first call, and done at each further one. `reset` says when the limit ends, in seconds.
pub const CLIENT: &str = r#"#!/bin/sh
echo "$*" >> calls
say() { printf '%s\n' "$1"; }
say '{"type":"system","subtype":"init","session_id":"s-1","model":"m"}'
used='"usage":{"input_tokens":10,"output_tokens":5}'
say "{\"type\":\"assistant\",\"message\":{\"id\":\"a\",\"model\":\"m\",$used,\"content\":[]}}"
if test "$(wc -l < calls)" = 1; then
  reset=$(($(date +%s) + 20))
  say "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\",\"resetsAt\":$reset}}"
  say "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"api_error_status\":429,\"result\":\"You have hit your limit\",$used,\"num_turns\":1}"
  echo "$reset" > reset.new && mv reset.new reset
  exit 1
fi
say "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"all done\",$used,\"num_turns\":1}"
"#;

#[test]
fn a_run_at_the_limit_and_the_queue_say_until_when_they_wait() {
    let env = with_profiles("");
    let path = put_harness(&env, &CLIENT.replace("+ 20", "+ 1000"));
    let first = started(&env, &path, "first");
    // It says why once the worker has ended.
    wait_until("it rests", || {
        let run = shown(&env, &first);
        run["state"] == "limited" && run["reason"].is_string()
    });
    let limited = shown(&env, &first);
    let until = limited["until"].as_str().unwrap();
    assert!(limited["reason"].as_str().unwrap().contains("limit"), "{limited}");
    let second = started(&env, &path, "second");
    wait_until("it says why it waits", || shown(&env, &second)["until"] == until);
    let queued = shown(&env, &second);
    assert_eq!(queued["state"], "queued");
    assert!(queued["reason"].as_str().unwrap().starts_with("claude is at its limit"), "{queued}");
    for id in [&second, &first] {
        env.ok(&["runs", "stop", id]);
        wait_for_state(&env, id, "stopped");
    }
    assert_eq!(calls(&env).len(), 1, "nobody asks a client that is at its limit");
}

/// However late this process looks: nothing here has to be seen before the reset.
#[test]
fn after_the_reset_the_run_and_the_queue_go_on() {
    let env = with_profiles("");
    let path = put_harness(&env, &CLIENT.replace("+ 20", "+ 4"));
    let first = started(&env, &path, "first");
    // Its supervisor reads that a moment later, and records it.
    let known = env.home().join(".local/state/ravenry/limits/claude.json");
    wait_until("that the client is at its limit is known", || {
        env.work().join("reset").exists() && known.exists()
    });
    let reset: i64 = fs::read_to_string(env.work().join("reset")).unwrap().trim().parse().unwrap();
    let second = started(&env, &path, "second");
    for id in [&first, &second] {
        let run = wait_for_state(&env, id, "done");
        assert_eq!(run["result"], "all done");
        let ended: Timestamp = run["endedAt"].as_str().unwrap().parse().unwrap();
        assert!(ended.as_second() >= reset, "{run}");
    }
    let calls = calls(&env);
    assert_eq!(calls.len(), 3);
    let resumed = calls[1..].iter().find(|call| call.contains("--resume")).unwrap();
    assert!(resumed.contains("Your account was at its limit"), "{resumed}");
    assert_eq!(shown(&env, &first)["usage"]["output"], json!(10), "both halves count");
    assert_eq!(env.fails(1, &["runs", "stop", &first]), "not_running");
}

fn started(env: &TestEnvironment, path: &str, task: &str) -> String {
    let args = ["run", "claude", task, "--detach", "--json"];
    let answer = env.run_with(&args, &[("PATH", path)]).expect_code(0).json();
    answer["run"]["id"].as_str().unwrap().to_string()
}

fn calls(env: &TestEnvironment) -> Vec<String> {
    fs::read_to_string(env.work().join("calls")).unwrap().lines().map(ToString::to_string).collect()
}

#[test]
fn a_run_at_the_limit_can_be_stopped() {
    let env = with_profiles("");
    let path = put_harness(&env, &CLIENT.replace("+ 20", "+ 1000"));
    let answer = env.run_with(&["run", "claude", "x", "--detach", "--json"], &[("PATH", &path)]).json();
    let id = answer["run"]["id"].as_str().unwrap().to_string();
    wait_for_state(&env, &id, "limited");
    env.ok(&["runs", "stop", &id]);
    wait_for_state(&env, &id, "stopped");
}
