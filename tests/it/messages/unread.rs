//! A question or a delegation that nobody reads: its sender is told once, and it stays.

use std::process::Stdio;

use ravenry::domain::hook::HookAnswer;
use ravenry::sys::test_switches::{CRASH_AT, NOW};
use serde_json::Value;

use super::{at, sent_at_noon, two};
use crate::support::environment::{TestEnvironment, end};
use crate::support::hook_call::{Call, session_of};

const NEARLY: &str = "2030-01-02T12:14:59.000Z";
const LATER: &str = "2030-01-02T12:15:00.000Z";

#[track_caller]
fn send(env: &TestEnvironment, args: &[&str]) -> String {
    sent_at_noon(env, args)["short"].as_str().unwrap().to_string()
}

/// What Alice reads at that time.
fn told(env: &TestEnvironment, time: &str) -> Vec<String> {
    let read = at(env, time, &["read", "--as", "Alice"]);
    let texts = read["messages"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap());
    texts.map(str::to_string).collect()
}

#[test]
fn a_sender_is_told_once_and_the_message_stays() {
    for kind in ["question", "delegate"] {
        let env = two();
        let id = send(&env, &["may I?", "--kind", kind]);
        assert_eq!(told(&env, NEARLY), Vec::<String>::new());
        let text = format!("Bob has not read your {kind} {id}, sent 15min ago. It stays in the inbox.");
        assert_eq!(told(&env, LATER), [text]);
        for _ in 0..3 {
            assert_eq!(told(&env, LATER), Vec::<String>::new(), "once");
        }
        assert_eq!(at(&env, LATER, &["receipt", &id, "--as", "Alice"])["state"], "stored");
        assert_eq!(at(&env, LATER, &["read", "--as", "Bob"])["messages"][0]["text"], "may I?");
        assert_eq!(at(&env, LATER, &["receipt", &id, "--as", "Alice"])["state"], "surfaced");
        assert_eq!(at(&env, LATER, &["history", "Bob", "--as", "Alice"])["messages"][0]["text"], "may I?");
    }
}

#[test]
fn other_kinds_and_what_was_read_are_not_reported() {
    let env = two();
    for args in [&["x"][..], &["x", "--kind", "block"], &["x", "--kind", "info"], &["x", "--want-ack"]] {
        send(&env, args);
    }
    send(&env, &["x", "--kind", "question", "--ttl", "5m"]);
    assert_eq!(told(&env, LATER), Vec::<String>::new(), "what has expired is not unread");
    let id = send(&env, &["x", "--kind", "question"]);
    at(&env, NEARLY, &["ack", &id, "--as", "Bob"]);
    assert_eq!(told(&env, LATER), Vec::<String>::new());
}

/// How the recipient was to be woken stays known, also after the sender was told.
#[test]
fn a_receipt_keeps_the_way_of_waking() {
    let env = two();
    Call::new(&env, "claude/UserPromptSubmit", &session_of("Bob")).answer(&env);
    let id = send(&env, &["may I?", "--kind", "question"]);
    let wake = || at(&env, LATER, &["receipt", &id, "--as", "Alice"])["wake"].clone();
    assert_eq!(wake(), "hook");
    assert_eq!(told(&env, LATER).len(), 1);
    assert_eq!(wake(), "hook");
    assert_eq!(told(&env, LATER), Vec::<String>::new());
}

/// The recipient is gone: its mail is in its grave.
#[test]
fn what_waits_for_one_who_is_gone_is_reported() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let bob = env.join("Bob");
    let id = send(&env, &["may I?", "--kind", "question"]);
    env.kill(bob);
    env.ok(&["agents"]);
    let text = format!(
        "Bob is gone, and has not read your question {id}, sent 15min ago. It gets it if it comes back."
    );
    assert_eq!(told(&env, LATER), [text]);
    assert_eq!(told(&env, LATER), Vec::<String>::new());
}

#[test]
fn one_notice_tells_of_all_and_a_stop_gives_it() {
    let env = two();
    for _ in 0..7 {
        send(&env, &["may I?", "--kind", "question"]);
    }
    let stop = Call::new(&env, "claude/Stop", &session_of("Alice"));
    let stopping = || stop.understand(&end(stop.command(&env).env(NOW, LATER)));
    let HookAnswer::GoOn(text) = stopping() else { panic!("it stops") };
    assert!(text.starts_with("[msg, ") && text.ends_with("\n> 2 more are unread."), "{text}");
    assert_eq!(text.matches("Bob has not read your question ").count(), 5, "{text}");
    assert_eq!(stopping(), HookAnswer::Silence);
}

/// Several processes of the sender look at once.
#[test]
fn of_several_processes_one_tells_it() {
    let env = two();
    for round in 0..3 {
        send(&env, &[&format!("number {round}"), "--kind", "question"]);
        let spawn = |_| {
            let mut reader = env.msg();
            reader.args(["read", "--as", "Alice", "--json"]).env(NOW, LATER);
            reader.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let readers: Vec<_> = (0..4).map(spawn).collect();
        let count = |reader: std::process::Child| {
            let answer: Value = serde_json::from_slice(&reader.wait_with_output().unwrap().stdout).unwrap();
            answer["messages"].as_array().unwrap().len()
        };
        let all: usize = readers.into_iter().map(count).sum();
        assert_eq!(all + told(&env, LATER).len(), 1, "round {round}");
    }
}

/// A process that dies while it tells leaves it to the next one: twice is better than never.
#[test]
fn a_crash_loses_no_notice() {
    let mut step = 0;
    loop {
        step += 1;
        let env = two();
        send(&env, &["may I?", "--kind", "question"]);
        let at = step.to_string();
        let ended = env.run_with(&["read", "--as", "Alice"], &[(NOW, LATER), (CRASH_AT, &at)]);
        let said = usize::from(ended.stdout.contains("has not read your question"));
        let all = said + told(&env, LATER).len();
        assert!((1..=2).contains(&all), "step {step}: told {all} times");
        assert_eq!(told(&env, LATER), Vec::<String>::new(), "step {step}");
        if ended.code == Some(0) {
            break;
        }
        assert!(step < 60);
    }
    assert!(step > 3);
}
