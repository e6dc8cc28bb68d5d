//! Tests of the tab *Runs* on a terminal.

use ravenry::sys::test_switches;

use super::screen::Screen;
use crate::runs::{detached, put_profiles, script, wait_for_state};
use crate::support::environment::TestEnvironment;

/// From the agents to the runs.
const TO_RUNS: &str = "\x1b[Z\x1b[Z\x1b[Z";

#[test]
fn a_person_watches_reads_and_stops_runs() {
    let env = TestEnvironment::new();
    put_profiles(&env, &format!("{}{}", script("echo", "cat"), script("slow", "sleep 600")));
    let mut screen = Screen::open_with(&env, &["Robin"], &[(test_switches::LOOK_MS, "50")]);
    screen.wait_for("Robin · nobody else");
    screen.write(TO_RUNS);
    screen.wait_for("No runs yet.");
    // What others start appears by itself, and so does its end.
    let slow = detached(&env, "slow", "wait for ever");
    screen.wait_for("running");
    screen.wait_for("1 at work · 0 ended");
    let echo = detached(&env, "echo", "say it");
    wait_for_state(&env, &echo, "done");
    screen.wait_for("1 at work · 1 ended");
    screen.write("\r");
    screen.wait_for("wait for ever");
    screen.wait_for("s stop · Esc back");
    screen.write("s");
    screen.wait_for(&format!("Stop run {slow}? y: yes"));
    screen.write("n");
    screen.wait_for(&format!("run {slow} goes on"));
    screen.write("sy");
    screen.wait_for(&format!("run {slow} is told to wrap up"));
    wait_for_state(&env, &slow, "stopped");
    screen.wait_for(&format!("{slow} stopped"));
    screen.write("\x1b");
    screen.wait_for("0 at work · 2 ended");
    screen.write("\x03");
    assert!(screen.end().success());
}
