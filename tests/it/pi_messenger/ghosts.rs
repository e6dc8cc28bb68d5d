//! Tests with a dead agent of pi-messenger whose pid now belongs to another process.

use serde_json::json;

use super::write_pi;
use crate::support::environment::TestEnvironment;

const LONG_AGO: &str = "2020-01-01T00:00:00.000Z";

#[test]
fn a_pid_that_went_to_another_process_keeps_nothing_for_a_dead_pi() {
    let env = TestEnvironment::new();
    env.join("Wren");
    let reservations = json!([{ "pattern": "src/", "since": LONG_AGO }]);
    write_pi(&env, "PiOld", env.host(), json!({ "startedAt": LONG_AGO, "reservations": reservations }));
    assert_eq!(env.names(), ["Wren"]);
    assert_eq!(env.fails(1, &["send", "PiOld", "into the void", "--as", "Wren"]), "not_running");
    env.ok(&["check", "src/x", "--as", "Wren"]);
    env.ok(&["reserve", "src/", "--as", "Wren"]);
    // Its name is free too.
    env.join("PiOld");
}

#[test]
fn a_task_of_such_a_pi_is_free() {
    let env = TestEnvironment::new();
    env.join("Wren");
    std::fs::write(env.work().join("spec.md"), "- [ ] T-1: one\n").unwrap();
    env.ok(&["spec", "spec.md", "--as", "Wren"]);
    let host = env.host();
    write_pi(&env, "PiOld", host, json!({ "startedAt": LONG_AGO }));
    let spec = env.work().canonicalize().unwrap().join("spec.md");
    let claim =
        json!({ "agent": "PiOld", "sessionId": "pi session of PiOld", "pid": host, "claimedAt": LONG_AGO });
    let claims = json!({ spec.to_str().unwrap(): { "T-1": claim } });
    std::fs::write(env.mesh().join("claims.json"), claims.to_string()).unwrap();
    assert_eq!(env.ok(&["claim", "T-1", "--as", "Wren"])["claim"]["agent"], "Wren");
}

/// If the clock was set forward since, a live pi seems younger than its registration.
#[test]
fn a_live_pi_outlives_a_clock_that_was_set() {
    let env = TestEnvironment::new();
    env.join("Wren");
    let reservations = json!([{ "pattern": "src/", "since": LONG_AGO }]);
    write_pi(&env, "PiBird", env.pi_host(), json!({ "startedAt": LONG_AGO, "reservations": reservations }));
    assert_eq!(env.names(), ["PiBird", "Wren"]);
    assert_eq!(env.fails(1, &["reserve", "src/", "--as", "Wren"]), "reserved");
}
