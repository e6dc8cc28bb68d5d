//! Tests of the person in the chat as an agent: joined, seen, renamed, evicted, gone.

use std::fs;

use super::screen::{LEAVE_SCREEN, Screen};
use crate::effects::block_notices;
use crate::support::environment::{TestEnvironment, wait_until};

#[test]
fn whoever_had_joined_stays() {
    let env = TestEnvironment::new();
    let host = env.host();
    env.ok(&["join", "Robin", "--pid", &host.to_string(), "--harness", "terminal"]);
    let mut screen = Screen::open(&env, &["--as", "Robin"]);
    screen.wait_for("Robin · nobody else");
    screen.write("\x03");
    assert_eq!(screen.end().code(), Some(0));
    assert!(screen.is_restored());
    assert_eq!(env.names(), ["Robin"]);
}

#[test]
fn a_person_is_registered_as_one_and_gone_with_the_program() {
    let env = TestEnvironment::new();
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · nobody else");
    let registration = env.registration("Robin");
    assert_eq!(registration["isHuman"], true);
    assert_eq!(registration["harness"], "terminal");
    assert_eq!(registration["pid"], screen.child.id());
    screen.child.kill().unwrap();
    screen.end();
    assert!(env.names().is_empty());
}

#[test]
fn evicted_it_says_so() {
    let env = TestEnvironment::new();
    env.join("SwiftRaven");
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · 1 peer");
    env.ok(&["evict", "Robin", "--force", "--as", "SwiftRaven"]);
    assert_eq!(screen.end().code(), Some(3));
    assert!(screen.is_restored());
}

#[test]
fn looking_is_no_sign_of_life() {
    let env = TestEnvironment::new();
    env.join("SwiftRaven");
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("1 peer");
    let touched = || fs::metadata(env.mesh().join("presence/Robin")).unwrap().modified().unwrap();
    let before = touched();
    for status in ["one", "two", "three"] {
        env.ok(&["set-status", status, "--as", "SwiftRaven"]);
        screen.wait_for(status);
    }
    assert_eq!(touched(), before, "nobody was at the keyboard");
    screen.write("x");
    wait_until("a key is one", || touched() > before);
}

#[test]
fn a_new_name_is_followed() {
    let env = TestEnvironment::new();
    env.join("SwiftRaven");
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · 1 peer");
    env.ok(&["rename", "Alice", "--as", "Robin"]);
    screen.wait_for("Alice · 1 peer");
    screen.write("@SwiftRaven it is me\r");
    screen.wait_for("stored for SwiftRaven");
    assert_eq!(env.ok(&["read", "--as", "SwiftRaven"])["messages"][0]["from"], "Alice");
    screen.write("\x03");
    assert_eq!(screen.end().code(), Some(0));
    assert_eq!(env.names(), ["SwiftRaven"]);
}

/// Those of joining are on the screen, and those of leaving are printed when the terminal is given back.
#[test]
fn warnings_are_shown() {
    let env = TestEnvironment::new();
    let holder = env.join("SwiftRaven");
    env.join("GoldFalcon");
    env.ok(&["reserve", "src/", "--as", "SwiftRaven"]);
    env.fails(1, &["reserve", "src/x", "--as", "GoldFalcon"]);
    env.kill(holder);
    block_notices(&env);
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("could not tell GoldFalcon what is free");
    let on_screen = screen.written.lock().unwrap().len();
    screen.write("\x03");
    assert_eq!(screen.end().code(), Some(0));
    let written = screen.written.lock().unwrap()[on_screen..].to_string();
    let after = written.rsplit(LEAVE_SCREEN).next().unwrap();
    assert!(after.contains(": could not tell GoldFalcon what is free"), "{after}");
}
