//! Tests of how a heads-up ends in the feed: once, in one phrase, whoever finds it out.

use std::process::{Child, Stdio};

use ravenry::sys::test_switches::NOW;
use serde_json::Value;

use super::{edit_at, told_of_login};
use crate::support::environment::{TestEnvironment, end};

const NOON: &str = "2026-11-15T12:00:00Z";
const ONE: &str = "2026-11-15T13:00:00Z";
const EVENING: &str = "2026-11-15T20:01:00Z";

fn run_at(env: &TestEnvironment, now: &str, args: &[&str]) {
    end(env.msg().args(args).env(NOW, now)).expect_code(0);
}

/// The lines of the feed about the ends of heads-ups, without their ages.
fn endings(env: &TestEnvironment, args: &[&str]) -> Vec<String> {
    let feed = env.run(&[&["feed", "--limit", "1000"], args].concat()).expect_code(0).stdout;
    let line = |line: &str| line.split_once(" ago").map(|(_, rest)| rest.trim().to_string());
    let lines = feed.lines().filter_map(line);
    lines.filter(|line| line.contains(" and Robin")).collect()
}

#[test]
fn a_collision_is_told_at_the_edit_that_makes_it() {
    let env = told_of_login();
    edit_at(&env, "Robin", "src/auth/login.rs", ONE);
    assert_eq!(endings(&env, &[]), [""; 0], "Robin was there before");
    edit_at(&env, "Alice", "src/ui/theme.rs", ONE);
    assert_eq!(endings(&env, &[]), [""; 0], "that is another file");
    edit_at(&env, "Alice", "src/auth/login.rs", ONE);
    let expected = ["Alice and Robin met in src/auth/login.rs, as the heads-up said"];
    assert_eq!(endings(&env, &[]), expected, "before anybody looks");
    edit_at(&env, "Alice", "src/auth/login.rs", ONE);
    run_at(&env, NOON, &["overlaps", "--all"]);
    run_at(&env, EVENING, &["overlaps", "--accuracy"]);
    assert_eq!(endings(&env, &[]), expected, "once");
    assert_eq!(endings(&env, &["--agent", "Robin"]), expected, "it is about both");
    assert_eq!(endings(&env, &["--kind", "heads-up-occurred"]), expected);
}

#[test]
fn what_was_avoided_is_told_and_so_is_a_false_alarm() {
    let env = told_of_login();
    run_at(&env, NOON, &["send", "Robin", "may I?", "--as", "Alice"]);
    run_at(&env, NOON, &["overlaps"]);
    assert_eq!(endings(&env, &[]), [""; 0], "they may still meet");
    run_at(&env, EVENING, &["overlaps"]);
    let expected = ["Alice and Robin did not collide in src/auth/login.rs: the heads-up was heeded"];
    assert_eq!(endings(&env, &[]), expected);

    let env = told_of_login();
    run_at(&env, EVENING, &["overlaps"]);
    run_at(&env, EVENING, &["overlaps", "--all"]);
    assert_eq!(endings(&env, &[]), ["Alice and Robin did not meet in src/auth/login.rs: a false alarm"]);
}

#[test]
fn an_agent_that_left_and_a_dismissal_are_told_of_login() {
    let env = told_of_login();
    run_at(&env, NOON, &["leave", "--as", "Robin"]);
    run_at(&env, NOON, &["overlaps"]);
    let expected = ["Alice and Robin did not meet in src/auth/login.rs: one of them is gone"];
    assert_eq!(endings(&env, &[]), expected);

    let env = told_of_login();
    let found = end(env.msg().args(["overlaps", "--json"]).env(NOW, NOON)).expect_code(0).json();
    let id = found["predictions"][0]["id"].as_str().unwrap().to_string();
    run_at(&env, NOON, &["overlaps", "dismiss", &id]);
    run_at(&env, EVENING, &["overlaps"]);
    assert_eq!(endings(&env, &[]), ["Alice and Robin in src/auth/login.rs: the heads-up was dismissed"]);
}

#[test]
fn many_that_look_at_once_tell_it_once() {
    let env = told_of_login();
    let look = || {
        let mut command = env.msg();
        command.arg("overlaps").env(NOW, EVENING).stdout(Stdio::null()).spawn().unwrap()
    };
    let lookers: Vec<Child> = (0..8).map(|_| look()).collect();
    for mut looker in lookers {
        assert!(looker.wait().unwrap().success());
    }
    let feed = env.ok(&["feed", "--kind", "heads-up-false-alarm", "--limit", "100"]);
    let events: &Vec<Value> = feed["events"].as_array().unwrap();
    assert_eq!(events.len(), 1, "{events:?}");
    let (agent, target, preview) = (&events[0]["agent"], &events[0]["target"], &events[0]["preview"]);
    assert_eq!((agent, target, preview), (&"Alice".into(), &"Robin".into(), &"src/auth/login.rs".into()));
}
