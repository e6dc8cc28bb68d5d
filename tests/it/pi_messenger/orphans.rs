//! Mail for an agent of pi-messenger that renames itself in between, and for agents that are gone.

use std::fs;
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;
use nix::sys::signal::{Signal, kill};
use ravenry::sys::test_switches::NOW;
use serde_json::json;

use super::{pi, pi_removes, write_pi};
use crate::lock_order::{ended, pid, stop_at};
use crate::support::environment::{TestEnvironment, date, wait_until};

/// Wren wrote to Old, which renamed itself before it read its inbox. Returns the message's id.
fn renamed() -> (TestEnvironment, String) {
    let env = TestEnvironment::new();
    env.join("Wren");
    let host = pi(&env, "Old", json!({}));
    let sent = env.ok(&["send", "Old", "hello", "--as", "Wren"]);
    write_pi(&env, "New", host, json!({ "sessionId": "pi session of Old" }));
    pi_removes(&env, "Old");
    (env, sent["sent"][0]["id"].as_str().unwrap().to_string())
}

fn count(env: &TestEnvironment, name: &str) -> usize {
    fs::read_dir(env.mesh().join("inbox").join(name)).map_or(0, Iterator::count)
}

#[test]
fn whoever_looks_around_forwards_the_mail_of_a_pi_that_renamed_itself() {
    let (env, _) = renamed();
    assert_eq!((count(&env, "Old"), count(&env, "New")), (1, 0));
    env.ok(&["agents"]);
    assert_eq!((count(&env, "Old"), count(&env, "New")), (0, 1));
}

#[test]
fn a_receipt_tells_that_a_pi_renamed_itself() {
    let (env, id) = renamed();
    let receipt = env.ok(&["receipt", &id, "--as", "Wren"]);
    assert_eq!(
        (&receipt["state"], &receipt["reason"]),
        (&json!("stored"), &json!("Old is called New now, and gets it there"))
    );
    assert_eq!((count(&env, "Old"), count(&env, "New")), (0, 1));
    assert_eq!(env.ok(&["receipt", &id, "--as", "Wren"])["state"], "stored");
}

#[test]
fn doctor_shows_mail_that_nobody_looks_at() {
    let (env, _) = renamed();
    assert_snapshot!(env.doctor_says("mail"), @"
    warn: one unread message for Old, and nobody is called that: its owner is called New now
    fix: run `msg doctor --repair`
    ");
    assert_eq!(count(&env, "Old"), 1, "looking moves nothing");
    env.ok(&["doctor", "--repair"]);
    assert_eq!((count(&env, "Old"), count(&env, "New")), (0, 1));
}

/// If the process or the session differs, it is another agent, and the mail is not forwarded to it.
#[test]
fn mail_is_forwarded_to_nobody_else() {
    let env = TestEnvironment::new();
    env.join("Wren");
    let host = pi(&env, "Old", json!({}));
    let sent = env.ok(&["send", "Old", "hello", "--as", "Wren"]);
    pi_removes(&env, "Old");
    env.kill(host);
    pi(&env, "New", json!({ "sessionId": "pi session of Old" }));
    env.ok(&["agents"]);
    env.ok(&["doctor", "--repair"]);
    assert_eq!((count(&env, "Old"), count(&env, "New")), (1, 0));
    let receipt = env.ok(&["receipt", sent["sent"][0]["id"].as_str().unwrap(), "--as", "Wren"]);
    assert_eq!(receipt["reason"], "nobody is called Old now");
}

/// Senders write while a pi renames itself again and again.
#[test]
fn nothing_is_left_under_the_names_of_a_pi_that_keeps_renaming_itself() {
    let env = TestEnvironment::new();
    env.join("Wren");
    let host = pi(&env, "Pi0", json!({ "sessionId": "s" }));
    let (dir, mut sent) = (env.mesh(), 0);
    for round in 0..20 {
        let (old, new) = (format!("Pi{round}"), format!("Pi{}", round + 1));
        let mut send = env.msg();
        let mut child = send
            .args(["send", &old, "hello", "--as", "Wren"])
            .stderr(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        write_pi(&env, &new, host, json!({ "sessionId": "s" }));
        pi_removes(&env, &old);
        remove_if_empty(&env, &old);
        sent += usize::from(child.wait().unwrap().success());
        env.ok(&["agents"]);
    }
    let there = |name: String| fs::read_dir(dir.join("inbox").join(name)).map_or(0, Iterator::count);
    assert_eq!((0..20).map(|round| there(format!("Pi{round}"))).sum::<usize>(), 0);
    assert_eq!(there("Pi20".to_string()), sent);
}

/// Does what pi-messenger does with the inbox of a name that it gave up.
fn remove_if_empty(env: &TestEnvironment, name: &str) {
    fs::remove_dir(env.mesh().join("inbox").join(name)).ok();
}

/// The sender is stopped at every step, and the pi renames itself in between.
#[test]
fn a_message_goes_to_the_name_that_a_pi_has_by_then() {
    let env = TestEnvironment::new();
    env.join("Wren");
    let host = pi(&env, "Pi0", json!({ "sessionId": "s" }));
    let mut stops = 0;
    for step in 1.. {
        let (old, new) = (format!("Pi{stops}"), format!("Pi{}", stops + 1));
        let mut send = env.msg();
        send.args(["send", &old, "hello", "--as", "Wren"]);
        let Some(sender) = stop_at(&mut send, step) else { break };
        stops += 1;
        write_pi(&env, &new, host, json!({ "sessionId": "s" }));
        pi_removes(&env, &old);
        remove_if_empty(&env, &old);
        let is_first = count(&env, &old) == 0;
        kill(pid(&sender), Signal::SIGCONT).unwrap();
        let (code, said) = ended(sender);
        let sent = usize::from(code == Some(0));
        if is_first {
            assert_eq!((count(&env, &old), count(&env, &new)), (0, sent), "stopped at {step}: {said}");
        }
        env.ok(&["agents"]);
        assert_eq!((count(&env, &old), count(&env, &new)), (0, sent), "stopped at {step}: {said}");
        fs::remove_dir_all(env.mesh().join("inbox").join(&new)).unwrap();
        fs::create_dir(env.mesh().join("inbox").join(&new)).unwrap();
    }
    assert!(stops >= 5, "it was stopped {stops} times");
}

#[test]
fn a_pi_that_was_just_killed_is_among_the_gone() {
    let env = TestEnvironment::new();
    env.join("Wren");
    let host = pi(&env, "PiBird", json!({}));
    env.kill(host);
    let gone = env.ok(&["agents", "--gone"]);
    assert_eq!(
        (&gone["agents"][0]["name"], &gone["agents"][0]["why"]),
        (&json!("PiBird"), &json!("ended")),
        "{gone}"
    );
}

#[test]
fn a_former_name_leads_into_the_grave() {
    let env = TestEnvironment::new();
    env.join("Wren");
    let host = env.join("Ben");
    env.ok(&["rename", "Bob", "--as", "Ben"]);
    env.kill(host);
    env.ok(&["doctor", "--repair"]);
    wait_until("it is buried", || !env.mesh().join("registry/Bob.json").exists());
    let refused = env.run(&["send", "Ben", "hi", "--as", "Wren", "--json"]).expect_code(1);
    assert_eq!(
        (refused.kind(), &refused.json()["error"]["agent"]),
        ("not_running".to_string(), &json!("Bob"))
    );
    assert_eq!(env.fails(1, &["whois", "Ben"]), "not_running");
    let held = env.ok(&["send", "Ben,Bob", "hi", "--hold", "--as", "Wren"]);
    assert_eq!(held["sent"][0]["to"], "Bob", "{held}");
    assert_eq!(held["sent"].as_array().unwrap().len(), 1, "one agent gets one copy: {held}");
    let back = env.ok(&["join", "--pid", &env.host().to_string(), "--session", "session of Ben"]);
    assert_eq!((&back["agent"]["name"], &back["agent"]["unread"]), (&json!("Bob"), &json!(1)));
    let later = (jiff::Timestamp::now() + jiff::SignedDuration::from_mins(11)).to_string();
    let unknown = env.run_with(&["whois", "Ben", "--json"], &[(NOW, &later)]).expect_code(1);
    assert_eq!(unknown.kind(), "unknown_agent");
}

/// A former name of an agent that is gone does not hide the agent that has its last name now.
#[test]
fn who_has_the_name_of_one_who_is_gone_gets_a_copy_too() {
    let env = TestEnvironment::new();
    env.join("Wren");
    env.join("Ben");
    env.ok(&["rename", "Bob", "--as", "Ben"]);
    env.ok(&["leave", "--as", "Bob"]);
    let host = env.host().to_string();
    env.ok(&["join", "Bob", "--pid", &host, "--session", "another"]);
    for names in ["Ben,Bob", "Bob,Ben"] {
        let sent = env.ok(&["send", names, "hi", "--hold", "--as", "Wren"]);
        assert_eq!(sent["sent"].as_array().unwrap().len(), 2, "{names}: {sent}");
        let some = env.run(&["send", names, "hi", "--as", "Wren", "--json"]).expect_code(1).json();
        assert_eq!(some["sent"].as_array().unwrap().len(), 1, "{names}: {some}");
        assert_eq!(some["failed"].as_array().unwrap().len(), 1, "{names}: {some}");
    }
    assert_eq!(env.ok(&["read", "--as", "Bob"])["messages"].as_array().unwrap().len(), 4);
}

#[test]
fn how_long_somebody_has_been_gone_is_said_in_words() {
    let env = TestEnvironment::at("2024-05-17T09:30:00.000Z");
    env.join("Wren");
    env.join("Ben");
    env.ok(&["leave", "--as", "Ben"]);
    let later = |args: &[&str]| env.run_with(args, &[(NOW, "2024-05-17T09:42:00.000Z")]);
    assert_snapshot!(later(&["whois", "Ben"]), @"
    [exit 1]
    --- stderr
    error: Ben is gone: it left 12min ago
    hint: `msg agents --gone` lists everyone who left
    ");
    assert_snapshot!(later(&["send", "Ben", "hi", "--as", "Wren"]), @"
    [exit 1]
    --- stderr
    error: Ben has been gone for 12min: it left
    hint: `--hold` keeps the message until it comes back
    ");
}

/// The note that records which agent of pi-messenger owns an inbox.
fn note(env: &TestEnvironment, name: &str) -> std::path::PathBuf {
    env.mesh().join("seen").join(name).join(".owner")
}

/// A pi gives up the name Fox; an agent of ours takes it, gets mail and is killed; pi removes its registration.
#[test]
fn mail_of_a_dead_agent_is_not_forwarded_to_the_pi_that_had_its_name_before() {
    let env = TestEnvironment::new();
    env.join("Wren");
    let pi_host = pi(&env, "Fox", json!({}));
    env.ok(&["send", "Fox", "for the pi", "--as", "Wren"]);
    fs::remove_dir_all(env.mesh().join("inbox/Fox")).unwrap();
    let old_note = fs::read(note(&env, "Fox")).unwrap();
    write_pi(&env, "Owl", pi_host, json!({ "sessionId": "pi session of Fox" }));
    pi_removes(&env, "Fox");
    let host = env.join("Fox");
    assert!(!note(&env, "Fox").exists(), "whoever takes the name removes the note");
    env.ok(&["send", "Fox", "for ours", "--as", "Wren"]);
    // Earlier versions left the note in place.
    fs::write(note(&env, "Fox"), old_note).unwrap();
    date(&note(&env, "Fox"), SystemTime::now() - Duration::from_secs(3600));
    env.kill(host);
    pi_removes(&env, "Fox");
    env.ok(&["agents"]);
    env.ok(&["doctor", "--repair"]);
    assert_eq!((count(&env, "Fox"), count(&env, "Owl")), (1, 0));
    let back = env.ok(&["join", "--pid", &env.host().to_string(), "--session", "session of Fox"]);
    assert_eq!((&back["agent"]["name"], &back["agent"]["unread"]), (&json!("Fox"), &json!(1)));
}

#[test]
fn a_note_is_gone_once_the_mail_is_forwarded() {
    let (env, _) = renamed();
    assert!(note(&env, "Old").exists());
    env.ok(&["agents"]);
    assert!(!note(&env, "Old").exists());
    assert!(note(&env, "New").exists(), "the new name may be gone as soon as the old one");
}
