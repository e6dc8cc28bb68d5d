//! Tests of the tab *Overlaps* on a terminal, and of what is shown of the selected agent.

use std::fs;

use ravenry::sys::test_switches;
use serde_json::json;

use super::screen::Screen;
use crate::support::environment::{TestEnvironment, put};
use crate::support::hook_call::{Call, session_of};

/// The agent has changed a file.
fn changed(env: &TestEnvironment, name: &str, file: &str) {
    let call = Call::new(env, "claude/PostToolUse-Edit", &session_of(name))
        .with("/tool_input/file_path", json!(env.work().join(file)));
    call.answer(env);
}

fn join_claude(env: &TestEnvironment, name: &str) -> u32 {
    let pid = env.host();
    let (session, pid_text) = (session_of(name), pid.to_string());
    env.run(&["join", name, "--harness", "claude", "--session", &session, "--pid", &pid_text]).expect_code(0);
    pid
}

#[test]
fn overlaps_and_headings_follow_what_agents_do() {
    let env = TestEnvironment::new();
    for name in ["SwiftRaven", "GoldFalcon"] {
        join_claude(&env, name);
    }
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · 2 peers");
    screen.write("\x1b[Z");
    screen.wait_for("No agent in");
    for name in ["SwiftRaven", "GoldFalcon"] {
        changed(&env, name, "src/auth/login.rs");
    }
    screen.wait_for("100 %  GoldFalcon ↔ SwiftRaven  src/auth/login.rs");
    assert_eq!(screen.text().matches("100 %").count(), 1, "{}", screen.text());
    screen.write("hello");
    screen.wait_for("› hello");
    screen.write("\x15\t");
    screen.wait_for("─ GoldFalcon: not asked anything yet ─");
    screen.wait_for("changed     src/auth/login.rs");
    changed(&env, "GoldFalcon", "src/auth/session.rs");
    screen.wait_for("changed     src/auth/session.rs, src/auth/login.rs");
    screen.write("\x1b[B");
    screen.wait_for("─ SwiftRaven: not asked anything yet ─");
    screen.write("\x03");
    assert!(screen.end().success());
}

/// No file is written when a process ends.
#[test]
fn who_is_killed_is_no_longer_among_the_overlaps() {
    let env = TestEnvironment::new();
    join_claude(&env, "SwiftRaven");
    let pid = join_claude(&env, "GoldFalcon");
    for name in ["SwiftRaven", "GoldFalcon"] {
        changed(&env, name, "src/auth/login.rs");
    }
    let mut screen = Screen::open_with(&env, &["Robin"], &[(test_switches::LOOK_MS, "50")]);
    screen.wait_for("Robin · 2 peers");
    screen.write("\x1b[Z");
    screen.wait_for("GoldFalcon ↔ SwiftRaven");
    env.kill(pid);
    screen.wait_without("GoldFalcon ↔ SwiftRaven");
}

#[test]
fn overlaps_are_read_again_after_an_error_that_is_shown_once() {
    let env = TestEnvironment::new();
    let mut screen = Screen::open_with(&env, &["Robin"], &[(test_switches::LOOK_MS, "50")]);
    // Nothing is read yet, because there is no agent whose heading could be shown.
    screen.wait_for("Robin · ");
    let project = env.work().join(".ravenry/config.json");
    put(&project, "{");
    screen.write("\x1b[Z");
    screen.wait_for("config.json");
    // A key takes the notice away, and it does not come back at the next try.
    screen.write("hello");
    screen.wait_for("› hello");
    screen.wait_without("config.json");
    fs::remove_file(&project).unwrap();
    screen.wait_for("agent works in");
    assert!(!screen.text().contains("config.json"), "{}", screen.text());
}
