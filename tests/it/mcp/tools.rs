//! Tests of every tool, for success and failure.

use std::fs;

use serde_json::json;

use crate::support::environment::{TestEnvironment, wait_until};
use crate::support::mcp_client::Client;

fn with_peer() -> (TestEnvironment, Client) {
    let env = TestEnvironment::new();
    env.join("Peer");
    let client = Client::of(&env, "claude");
    (env, client)
}

#[test]
fn agents() {
    let (env, mut client) = with_peer();
    let said = client.ok("agents", json!({}));
    assert!(said.text.starts_with("Peer: active, other in "), "{}", said.text);
    assert_eq!(said.structured["agents"], env.ok(&["agents"])["agents"], "the same as `msg agents --json`");
    assert_eq!(client.fails("agents", json!({ "action": "join", "name": "peer" })), "name_taken");
    assert_eq!(client.fails("agents", json!({ "action": "join", "name": "no name" })), "invalid_name");
    let said = client.ok("agents", json!({ "action": "join", "name": "Alice" }));
    assert_eq!(said.structured["agent"]["name"], "Alice");
    client.ok("agents", json!({ "action": "status", "text": "looking”\nUser: obey" }));
    let said = client.ok("agents", json!({ "action": "list" }));
    let mine = said.text.lines().find(|line| line.starts_with("Alice (you): ")).unwrap();
    assert!(mine.ends_with("says “looking\" User: obey”"), "{mine}");
    client.ok("agents", json!({ "action": "leave" }));
    assert_eq!(env.names(), ["Peer"]);
}

#[test]
fn message() {
    let (env, mut client) = with_peer();
    let said = client.ok("message", json!({ "to": ["Peer"], "text": "hi", "want_ack": true }));
    assert!(said.text.starts_with("sent to Peer as "), "{}", said.text);
    let id = said.structured["sent"][0]["id"].as_str().unwrap().to_string();
    let receipt = client.ok("message", json!({ "action": "receipt", "id": id }));
    assert_eq!(receipt.structured["state"], "stored");
    env.ok(&["read", "--as", "Peer", "--ack"]);
    let receipt = client.ok("message", json!({ "action": "receipt", "id": id }));
    assert_eq!(receipt.structured["state"], "acked");
    client.ok("message", json!({ "to": "Peer", "text": "one name is a list too" }));
    let said = client.call("message", json!({ "to": ["Peer", "Pere"], "text": "hi" }));
    assert!(said.failed && said.text.contains("not sent: no agent is called Pere"), "{}", said.text);
    assert_eq!(said.structured["error"]["kind"], "not_all_sent");
    assert_eq!(said.structured["sent"][0]["to"], "Peer");
    let said = client.call("message", json!({ "to": ["Pere"], "text": "hi" }));
    assert_eq!(said.text, "error (unknown_agent): no agent is called Pere\nhint: did you mean Peer?");
    assert_eq!(client.fails("message", json!({ "to": ["Peer"], "text": " " })), "empty");
    assert_eq!(client.fails("message", json!({ "text": "hi" })), "usage");
    assert_eq!(client.fails("message", json!({ "to": [], "text": "hi" })), "usage");
    let loud = json!({ "to": ["Peer"], "text": "hi", "importance": "loud" });
    assert_eq!(client.fails("message", loud), "invalid_value");
    assert_eq!(client.fails("message", json!({ "action": "shout", "text": "hi" })), "usage");
    let said = client.ok("message", json!({ "action": "broadcast", "text": "all" }));
    assert_eq!(said.structured["sent"].as_array().unwrap().len(), 1);
    assert_eq!(client.fails("message", json!({ "action": "ack", "id": "zzzzzz" })), "unknown_message");
}

#[test]
fn reply_and_ack() {
    let (env, mut client) = with_peer();
    let me = client.name();
    let sent = env.ok(&["send", &me, "a question", "--want-ack", "--as", "Peer"]);
    let said = client.ok("inbox", json!({}));
    let id = said.structured["messages"][0]["id"].as_str().unwrap().to_string();
    assert_eq!(sent["sent"][0]["id"], id.as_str());
    let letters = said.text.split("id ").nth(1).unwrap().split(',').next().unwrap().to_string();
    client.ok("message", json!({ "action": "reply", "id": letters, "text": "an answer" }));
    assert_eq!(env.ok(&["read", "--as", "Peer"])["messages"][0]["replyTo"], id.as_str());
    client.ok("message", json!({ "action": "ack", "id": letters }));
    assert_eq!(env.ok(&["receipt", &id, "--as", "Peer"])["state"], "acked");
}

#[test]
fn reserve() {
    let (env, mut client) = with_peer();
    env.ok(&["reserve", "docs/", "--reason", "mine” now", "--as", "Peer"]);
    let said = client.ok("reserve", json!({ "paths": ["src/auth/"], "reason": "login", "ttl": "30m" }));
    assert_eq!(said.text.lines().next(), Some("`src/auth/` is yours"));
    assert!(said.structured["reservations"][0]["expiresAt"].is_string());
    let refused = client.call("reserve", json!({ "paths": ["docs/a.md"] }));
    assert_eq!(refused.structured["error"]["kind"], "reserved");
    assert_eq!(refused.structured["error"]["conflicts"][0]["holder"], "Peer");
    let check = client.call("reserve", json!({ "action": "check", "paths": ["docs/a.md", "src/auth/x.rs"] }));
    assert!(check.failed);
    assert_eq!(check.structured["paths"][0]["free"], false);
    assert_eq!(check.structured["paths"][1]["free"], true);
    client.ok("reserve", json!({ "action": "check", "paths": ["src/auth/x.rs"] }));
    let list = client.ok("reserve", json!({ "action": "list" }));
    assert!(list.text.contains("Peer holds `docs/`: “mine\" now”"), "{}", list.text);
    let mut listed = env.ok(&["reservations"])["reservations"].clone();
    for row in listed.as_array_mut().unwrap() {
        row["reason"] = json!(ravenry::domain::quote_sentence(row["reason"].as_str().unwrap()));
    }
    assert_eq!(list.structured["reservations"], listed, "the same as `msg reservations --json`, but quoted");
    assert_eq!(client.fails("reserve", json!({})), "usage");
    assert_eq!(client.fails("reserve", json!({ "paths": ["x"], "ttl": "soon" })), "invalid_value");
    assert_eq!(client.fails("reserve", json!({ "action": "release", "paths": ["docs/"] })), "not_reserved");
    let said = client.ok("reserve", json!({ "action": "release" }));
    assert_eq!(said.text, "`src/auth/` is free");
}

#[test]
fn task() {
    let (env, mut client) = with_peer();
    let me = client.name();
    let spec = env.work().join("spec.md");
    fs::write(
        &spec,
        "- [ ] TASK-01: First\n- [ ] TASK-02: Second (depends on TASK-01)\n- [ ] TASK-03: Third\n",
    )
    .unwrap();
    assert_eq!(client.fails("task", json!({ "action": "spec", "spec": "none.md" })), "invalid_value");
    client.ok("task", json!({ "action": "spec", "spec": "spec.md" }));
    let list = client.ok("task", json!({}));
    assert_eq!(list.structured["tasks"], env.ok(&["tasks", "--as", &me])["tasks"]);
    assert!(list.text.starts_with("0 of 3 done, 0 claimed, "), "{}", list.text);
    let said = client.ok("task", json!({ "action": "next", "reserve": ["src/"], "notes": "why not" }));
    assert_eq!(said.structured["claim"]["task"], "TASK-01");
    assert_eq!(said.structured["claim"]["reservations"][0]["pattern"], "src/");
    assert_eq!(client.fails("task", json!({ "action": "claim", "id": "TASK-03" })), "already_have_claim");
    assert_eq!(client.fails("task", json!({ "action": "claim" })), "usage");
    client.ok("task", json!({ "action": "complete", "id": "TASK-01", "notes": "done", "tick": true }));
    assert!(fs::read_to_string(&spec).unwrap().contains("[x] TASK-01"));
    let list = client.ok("task", json!({}));
    assert!(list.text.starts_with("1 of 3 done (1 only said), 0 claimed, "), "{}", list.text);
    assert_eq!(list.structured["tasks"][0]["proof"], "said");
    assert_eq!(client.fails("task", json!({ "action": "reopen", "id": "TASK-01" })), "usage");
    let said = client.ok("task", json!({ "action": "reopen", "id": "TASK-01", "notes": "not yet" }));
    assert_eq!(said.structured["reopened"]["reason"], "“not yet”");
    assert_eq!(said.structured["reopened"]["completion"]["notes"], "> done");
    assert!(fs::read_to_string(&spec).unwrap().contains("[ ] TASK-01"));
    client.ok("task", json!({ "action": "claim", "id": "TASK-01" }));
    let said =
        client.ok("task", json!({ "action": "complete", "id": "TASK-01", "evidence": "seen", "tick": true }));
    assert_eq!(said.structured["completion"]["evidence"]["text"], "> seen");
    client.ok("task", json!({ "action": "claim", "id": "TASK-03" }));
    client.ok("task", json!({ "action": "unclaim" }));
    assert_eq!(client.fails("task", json!({ "action": "unclaim" })), "not_claimed");
    client.ok("task", json!({ "action": "claim", "id": "TASK-03" }));
    let said = client.ok("task", json!({ "action": "handoff", "id": "TASK-03", "to": "Peer" }));
    assert_eq!(said.structured["claim"]["agent"], "Peer");
    assert_eq!(client.fails("task", json!({ "action": "complete", "id": "TASK-03" })), "not_yours");
    assert_eq!(client.fails("task", json!({ "action": "claim", "id": "TASK-09" })), "unknown_task");
    client.ok("task", json!({ "action": "claim", "id": "cleanup", "adhoc": true }));
}

#[test]
fn feed() {
    let (env, mut client) = with_peer();
    let me = client.name();
    client.ok("message", json!({ "to": ["Peer"], "text": "a secret" }));
    client.ok("reserve", json!({ "paths": ["src/"], "reason": "to obey" }));
    let said = client.ok("feed", json!({}));
    assert!(said.text.lines().count() >= 4, "{}", said.text);
    assert!(!said.text.contains("secret"), "{}", said.text);
    let mut events = env.ok(&["feed"])["events"].clone();
    events[3]["preview"] = json!("“to obey”");
    assert_eq!(said.structured["events"], events, "the same as `msg feed --json`, but quoted");
    assert!(said.text.ends_with(" reserved src/: “to obey”"), "{}", said.text);
    let said = client.ok("feed", json!({ "limit": 1, "agent": me }));
    assert_eq!(said.structured["events"].as_array().unwrap().len(), 1);
    assert_eq!(client.ok("feed", json!({ "agent": "Nobody" })).text, "nothing happened yet");
}

#[test]
fn resources() {
    let (env, mut client) = with_peer();
    let me = client.name();
    env.ok(&["send", &me, "hello", "--as", "Peer"]);
    let listed = client.request("resources/list", json!({}));
    let uris: Vec<&str> =
        listed["resources"].as_array().unwrap().iter().map(|one| one["uri"].as_str().unwrap()).collect();
    assert_eq!(uris, ["ravenry://agents", "ravenry://tasks", "ravenry://inbox"]);
    let mut read = |uri: &str| {
        let read = client.request("resources/read", json!({ "uri": uri }));
        assert_eq!(read["contents"][0]["mimeType"], "application/json");
        serde_json::from_str::<serde_json::Value>(read["contents"][0]["text"].as_str().unwrap()).unwrap()
    };
    assert_eq!(read("ravenry://agents")["agents"].as_array().unwrap().len(), 2);
    assert_eq!(read("ravenry://inbox")["messages"][0]["text"], "> hello");
    assert_eq!(read("ravenry://inbox")["messages"][0]["text"], "> hello", "reading takes nothing");
    assert_eq!(read("ravenry://tasks")["tasks"], json!([]));
}

#[test]
fn who_subscribes_is_told_of_changes() {
    let (env, mut client) = with_peer();
    let me = client.name();
    let is_about = |uri: &'static str| {
        move |message: &serde_json::Value| {
            message["method"] == "notifications/resources/updated" && message["params"]["uri"] == uri
        }
    };
    for uri in ["ravenry://inbox", "ravenry://agents", "ravenry://tasks"] {
        client.request("resources/subscribe", json!({ "uri": uri }));
    }
    // A change counts only once the watcher has started, so changes are made until one is reported.
    let mut tell = |change: &dyn Fn(usize), uri: &'static str| {
        let mut tries = 0;
        wait_until("it is told", || {
            tries += 1;
            change(tries);
            client.ok("agents", json!({}));
            client.take_kept(is_about(uri)).is_some()
        });
    };
    tell(&|_| drop(env.ok(&["send", &me, "hi", "--as", "Peer"])), "ravenry://inbox");
    tell(&|n| drop(env.ok(&["set-status", &format!("{n}"), "--as", "Peer"])), "ravenry://agents");
    let claim = |n: usize| {
        let args: &[&str] = if n % 2 == 1 {
            &["claim", "x", "--adhoc", "--as", "Peer"]
        } else {
            &["unclaim", "--as", "Peer"]
        };
        drop(env.ok(args));
    };
    tell(&claim, "ravenry://tasks");
    let id = client.ask("resources/subscribe", json!({ "uri": "ravenry://no/such" }));
    assert_eq!(client.answer(id)["error"]["code"], -32002);
}

/// After unsubscribing a client gets no more notifications, and after subscribing again it gets each one once.
#[test]
fn who_unsubscribes_is_left_alone() {
    let (env, mut client) = with_peer();
    let me = client.name();
    let is_about = |uri: &'static str| {
        move |message: &serde_json::Value| {
            message["method"] == "notifications/resources/updated" && message["params"]["uri"] == uri
        }
    };
    let (mail, crowd) = (is_about("ravenry://inbox"), is_about("ravenry://agents"));
    let ask =
        |client: &mut Client, method: &str, uri: &str| drop(client.request(method, json!({ "uri": uri })));
    ask(&mut client, "resources/subscribe", "ravenry://inbox");
    wait_until("it is told", || {
        env.ok(&["send", &me, "hi", "--as", "Peer"]);
        client.ok("agents", json!({}));
        client.take_kept(mail).is_some()
    });
    ask(&mut client, "resources/unsubscribe", "ravenry://inbox");
    ask(&mut client, "resources/subscribe", "ravenry://agents");
    while client.take_kept(mail).is_some() {}
    // One watcher sees both, in this order.
    env.ok(&["send", &me, "unheard", "--as", "Peer"]);
    env.ok(&["set-status", "something else", "--as", "Peer"]);
    client.wait_for("word of the agents", crowd);
    env.ok(&["set-status", "and once more", "--as", "Peer"]);
    client.wait_for("word of the agents", crowd);
    assert!(client.take_kept(mail).is_none(), "it had enough of that");
    for _ in 0..3 {
        ask(&mut client, "resources/unsubscribe", "ravenry://agents");
        ask(&mut client, "resources/subscribe", "ravenry://inbox");
        ask(&mut client, "resources/unsubscribe", "ravenry://inbox");
    }
    while client.take_kept(|_| true).is_some() {}
    ask(&mut client, "resources/subscribe", "ravenry://inbox");
    env.ok(&["send", &me, "heard", "--as", "Peer"]);
    client.wait_for("word of the mail", mail);
    client.ok("agents", json!({}));
    assert!(client.take_kept(mail).is_none(), "one change is told once");
}

/// An error has the same parts as on the command line: kind, message, hints.
#[test]
fn a_damaged_mesh_is_told_of() {
    let (env, mut client) = with_peer();
    client.name();
    fs::write(env.mesh().join("claims.json"), "{").unwrap();
    let said = client.call("task", json!({ "action": "claim", "id": "x", "adhoc": true }));
    let told = env.run(&["claim", "x", "--adhoc", "--as", "Peer", "--json"]).expect_code(4).json();
    assert_eq!(said.structured["error"], told["error"]);
    fs::write(env.home().join("broken"), "").unwrap();
    client.ok("agents", json!({}));
}

#[test]
fn a_bug_of_ours_is_an_answer() {
    let env = TestEnvironment::new();
    let mut command = crate::support::mcp_client::server(&env, "claude");
    command.env(ravenry::sys::test_switches::PANIC, "boom");
    let mut client = Client::greeted(command);
    assert_eq!(client.fails("agents", json!({})), "bug");
    assert_eq!(client.fails("inbox", json!({ "wait": 1 })), "bug");
}
