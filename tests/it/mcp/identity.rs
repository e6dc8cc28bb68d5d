//! Tests of who is calling: recognised by each harness's own means, and the same agent in every face.

use serde_json::{Value, json};

use crate::support::environment::TestEnvironment;
use crate::support::hook_fixture::in_shell;
use crate::support::mcp_client::Client;

fn agents(env: &TestEnvironment) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let listing = env.ok(&["agents"]);
    let agents = listing["agents"].as_array().unwrap();
    agents.iter().map(|agent| (text(&agent["harness"]), text(&agent["sessionId"]))).collect()
}

/// A server whose harness has run another of our commands before.
fn after(env: &TestEnvironment, harness: &str, variables: &[(&str, &str)], line: &str) -> Client {
    let mut msg = env.msg();
    msg.arg("mcp").envs(variables.iter().copied());
    Client::greeted(in_shell(&format!("{line}; \"$@\""), harness, &msg))
}

#[test]
fn the_session_variable_of_the_nearest_harness() {
    for (harness, variable) in [
        ("claude", "CLAUDE_CODE_SESSION_ID"),
        ("copilot", "COPILOT_AGENT_SESSION_ID"),
        ("pi", "PI_SESSION_ID"),
        ("qwen", "QWEN_CODE_SESSION_ID"),
    ] {
        let env = TestEnvironment::new();
        let mut client = after(&env, harness, &[], &format!("export {variable}=the-session"));
        client.name();
        assert_eq!(agents(&env), [(harness.to_string(), "the-session".to_string())]);
    }
}

#[test]
fn what_an_outer_harness_left_in_the_environment_does_not_count() {
    let env = TestEnvironment::new();
    let mut client = after(&env, "gemini", &[("CLAUDE_CODE_SESSION_ID", "outer")], ":");
    client.name();
    let [(harness, session)] = agents(&env).try_into().unwrap();
    assert_eq!(harness, "gemini");
    assert_ne!(session, "outer");
}

/// The session id does not count either if a tool of another session started the same harness.
#[test]
#[cfg(target_os = "linux")]
fn what_the_harness_itself_was_started_with_does_not_count() {
    let env = TestEnvironment::new();
    let mut client = after(&env, "claude", &[("CLAUDE_CODE_SESSION_ID", "outer")], ":");
    client.name();
    assert_ne!(agents(&env)[0].1, "outer");
}

/// One Codex daemon serves many threads, and names the thread with each call.
#[test]
fn codex_tells_its_thread_with_each_call() {
    let env = TestEnvironment::new();
    let mut client = Client::of(&env, "codex");
    let mut join = |thread: &str| {
        let meta = json!({ "threadId": thread, "sessionId": thread, "progressToken": 0 });
        let arguments = json!({ "action": "join" });
        let params = json!({ "name": "agents", "arguments": arguments, "_meta": meta });
        let result = client.request("tools/call", params);
        result["_meta"]["ravenry/result"]["agent"]["name"].as_str().unwrap().to_string()
    };
    let (first, second) = (join("thread-1"), join("thread-2"));
    assert_ne!(first, second);
    assert_eq!(join("thread-1"), first);
    assert_eq!(env.names().len(), 2);
    assert_eq!(env.registration(&first)["sessionId"], "thread-1");
}

/// A thread that belongs to a session acts as that session.
#[test]
fn a_thread_of_a_session_that_is_here_is_that_session() {
    let env = TestEnvironment::new();
    let host = env.host();
    env.ok(&["join", "Alice", "--pid", &host.to_string(), "--session", "root"]);
    let mut client = Client::of(&env, "codex");
    let meta = json!({ "threadId": "child", "sessionId": "root" });
    let params = json!({ "name": "agents", "arguments": { "action": "status", "text": "x" }, "_meta": meta });
    let said = client.request("tools/call", params);
    assert_eq!(said["_meta"]["ravenry/result"]["agent"]["name"], "Alice", "{said}");
    assert_eq!(env.names(), ["Alice"]);
}

#[test]
fn who_joined_by_the_command_line_is_not_joined_again() {
    for harness in ["claude", "codex", "gemini", "opencode", "copilot", "kimi", "qwen"] {
        let env = TestEnvironment::new();
        let mut client = after(&env, harness, &[], "\"$1\" join Alice >/dev/null");
        assert_eq!(client.name(), "Alice", "{harness}");
        client.ok("reserve", json!({ "paths": ["src/"] }));
        assert_eq!(env.names(), ["Alice"]);
    }
}

/// `/clear` gives the session a new id, which is not in the environment of a server that is already running.
#[test]
fn a_session_that_got_a_new_id_stays_who_it_was() {
    let env = TestEnvironment::new();
    let line = "export CLAUDE_CODE_SESSION_ID=old; \"$1\" join Alice >/dev/null; \
                CLAUDE_CODE_SESSION_ID=new \"$1\" whoami >/dev/null";
    let mut client = after(&env, "claude", &[], line);
    for _ in 0..2 {
        client.ok("reserve", json!({ "paths": ["src/"] }));
        assert_eq!(client.name(), "Alice");
        assert_eq!(agents(&env), [("claude".to_string(), "new".to_string())]);
    }
}

#[test]
fn joining_is_automatic_and_happens_once() {
    let env = TestEnvironment::new();
    let mut client = Client::of(&env, "claude");
    client.ok("agents", json!({}));
    assert!(!env.mesh().exists(), "who only looks need not join");
    let said = client.ok("reserve", json!({ "paths": ["src/"] }));
    insta::assert_snapshot!(said.text.replace(&client.name(), "[ME]"), @"
    `src/` is yours
    note: you joined as [ME]
    ");
    for _ in 0..3 {
        let said = client.ok("inbox", json!({}));
        insta::allow_duplicates! { insta::assert_snapshot!(said.text, @"no mail") };
    }
    assert_eq!(env.names().len(), 1);
}

/// An unknown client is an agent of its own, not the person who started it.
#[test]
fn a_client_without_a_known_harness_is_nobody_else() {
    let env = TestEnvironment::new();
    let person = "\"$1\" join Person --pid $PPID >/dev/null 2>&1";
    let mut client = after(&env, "some-editor", &[], person);
    let name = client.name();
    assert_ne!(name, "Person");
    let harness = env.ok(&["whois", &name])["agent"]["harness"].clone();
    assert_eq!(harness, "other");
}

#[test]
fn who_was_evicted_does_not_come_back_by_itself() {
    let env = TestEnvironment::new();
    let mut client = Client::of(&env, "claude");
    let name = client.name();
    env.join("Peer");
    env.ok(&["evict", &name, "--force", "--as", "Peer"]);
    assert_eq!(client.fails("message", json!({ "action": "broadcast", "text": "hi" })), "evicted");
    assert_eq!(client.name(), name, "only if it says so");
}

#[test]
fn as_whom_it_is_told_to_speak() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let mut command = env.msg();
    command.args(["mcp", "--as", "Alice"]);
    let mut client = Client::greeted(in_shell("\"$@\"", "claude", &command));
    client.ok("reserve", json!({ "paths": ["src/"] }));
    assert_eq!(env.registration("Alice")["reservations"][0]["pattern"], "src/");
}
