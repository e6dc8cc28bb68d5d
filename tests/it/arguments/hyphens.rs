//! Tests that a text may begin with a hyphen.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::support::environment::{TestEnvironment, put};

/// Texts that look like options and are not.
const TEXTS: [&str; 7] = [
    "-harness is broken",
    "- item one\n- item two",
    "-h is not a flag here",
    "-qv",
    "--wnat-ack",
    "--- cut ---",
    "-1",
];

fn pair() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.join("Al");
    env.join("Bo");
    env
}

/// Reads the agent's unread messages.
fn read(env: &TestEnvironment, name: &str) -> Vec<String> {
    let read = env.ok(&["read", "--as", name]);
    let text = |message: &Value| message["text"].as_str().unwrap().to_string();
    read["messages"].as_array().unwrap().iter().map(text).collect()
}

#[test]
fn in_messages() {
    let env = pair();
    for text in TEXTS {
        for send in [
            &["send", "Bo", text, "--as", "Al"][..],
            &["--as", "Al", "send", "Bo", text],
            &["send", "--as=Al", "--thread", "t", "Bo", "--want-ack", text, "-q"],
            &["broadcast", text, "--as", "Al"],
            &["broadcast", "--here", "--as", "Al", "--", text],
        ] {
            env.run(send).expect_code(0);
            assert_eq!(read(&env, "Bo"), [text], "{send:?}");
        }
        let id =
            env.ok(&["send", "Al", "hello", "--as", "Bo"])["sent"][0]["id"].as_str().unwrap().to_string();
        assert_eq!(read(&env, "Al"), ["hello"]);
        env.ok(&["reply", &id, text, "--as", "Al"]);
        assert_eq!(read(&env, "Bo"), [text]);
    }
}

#[test]
fn in_status_notes_and_reasons() {
    let env = pair();
    put(&env.work().join("spec.md"), "- [ ] T-1: One\n- [ ] T-2: Two\n");
    for name in ["Al", "Bo"] {
        env.ok(&["spec", "spec.md", "--as", name]);
    }
    // A status and a reason are one line.
    for text in TEXTS.iter().filter(|text| !text.contains('\n')) {
        let set = env.ok(&["set-status", text, "--as", "Al"]);
        assert_eq!(set["agent"]["statusMessage"], *text);
        let held = env.ok(&["reserve", "y", "--reason", text, "--as", "Al"]);
        assert_eq!(held["reservations"][0]["reason"], *text);
        let claim = env.ok(&["claim", "T-1", "--reason", text, "--as", "Al"]);
        assert_eq!(claim["claim"]["reason"], *text);
        env.ok(&["unclaim", "--as", "Al"]);
    }
    let notes = TEXTS[1];
    env.ok(&["claim", "--next", "--as", "Al"]);
    env.ok(&["handoff", "T-1", "Bo", "--notes", notes, "--as", "Al"]);
    assert!(read(&env, "Bo")[0].contains("item one"));
    let done = env.ok(&["complete", "T-1", "--notes", notes, "--as", "Bo"]);
    assert_eq!(done["completion"]["notes"], notes);
}

#[test]
fn a_known_flag_stays_one() {
    let env = pair();
    for help in
        [&["send", "Bo", "-h"][..], &["send", "Bo", "--help"], &["complete", "T", "--notes", "x", "-h"]]
    {
        let ended = env.run(help).expect_code(0);
        assert!(ended.stdout.contains("Usage: msg"), "{help:?}: {ended}");
    }
    // Nothing is sent without a text, and an option in the place of a value is not a value.
    assert_eq!(env.fails(2, &["send", "Bo", "--want-ack", "--as", "Al"]), "empty");
    assert_eq!(env.fails(2, &["complete", "T", "--notes", "--tick", "--as", "Al"]), "usage");
    assert_eq!(env.fails(2, &["send", "Bo", "hi", "--wnat-ack", "--as", "Al"]), "usage");
    assert!(read(&env, "Bo").is_empty());
    // After `--` every word is text.
    env.run(&["send", "--as", "Al", "--", "Bo", "--want-ack"]).expect_code(0);
    assert_eq!(read(&env, "Bo"), ["--want-ack"]);
}

#[test]
fn a_hyphen_alone_is_standard_input() {
    let env = pair();
    let mut command = env.msg();
    let mut child = command.args(["send", "Bo", "-", "--as", "Al"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"- from a pipe").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(read(&env, "Bo"), ["- from a pipe"]);
}
