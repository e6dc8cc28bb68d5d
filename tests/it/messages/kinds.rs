//! Kinds of messages: what each of them means, and messages that expire.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;

use ravenry::domain::hook::HookAnswer;
use ravenry::sys::test_switches::{CRASH_AT, NOW};
use serde_json::{Value, json};

use super::{NOON, at, sent_at_noon, two};
use crate::support::environment::{TestEnvironment, end, files_in, put, wait_until};
use crate::support::hook_call::{Call, session_of};
use crate::support::mcp_client::Client;

const NEARLY: &str = "2030-01-02T12:04:59.999Z";
const LATER: &str = "2030-01-02T12:05:00.000Z";

/// Sends to Bob as Alice at noon; returns the id.
#[track_caller]
fn send(env: &TestEnvironment, args: &[&str]) -> String {
    sent_at_noon(env, args)["id"].as_str().unwrap().to_string()
}

#[track_caller]
fn state(env: &TestEnvironment, time: &str, id: &str) -> String {
    at(env, time, &["receipt", id, "--as", "Alice"])["state"].as_str().unwrap().to_string()
}

fn texts(answer: &Value) -> Vec<&str> {
    answer["messages"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect()
}

#[test]
fn a_message_says_its_kind_everywhere() {
    let env = two();
    for kind in ["question", "block", "delegate", "handoff", "claim", "release", "ack", "info"] {
        let id = send(&env, &["about auth", "--kind", kind]);
        let urgent = if kind == "block" { "urgent" } else { "normal" };
        let listed = &at(&env, NOON, &["inbox", "--as", "Bob"])["messages"][0];
        assert_eq!((&listed["kind"], &listed["importance"]), (&json!(kind), &json!(urgent)));
        let shown = env.run_with(&["inbox", "--as", "Bob"], &[(NOW, NOON)]).stdout;
        assert!(shown.lines().next().unwrap().contains(&format!("  {kind}")), "{shown}");
        let text = env.run_with(&["read", "--as", "Bob"], &[(NOW, NOON)]).stdout;
        let header = text.lines().next().unwrap();
        assert!(header.contains(&format!(", {kind},")), "{text}");
        assert_eq!(header.contains(", wants an answer,"), ["question", "block"].contains(&kind), "{text}");
        for name in ["Alice", "Bob"] {
            assert_eq!(at(&env, NOON, &["show", &id, "--as", name])["message"]["kind"], kind);
            let history = at(&env, NOON, &["history", "--as", name]);
            assert_eq!(history["messages"].as_array().unwrap().last().unwrap()["kind"], kind);
        }
    }
    let feed = env.run(&["feed"]).stdout;
    assert!(feed.contains("→ Bob (question)") && feed.contains("→ Bob (info)"), "{feed}");
    let events = env.ok(&["feed", "--kind", "message"]);
    assert_eq!(events["events"][0]["messageKind"], "question", "{events}");
    let plain = send(&env, &["hello"]);
    let shown = at(&env, NOON, &["show", &plain, "--as", "Bob"]);
    assert_eq!((&shown["message"]["kind"], &shown["message"]["expiresAt"]), (&Value::Null, &Value::Null));
}

#[test]
fn what_a_sender_says_counts_more_than_the_kind() {
    let env = two();
    let importance = |args: &[&str]| {
        let id = send(&env, args);
        let message = at(&env, NOON, &["show", &id, "--as", "Alice"])["message"].clone();
        (message["importance"].clone(), message["expiresAt"].clone())
    };
    assert_eq!(importance(&["x", "--kind", "block"]), (json!("urgent"), Value::Null));
    assert_eq!(importance(&["x", "--kind", "block", "--importance", "low"]).0, "low");
    assert_eq!(importance(&["x", "--kind", "release"]).1, LATER);
    assert_eq!(importance(&["x", "--kind", "release", "--ttl", "1h"]).1, "2030-01-02T13:00:00.000Z");
    assert_eq!(importance(&["x", "--ttl", "90"]), (json!("normal"), json!("2030-01-02T12:01:30.000Z")));
}

#[test]
fn bad_kinds_and_times_are_refused() {
    let env = two();
    for bad in [["--kind", "shout"], ["--kind", ""], ["--ttl", "soon"], ["--ttl", "0"], ["--ttl", "400d"]] {
        let args = [&["send", "Bob", "x", "--as", "Alice"], &bad[..]].concat();
        assert_eq!(env.fails(2, &args), "invalid_value", "{bad:?}");
    }
    assert!(env.mail().is_empty());
    insta::assert_snapshot!(env.run(&["send", "Bob", "x", "--kind", "shout", "--as", "Alice"]), @r"
    [exit 2]
    --- stderr
    error: there is no kind of message `shout`
    hint: one of: question, block, delegate, handoff, claim, release, ack, info
    ");
}

#[test]
fn an_expired_message_is_not_handed_over_by_anything() {
    let env = two();
    let id = send(&env, &["src/auth is free", "--kind", "release"]);
    assert_eq!(texts(&at(&env, NEARLY, &["inbox", "--as", "Bob"])), ["src/auth is free"]);
    let unread = |time: &str| at(&env, time, &["statusline", "--as", "Bob"])["unread"].clone();
    assert_eq!((unread(NEARLY), unread(LATER)), (json!(1), json!(0)));
    assert_eq!(at(&env, LATER, &["whois", "Bob"])["agent"]["unread"], 0);
    assert!(texts(&at(&env, LATER, &["inbox", "--as", "Bob"])).is_empty());
    let hook = |fixture: &str| {
        let call = Call::new(&env, fixture, &session_of("Bob"));
        call.understand(&end(call.command(&env).env(NOW, LATER)))
    };
    for fixture in ["claude/UserPromptSubmit", "claude/PostToolUse-Bash", "claude/Stop", "codex/Stop"] {
        assert_eq!(hook(fixture), HookAnswer::Silence, "{fixture}");
    }
    for args in [["history", "--as", "Bob"], ["read", "--as", "Bob"]] {
        assert!(texts(&at(&env, LATER, &args)).is_empty(), "{args:?}");
    }
    let waited = env.run_with(&["wait", "--timeout", "0", "--as", "Bob", "--json"], &[(NOW, LATER)]);
    assert_eq!(waited.expect_code(5).kind(), "timed_out");
    let shown = env.run_with(&["show", &id, "--as", "Bob", "--json"], &[(NOW, LATER)]);
    assert_eq!(shown.expect_code(1).kind(), "unknown_message");
    assert_eq!(at(&env, LATER, &["show", &id, "--as", "Alice"])["place"], "sent");
    let receipt = at(&env, LATER, &["receipt", &id, "--as", "Alice"]);
    assert_eq!(
        (&receipt["state"], &receipt["via"], &receipt["at"]),
        (&json!("expired"), &json!("expired"), &json!(LATER))
    );
    insta::assert_snapshot!(
        env.run_with(&["receipt", &id, "--as", "Alice"], &[(NOW, LATER)]).stdout.split_once(' ').unwrap().1,
        @"to Bob: expired 0s ago: Bob did not read it in time"
    );
}

#[test]
fn an_mcp_client_gets_no_expired_message() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let mut client = Client::of(&env, "claude");
    let me = client.name();
    let old = [(NOW, "2020-01-02T12:00:00.000Z")];
    env.run_with(&["send", &me, "old news", "--ttl", "1m", "--as", "Alice"], &old).expect_code(0);
    assert_eq!(client.ok("inbox", json!({})).text, "no mail");
    let question = json!({ "to": ["Alice"], "text": "may I?", "kind": "question" });
    let id = client.ok("message", question).structured["sent"][0]["id"].as_str().unwrap().to_string();
    assert_eq!(env.ok(&["read", "--as", "Alice"])["messages"][0]["kind"], "question");
    let receipt = |client: &mut Client| client.ok("message", json!({ "action": "receipt", "id": id }));
    let said = receipt(&mut client);
    assert!(said.structured["answer"] == "owed" && said.text.ends_with("; no answer yet"), "{}", said.text);
    env.ok(&["reply", &id, "yes", "--as", "Alice"]);
    assert_eq!(receipt(&mut client).structured["answer"], "given");
}

/// The sender asks, and nobody has looked since it expired.
#[test]
fn a_receipt_records_what_nobody_has_looked_at() {
    let env = two();
    let [stored, parked, kept] = ["stored", "parked", "kept"].map(|text| send(&env, &[text, "--ttl", "5m"]));
    let file = |number: usize| files_in(&env.mesh().join("inbox/Bob"))[number].clone();
    let second = file(1);
    let stem = second.file_stem().unwrap().to_str().unwrap();
    fs::rename(&second, second.with_file_name(format!(".{stem}.parked"))).unwrap();
    assert_eq!(state(&env, NEARLY, &parked), "stored");
    for id in [&stored, &parked] {
        assert_eq!(state(&env, LATER, id), "expired");
        assert_eq!(state(&env, NOON, id), "expired", "a clock that is set back brings nothing back");
    }
    assert!(texts(&at(&env, NOON, &["read", "--as", "Bob"])).is_empty());
    assert_eq!(state(&env, NOON, &kept), "expired", "it was in the way of the others");
}

#[test]
fn what_was_handed_over_in_time_does_not_expire() {
    let env = two();
    let id = send(&env, &["in time", "--ttl", "5m"]);
    assert_eq!(texts(&at(&env, NEARLY, &["read", "--as", "Bob"])), ["in time"]);
    assert_eq!(state(&env, LATER, &id), "surfaced");
    let id = send(&env, &["confirmed", "--ttl", "5m"]);
    at(&env, NEARLY, &["ack", &id, "--as", "Bob"]);
    assert_eq!(state(&env, LATER, &id), "acked");
}

/// The mail of an agent that is gone waits in its grave.
#[test]
fn what_waits_for_one_who_is_gone_expires_too() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let bob = env.join("Bob");
    let ids = ["one", "two"].map(|text| send(&env, &[text, "--ttl", "5m"]));
    env.kill(bob);
    env.ok(&["agents"]);
    assert_eq!(state(&env, NEARLY, &ids[0]), "gone");
    assert_eq!(state(&env, LATER, &ids[0]), "expired");
    env.join("Bob");
    assert!(texts(&at(&env, LATER, &["read", "--as", "Bob"])).is_empty());
    assert_eq!(state(&env, NOON, &ids[1]), "expired");
}

/// A reader that died had taken it: it is unread again, and its time is over.
#[test]
fn what_a_dead_reader_had_taken_expires() {
    let env = two();
    let id = send(&env, &["taken", "--ttl", "5m"]);
    let is_taken = || env.mail().iter().any(|file| file.contains("/."));
    let dies_at = |step: usize| {
        let step = step.to_string();
        env.run_with(&["read", "--as", "Bob"], &[(NOW, NEARLY), (CRASH_AT, &step)]);
        is_taken()
    };
    assert!((1..20).any(dies_at), "{:?}", env.mail());
    assert_eq!(at(&env, LATER, &["statusline", "--as", "Bob"])["unread"], 0);
    assert!(texts(&at(&env, LATER, &["read", "--as", "Bob"])).is_empty());
    assert_eq!(state(&env, NOON, &id), "expired");
}

/// The clock was set back after other messages were sent: the time to live counts from the present time.
#[test]
fn a_clock_that_was_set_back_lengthens_no_life() {
    let env = two();
    at(&env, "2031-01-01T00:00:00.000Z", &["send", "Bob", "from the future", "--as", "Alice"]);
    let id = send(&env, &["now", "--ttl", "5m"]);
    assert_eq!(at(&env, NOON, &["show", &id, "--as", "Alice"])["message"]["expiresAt"], LATER);
    assert_eq!(texts(&at(&env, LATER, &["read", "--as", "Bob"])), ["from the future"]);
    assert_eq!(state(&env, LATER, &id), "expired");
}

/// Readers for which it is still time and a sender for which it is over, all at once.
#[test]
fn a_message_is_handed_over_or_expires_and_never_both() {
    const MESSAGES: usize = 8;
    let env = two();
    let spawn = |time: &str, args: &[&str]| {
        let mut command = env.msg();
        command.args(args).arg("--json").env(NOW, time);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let (mut handed_over, mut expired) = (0, 0);
    wait_until("there is one of each fate", || {
        let ids: Vec<String> = (0..MESSAGES).map(|_| send(&env, &["now or never", "--ttl", "5m"])).collect();
        let read = ["read", "--limit", "2", "--as", "Bob"];
        let readers: Vec<_> = (0..3).map(|_| spawn(NEARLY, &read)).collect();
        let asker = spawn(LATER, &["receipt", &ids[MESSAGES - 1], "--as", "Alice"]);
        let mut read: BTreeMap<String, usize> = BTreeMap::new();
        for reader in readers {
            let answer: Value = serde_json::from_slice(&reader.wait_with_output().unwrap().stdout).unwrap();
            for message in answer["messages"].as_array().unwrap() {
                *read.entry(message["id"].as_str().unwrap().to_string()).or_default() += 1;
            }
        }
        assert!(asker.wait_with_output().unwrap().status.success());
        for id in &ids {
            let fate = state(&env, LATER, id);
            match read.get(id) {
                Some(1) => assert_eq!(fate, "surfaced", "{id}"),
                None => assert_eq!(fate, "expired", "{id}"),
                times => panic!("{id} was handed over {times:?} times"),
            }
        }
        assert!(env.mail().is_empty(), "{:?}", env.mail());
        handed_over += read.len();
        expired += ids.len() - read.len();
        handed_over > 0 && expired > 0
    });
}

/// pi-messenger reads every `*.json` and ignores keys that it does not know; what it or an earlier release wrote has no
/// kind.
#[test]
fn files_of_others_have_no_kind_and_ours_have_all_their_keys() {
    let env = two();
    let id = send(&env, &["may I?", "--kind", "question", "--ttl", "5m"]);
    let file = files_in(&env.mesh().join("inbox/Bob")).remove(0);
    assert!(file.extension().is_some_and(|extension| extension == "json"));
    let written: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let keys: Vec<&str> = written.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["id", "from", "to", "text", "timestamp", "replyTo", "kind", "expiresAt"]);
    assert_eq!((&written["id"], &written["kind"]), (&json!(id), &json!("question")));
    let mut plain = written.clone();
    for key in ["kind", "expiresAt"] {
        plain.as_object_mut().unwrap().shift_remove(key);
    }
    put(&file.with_file_name("1794700676113-gpvjoz.json"), &plain.to_string());
    let listed = at(&env, NOON, &["inbox", "--as", "Bob"]);
    let kinds: Vec<&Value> = listed["messages"].as_array().unwrap().iter().map(|one| &one["kind"]).collect();
    assert_eq!(kinds.len(), 2);
    assert!(kinds.contains(&&Value::Null) && kinds.contains(&&json!("question")), "{listed}");
}
