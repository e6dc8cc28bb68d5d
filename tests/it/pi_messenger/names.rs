//! Names of pi-messenger's agents that differ from what `msg` accepts.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{pi, texts};
use crate::support::environment::TestEnvironment;

/// The texts in an inbox.
fn inbox(env: &TestEnvironment, name: &str) -> Vec<String> {
    let files = fs::read_dir(env.mesh().join("inbox").join(name)).unwrap();
    let read = |file: fs::DirEntry| {
        let message: Value = serde_json::from_slice(&fs::read(file.path()).unwrap()).unwrap();
        message["text"].as_str().unwrap().to_string()
    };
    files.map(|file| read(file.unwrap())).collect()
}

#[test]
fn a_name_in_its_own_spelling_is_preferred() {
    let env = TestEnvironment::new();
    env.join("Wren");
    env.join("Robin");
    pi(&env, "wren", json!({}));
    let sent = env.ok(&["send", "wren", "for the pi agent", "--as", "Robin"]);
    assert_eq!(sent["sent"][0]["to"], "wren");
    assert_eq!(inbox(&env, "wren"), ["for the pi agent"]);
    let id = sent["sent"][0]["id"].as_str().unwrap();
    assert_eq!(env.ok(&["receipt", id, "--as", "Robin"])["state"], "stored");
    assert_eq!(env.ok(&["whois", "wren"])["agent"]["name"], "wren");
    env.ok(&["send", "Wren", "for ours", "--as", "Robin"]);
    assert_eq!(texts(&env, "Wren"), ["for ours"]);
    // Nobody has exactly that name: case makes no difference.
    assert_eq!(env.ok(&["send", "ROBIN", "hello", "--as", "Wren"])["sent"][0]["to"], "Robin");
}

#[test]
fn both_spellings_can_be_written_to_at_once() {
    let env = TestEnvironment::new();
    env.join("Wren");
    env.join("Robin");
    pi(&env, "wren", json!({}));
    let to = |report: &Value| -> Vec<String> {
        let sent = report["sent"].as_array().unwrap().iter();
        sent.map(|copy| copy["to"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(to(&env.ok(&["send", "Wren,wren", "for both", "--as", "Robin"])), ["Wren", "wren"]);
    assert_eq!(to(&env.ok(&["broadcast", "for all", "--as", "Robin"])), ["Wren", "wren"]);
    assert_eq!(to(&env.ok(&["broadcast", "from Wren", "--as", "Wren"])), ["Robin", "wren"]);
    assert_eq!(inbox(&env, "wren").len(), 3);
}

#[test]
fn doctor_warns_of_names_that_differ_only_in_case() {
    let env = TestEnvironment::new();
    env.join("Wren");
    assert_snapshot!(env.doctor_says("registry"), @"ok: 1 agent is there");
    pi(&env, "wren", json!({}));
    assert_snapshot!(env.doctor_says("registry"), @"
    ok: 2 agents are there
    warn: the names Wren and wren differ only in case
    fix: spell them exactly, or let one of the two take another
    ");
}
