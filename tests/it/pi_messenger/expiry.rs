//! Reservations and messages that expire. pi-messenger does not know about expiry: it obeys whatever is in the registration.

use std::fs;

use ravenry::sys::test_switches::NOW;
use serde_json::json;

use super::pi;
use crate::support::environment::{TestEnvironment, files_in};

/// An agent that has reserved a path for a minute.
fn with_reservation() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.join("Wren");
    env.join("Robin");
    env.ok(&["reserve", "src/auth/", "--ttl", "1m", "--as", "Wren"]);
    env
}

fn is_listed(env: &TestEnvironment) -> bool {
    env.registration("Wren").to_string().contains("src/auth/")
}

/// Runs a command two minutes later.
#[track_caller]
fn later(env: &TestEnvironment, args: &[&str]) {
    let now = (jiff::Timestamp::now() + jiff::SignedDuration::from_mins(2)).to_string();
    env.run_with(args, &[(NOW, &now)]).expect_code(0);
}

#[test]
fn the_owners_next_write_drops_an_expired_reservation() {
    let env = with_reservation();
    env.ok(&["set-status", "still mine", "--as", "Wren"]);
    assert!(is_listed(&env), "it is not over yet");
    later(&env, &["set-status", "working", "--as", "Wren"]);
    assert!(!is_listed(&env));
}

#[test]
fn whoever_changes_something_drops_an_expired_reservation_of_another() {
    let host = |env: &TestEnvironment| env.host().to_string();
    for command in ["agents", "doctor", "reserve", "release", "join"] {
        let env = with_reservation();
        env.ok(&["reserve", "docs/", "--as", "Robin"]);
        match command {
            "agents" => later(&env, &["agents"]),
            "doctor" => later(&env, &["doctor", "--repair"]),
            "reserve" => later(&env, &["reserve", "tests/", "--as", "Robin"]),
            "release" => later(&env, &["release", "--as", "Robin"]),
            _ => later(&env, &["join", "Rook", "--pid", &host(&env), "--session", "rook"]),
        }
        assert!(!is_listed(&env), "{command}");
    }
}

/// They bind nobody, and pi-messenger, which takes no lock, may take the name while we would write.
#[test]
fn an_expired_reservation_of_a_dead_agent_stays_until_it_is_buried() {
    for args in [["reserve", "tests/", "--as", "Robin"].as_slice(), &["release", "--as", "Robin"]] {
        let env = TestEnvironment::new();
        let host = env.join("Wren");
        env.join("Robin");
        env.ok(&["reserve", "src/auth/", "--ttl", "1m", "--as", "Wren"]);
        env.kill(host);
        let path = env.mesh().join("registry/Wren.json");
        let before = fs::read(&path).unwrap();
        later(&env, args);
        assert_eq!(fs::read(&path).unwrap(), before, "{args:?}");
        later(&env, &["doctor", "--repair"]);
        assert!(!path.exists(), "{args:?}");
    }
}

#[test]
fn looking_at_paths_changes_no_registration() {
    let env = with_reservation();
    later(&env, &["check", "src/auth/x", "--as", "Robin"]);
    assert!(is_listed(&env));
}

#[test]
fn a_registration_of_pi_is_never_rewritten() {
    let env = with_reservation();
    let over = json!([{ "pattern": "docs/", "since": "2026-11-14T10:00:00.000Z", "expiresAt": "2026-11-14T10:00:01.000Z" }]);
    pi(&env, "PiBird", json!({ "reservations": over }));
    let path = env.mesh().join("registry/PiBird.json");
    let before = fs::read(&path).unwrap();
    later(&env, &["doctor", "--repair"]);
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// pi-messenger gets the text, however late it reads its inbox.
#[test]
fn a_message_to_pi_never_expires() {
    let env = TestEnvironment::new();
    env.join("Wren");
    pi(&env, "Pipit", json!({}));
    let sent = env.ok(&["send", "Pipit", "src/auth is free", "--ttl", "1m", "--as", "Wren"]);
    let id = sent["sent"][0]["id"].as_str().unwrap();
    assert_eq!(env.ok(&["show", id, "--as", "Wren"])["message"]["expiresAt"], serde_json::Value::Null);
    later(&env, &["receipt", id, "--as", "Wren"]);
    later(&env, &["history", "--as", "Wren"]);
    let is_text = |file: &std::path::PathBuf| fs::read_to_string(file).unwrap().contains("src/auth is free");
    assert_eq!(files_in(&env.mesh().join("inbox/Pipit")).iter().filter(|file| is_text(file)).count(), 1);
    let now = (jiff::Timestamp::now() + jiff::SignedDuration::from_mins(2)).to_string();
    let receipt = env.run_with(&["receipt", id, "--as", "Wren", "--json"], &[(NOW, &now)]).json();
    assert_eq!(receipt["state"], "stored", "{receipt}");
}
