//! Tests of progress notifications and cancelled calls.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use crate::support::environment::{TestEnvironment, wait_until};
use crate::support::mcp_client::Client;

#[test]
fn who_waits_is_told_that_it_goes_on() {
    let env = TestEnvironment::new();
    let mut client = Client::of(&env, "claude");
    let params =
        json!({ "name": "inbox", "arguments": { "wait": 60 }, "_meta": { "progressToken": "mine" } });
    let id = client.ask("tools/call", params);
    let progress = client.wait_for("progress", |message| message["method"] == "notifications/progress");
    assert_eq!(progress["params"]["progressToken"], "mine");
    assert_eq!(progress["params"]["total"], 60.0);
    client.notify("notifications/cancelled", json!({ "requestId": id }));
    client.ok("agents", json!({}));
}

#[test]
fn a_wait_that_is_cancelled_takes_nothing_and_says_nothing() {
    let env = TestEnvironment::new();
    env.join("Peer");
    let mut client = Client::of(&env, "claude");
    let me = client.name();
    for round in 0..20 {
        let id = client.ask_tool("inbox", json!({ "wait": 60 }));
        client.notify("notifications/cancelled", json!({ "requestId": id, "reason": "enough" }));
        client.ok("agents", json!({}));
        env.ok(&["send", &me, &format!("after {round}"), "--as", "Peer"]);
        let said = client.ok("inbox", json!({ "wait": 60 }));
        assert_eq!(said.short_id(), [format!("after {round}")]);
    }
    client.is_silent_for(Duration::from_millis(50));
}

/// Mail and the cancellation of the wait for it arrive at the same time, repeatedly: mail is taken only if the call is
/// answered.
#[test]
fn mail_that_comes_with_the_cancellation_is_not_lost() {
    let env = TestEnvironment::new();
    env.join("Peer");
    let mut client = Client::of(&env, "claude");
    let me = client.name();
    let mut got = 0;
    for _ in 0..30 {
        let id = client.ask_tool("inbox", json!({ "wait": 60 }));
        let mut sending =
            env.msg().args(["send", &me, "hi", "--as", "Peer"]).stdout(Stdio::null()).spawn().unwrap();
        client.notify("notifications/cancelled", json!({ "requestId": id }));
        assert!(sending.wait().unwrap().success());
        // Either the answer was written before the cancellation was read, or it was not.
        client.ok("agents", json!({}));
        let answered = client.take_kept(|message| message["id"] == id);
        got += answered.map_or(0, |answer| {
            answer["result"]["_meta"]["ravenry/result"]["messages"].as_array().map_or(0, Vec::len)
        });
        let inbox = env.mesh().join("inbox").join(&me);
        let in_hand = || {
            let mut names = fs::read_dir(&inbox).unwrap().map(|entry| entry.unwrap().file_name());
            names.any(|name| name.to_str().unwrap().starts_with('.'))
        };
        wait_until("nothing is in hand", || !in_hand());
        got += client.ok("inbox", json!({})).structured["messages"].as_array().unwrap().len();
    }
    assert_eq!(got, 30);
}
