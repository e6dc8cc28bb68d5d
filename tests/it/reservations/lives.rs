//! A reservation ends with its agent, at once, and comes back with it if nobody else has taken the path.

use std::fs;

use serde_json::{Value, json};

use super::{assert_free, assert_held, listed, refused, reserve, two};
use crate::support::environment::TestEnvironment;

/// Alice comes back in another process.
fn back(env: &TestEnvironment) -> Value {
    env.ok(&["join", "--pid", &env.host().to_string(), "--session", "session of Alice"])
}

/// Alice, whose host can be killed, and Bob.
fn alice() -> (TestEnvironment, u32) {
    let env = TestEnvironment::new();
    let host = env.join("Alice");
    env.join("Bob");
    (env, host)
}

#[test]
fn it_dies_with_its_agent_at_once() {
    let (env, host) = alice();
    reserve(&env, "Alice", &["src/", "*.md"]);
    assert_held(&env, "Bob", &["src/x"], "Alice");
    env.kill(host);
    // She is not buried yet, and this check does not bury her.
    assert_free(&env, "Bob", &["src/x", "a.md"]);
    assert!(env.mesh().join("registry/Alice.json").exists());
    assert!(listed(&env).is_empty());
    reserve(&env, "Bob", &["src/x"]);
}

#[test]
fn whom_nobody_can_tell_of_keeps_it() {
    let (env, host) = alice();
    reserve(&env, "Alice", &["src/"]);
    let mut registration = env.registration("Alice");
    registration["process"]["pidNs"] = json!("pid:[1]");
    fs::write(env.mesh().join("registry/Alice.json"), registration.to_string()).unwrap();
    env.kill(host);
    assert_held(&env, "Bob", &["src/x"], "Alice");
    refused(&env, "Bob", &["src/x"]);
    env.ok(&["evict", "Alice", "--as", "Bob"]);
    assert_free(&env, "Bob", &["src/x"]);
}

#[test]
fn leaving_and_being_evicted_free_it() {
    let env = two();
    reserve(&env, "Alice", &["src/"]);
    assert_eq!(env.ok(&["leave", "--as", "Alice"])["released"], 1);
    assert_free(&env, "Bob", &["src/x"]);
    assert_eq!(back(&env)["agent"]["reservations"], json!([]), "who left gave it up");
    reserve(&env, "Alice", &["src/"]);
    env.ok(&["evict", "Alice", "--force", "--as", "Bob"]);
    assert_free(&env, "Bob", &["src/x"]);
    assert_eq!(back(&env)["agent"]["reservations"], json!([]), "from who was evicted it was taken");
}

#[test]
fn it_goes_along_with_a_new_name() {
    let env = two();
    reserve(&env, "Alice", &["src/"]);
    env.ok(&["rename", "Carol", "--as", "Alice"]);
    assert_held(&env, "Bob", &["src/x"], "Carol");
    assert_free(&env, "Carol", &["src/x"]);
    assert_free(&env, "Alice", &["src/x"]);
    assert_eq!(reserve(&env, "Alice", &["src/"])["renewed"], 1, "the old name is hers as well");
    assert_eq!(listed(&env), ["Carol src/"]);
    env.ok(&["release", "src/", "--as", "Alice"]);
    assert_free(&env, "Bob", &["src/x"]);
}

#[test]
fn a_new_session_id_in_the_same_process_keeps_it() {
    let (env, host) = alice();
    reserve(&env, "Alice", &["src/"]);
    env.ok(&["join", "--pid", &host.to_string(), "--session", "after clear"]);
    assert_held(&env, "Bob", &["src/x"], "Alice");
    assert_free(&env, "Alice", &["src/x"]);
    assert_eq!(reserve(&env, "Alice", &["src/"])["renewed"], 1);
}

#[test]
fn who_comes_back_gets_what_would_be_granted_now() {
    for is_buried in [true, false] {
        let (env, host) = alice();
        reserve(&env, "Alice", &["src/", "docs/", "*.md"]);
        env.ok(&["reserve", "lib/", "--ttl", "1s", "--as", "Alice"]);
        let since = env.registration("Alice")["reservations"][0]["since"].clone();
        env.kill(host);
        if is_buried {
            assert_eq!(env.names(), ["Bob"]);
        }
        reserve(&env, "Bob", &["docs/a/"]);
        let later = "2027-11-15T12:00:00.000Z";
        let join = ["join", "--pid", &env.host().to_string(), "--session", "session of Alice"];
        let said = super::run_at(&env, later, &join).expect_code(0).json();
        assert_eq!(said["lost"], json!(["docs/"]), "buried: {is_buried}: {said}");
        assert_eq!(listed(&env), ["Alice *.md", "Alice src/", "Bob docs/a/"], "buried: {is_buried}");
        assert_eq!(env.registration("Alice")["reservations"][0]["since"], since, "as old as before");
        assert_held(&env, "Bob", &["src/x", "a.md"], "Alice");
    }
}

#[test]
fn who_lost_nothing_is_told_nothing() {
    let (env, host) = alice();
    reserve(&env, "Alice", &["src/"]);
    env.kill(host);
    let said = back(&env);
    assert_eq!(said.get("lost"), None, "{said}");
    assert_eq!(said["agent"]["reservations"][0]["pattern"], "src/");
}

/// An agent that takes the name of a dead one gets nothing else of it.
#[test]
fn a_stranger_under_a_dead_ones_name_gets_none_of_it() {
    let (env, host) = alice();
    reserve(&env, "Alice", &["src/"]);
    env.kill(host);
    let stranger = env.ok(&["join", "Alice", "--pid", &env.host().to_string(), "--session", "stranger"]);
    assert_eq!(stranger["agent"]["reservations"], json!([]));
    assert_free(&env, "Bob", &["src/x"]);
}

#[test]
fn a_registration_that_vanished_takes_from_nobody() {
    let env = two();
    reserve(&env, "Alice", &["src/", "docs/"]);
    fs::remove_file(env.mesh().join("registry/Alice.json")).unwrap();
    assert_free(&env, "Bob", &["src/x", "docs/x"]);
    reserve(&env, "Bob", &["docs/"]);
    insta::assert_snapshot!(env.run(&["whoami", "--as", "Alice", "--json"]).expect_code(0).stderr, @"
    note: the registration of Alice was missing; it has been written again
    note: other agents now hold what you held: `docs/`
    ");
    assert_eq!(listed(&env), ["Alice src/", "Bob docs/"]);
    refused(&env, "Alice", &["docs/"]);
}

/// Changes of the status and other members of a registration do not affect its reservations.
#[test]
fn what_else_changes_in_a_registration_leaves_it_alone() {
    let (env, host) = alice();
    reserve(&env, "Alice", &["src/"]);
    env.ok(&["set-status", "thinking", "--as", "Alice"]);
    env.ok(&["join", "--pid", &host.to_string(), "--model", "gpt-9"]);
    assert_eq!(listed(&env), ["Alice src/"]);
}
