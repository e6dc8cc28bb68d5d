//! Contested reservations: who gets a path from a silent holder, and who does not.

use std::fs;

use ravenry::domain::hook::HookAnswer;
use serde_json::{Value, json};

use super::{assert_held, listed, refused, reserve, run_at};
use crate::support::environment::{TestEnvironment, wait_until};
use crate::support::hook_call::Call;

/// Alice holds `src/`; Bob and Carol want some of it. A holder has a second to answer.
fn scene() -> TestEnvironment {
    let env = TestEnvironment::new();
    for name in ["Alice", "Bob", "Carol"] {
        env.join(name);
    }
    env.ok(&["config", "set", "contestTimeout", "1"]);
    reserve(&env, "Alice", &["src/"]);
    env
}

fn contest(env: &TestEnvironment, name: &str, pattern: &str) -> Value {
    env.ok(&["contest", pattern, "--as", name])["contest"].clone()
}

/// The kind of the error that taking it ends with.
#[track_caller]
fn not_taken(env: &TestEnvironment, name: &str, pattern: &str) -> String {
    let kind = env.fails(1, &["release", pattern, "--from", "Alice", "--as", name]);
    assert_held(env, name, &["src/x"], "Alice");
    kind
}

fn is_over(env: &TestEnvironment, name: &str, pattern: &str) -> bool {
    let contest = contest(env, name, pattern);
    assert_eq!(contest["repeated"], true, "that is no new contest: {contest}");
    contest["secondsLeft"] == 0
}

#[track_caller]
fn wait_for_end(env: &TestEnvironment, name: &str, pattern: &str) {
    wait_until("the time is over", || is_over(env, name, pattern));
}

fn read(env: &TestEnvironment, name: &str) -> String {
    env.run(&["read", "--as", name]).expect_code(0).stdout
}

#[test]
fn who_is_silent_loses_it_to_the_first() {
    let env = scene();
    let first =
        env.ok(&["contest", "src/auth/", "--reason", "the release", "--as", "Bob"])["contest"].clone();
    assert_eq!((&first["pattern"], &first["holder"]), (&json!("src/auth/"), &json!("Alice")));
    assert_eq!(first["reservation"]["pattern"], "src/");
    assert!(first["until"].as_str() > first["since"].as_str(), "{first}");
    assert_eq!((&first["place"], &first["repeated"]), (&json!(1), &json!(false)));
    assert_eq!(contest(&env, "Carol", "src/")["place"], 2);
    let told = read(&env, "Alice");
    assert!(told.starts_with("[msg, urgent, ") && told.contains("Bob contests `src/`"), "{told}");
    assert!(told.contains("the release") && told.contains("Carol contests"), "{told}");
    wait_for_end(&env, "Carol", "src/");
    assert_eq!(not_taken(&env, "Carol", "src/"), "not_first");
    let taken = env.ok(&["release", "src/auth/", "--from", "Alice", "--as", "Bob"]);
    assert_eq!(taken["released"][0]["holder"], "Alice");
    assert_eq!(taken["reservations"][0]["pattern"], "src/auth/");
    assert_eq!(taken["reservations"][0]["reason"], "the release");
    assert_eq!(listed(&env), ["Bob src/auth/"], "Alice lost it whole");
    assert!(read(&env, "Alice").contains("Bob has taken `src/` from you"));
    let answer = Call::edit(&env, "session of Alice", "src/auth/x").answer(&env);
    assert!(matches!(&answer, HookAnswer::Deny(why) if why.contains("Bob")), "{answer:?}");
    // Carol is next.
    refused(&env, "Alice", &["src/auth/x"]);
    env.ok(&["release", "src/auth/", "--as", "Bob"]);
    assert_eq!(listed(&env), ["Carol src/"]);
    let told = read(&env, "Carol");
    assert!(told.contains("`src/` is yours now") && !told.contains("is free"), "{told}");
}

#[test]
fn not_before_the_time_is_over_and_not_without_a_contest() {
    let env = scene();
    env.ok(&["config", "set", "contestTimeout", "3600"]);
    assert_eq!(not_taken(&env, "Bob", "src/"), "not_contested");
    contest(&env, "Bob", "src/");
    assert_eq!(not_taken(&env, "Bob", "src/"), "too_early");
    assert_eq!(not_taken(&env, "Carol", "src/"), "not_contested");
    // A wall clock that jumps changes nothing.
    let later = run_at(&env, "2126-01-01T00:00:00Z", &["release", "src/", "--from", "Alice", "--as", "Bob"]);
    assert_eq!(later.expect_code(1).kind(), "too_early");
    assert_eq!(listed(&env), ["Alice src/"]);
    // Nor does a shorter time that is set later: the holder was told another one.
    env.ok(&["config", "set", "contestTimeout", "1"]);
    assert!(contest(&env, "Bob", "src/")["secondsLeft"].as_u64().unwrap() > 1);
    assert_eq!(not_taken(&env, "Bob", "src/"), "too_early");
}

/// Each answer is given when the time is over: then the clock runs once more, and only once.
#[test]
fn an_answer_restarts_the_clock_once() {
    for answer in [["send", "Bob", "I need it"].as_slice(), &["broadcast", "I need it"], &["reserve", "src/"]]
    {
        let env = scene();
        contest(&env, "Bob", "src/");
        wait_for_end(&env, "Bob", "src/");
        env.ok(&["config", "set", "contestTimeout", "3600"]);
        env.ok(&[answer, &["--as", "Alice"]].concat());
        assert_eq!(not_taken(&env, "Bob", "src/"), "too_early", "{answer:?}");
        assert_eq!(contest(&env, "Bob", "src/")["answered"], true);
        env.ok(&["config", "set", "contestTimeout", "1"]);
        wait_for_end(&env, "Bob", "src/");
        env.ok(&[answer, &["--as", "Alice"]].concat());
        env.ok(&["release", "src/", "--from", "Alice", "--as", "Bob"]);
        let kinds = env.ok(&["feed"]);
        let kinds: Vec<&str> =
            kinds["events"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(kinds.iter().filter(|kind| **kind == "answer").count(), 1, "{kinds:?}");
        assert!(kinds.ends_with(&["take"]) && kinds.contains(&"contest"), "{kinds:?}");
    }
}

/// Asking again moves nothing, neither while the time runs nor when it is over.
#[test]
fn the_end_stays_where_it_is_until_an_answer() {
    let env = scene();
    let until = || {
        let contest = contest(&env, "Bob", "src/");
        contest["until"].as_str().unwrap_or_else(|| panic!("{contest}")).to_string()
    };
    let first = until();
    assert_eq!(until(), first);
    wait_for_end(&env, "Bob", "src/");
    assert_eq!(until(), first, "the time is over");
    env.ok(&["send", "Bob", "I need it", "--as", "Alice"]);
    let second = until();
    assert!(second > first, "{first} {second}");
    assert_eq!(until(), second);
    wait_for_end(&env, "Bob", "src/");
    assert_eq!(until(), second);
}

#[test]
fn reading_mail_is_no_answer_and_other_messages_are_none() {
    let env = scene();
    env.ok(&["send", "Bob", "before the contest", "--as", "Alice"]);
    contest(&env, "Bob", "src/");
    read(&env, "Alice");
    env.ok(&["send", "Carol", "to somebody else", "--as", "Alice"]);
    env.ok(&["reserve", "docs/", "--as", "Alice"]);
    env.ok(&["set-status", "busy", "--as", "Alice"]);
    wait_for_end(&env, "Bob", "src/");
    env.ok(&["release", "src/", "--from", "Alice", "--as", "Bob"]);
    assert_eq!(listed(&env), ["Alice docs/", "Bob src/"]);
}

#[test]
fn an_edit_inside_is_a_sign() {
    let env = scene();
    let edit = |path: &str| {
        assert_eq!(Call::edit(&env, "session of Alice", path).answer(&env), HookAnswer::Silence);
        env.ok(&["read", "--as", "Alice"]);
    };
    env.ok(&["read", "--as", "Alice"]);
    contest(&env, "Bob", "src/auth/");
    env.ok(&["read", "--as", "Alice"]);
    edit("docs/x");
    wait_for_end(&env, "Bob", "src/auth/");
    edit("src/other/x");
    assert_eq!(not_taken(&env, "Bob", "src/auth/"), "at_work");
    // A new contest is a new round, and has the same rules.
    let again = contest(&env, "Bob", "src/auth/");
    assert_eq!((&again["repeated"], &again["secondsLeft"]), (&json!(false), &json!(1)));
    env.ok(&["read", "--as", "Alice"]);
    wait_for_end(&env, "Bob", "src/auth/");
    let command = Call::bash(&env, "PreToolUse", "session of Alice", "echo > src/y");
    assert_eq!(command.answer(&env), HookAnswer::Silence);
    assert_eq!(not_taken(&env, "Bob", "src/auth/"), "at_work");
    contest(&env, "Bob", "src/auth/");
    wait_for_end(&env, "Bob", "src/auth/");
    env.ok(&["release", "src/auth/", "--from", "Alice", "--as", "Bob"]);
}

#[test]
fn the_next_contester_is_first_when_the_first_is_gone() {
    for leave in [["leave"].as_slice(), &["release", "src/"], &["release"], &[]] {
        let env = scene();
        contest(&env, "Bob", "src/");
        contest(&env, "Carol", "src/x");
        match leave {
            [] => env.kill(u32::try_from(env.registration("Bob")["pid"].as_u64().unwrap()).unwrap()),
            leave => drop(env.ok(&[leave, &["--as", "Bob"]].concat())),
        }
        assert_eq!(contest(&env, "Carol", "src/x")["place"], 1, "{leave:?}");
        wait_for_end(&env, "Carol", "src/x");
        env.ok(&["release", "src/x", "--from", "Alice", "--as", "Carol"]);
        assert_eq!(listed(&env), ["Carol src/x"], "{leave:?}");
    }
}

/// Whatever ends the holder's reservation, the first contester has the path, and nobody else gets it first.
#[test]
fn a_path_goes_to_the_first_contester_when_its_holder_lets_go() {
    for leave in [["leave"].as_slice(), &["release"], &["rename", "Ann"], &[]] {
        let env = scene();
        contest(&env, "Bob", "src/auth/");
        contest(&env, "Carol", "src/auth/x");
        refused(&env, "Carol", &["src/"]);
        match leave {
            [] => env.kill(u32::try_from(env.registration("Alice")["pid"].as_u64().unwrap()).unwrap()),
            leave => drop(env.ok(&[leave, &["--as", "Alice"]].concat())),
        }
        if leave.first() == Some(&"rename") {
            assert_eq!(listed(&env), ["Ann src/"]);
            wait_for_end(&env, "Bob", "src/auth/");
            env.ok(&["release", "src/auth/", "--from", "Ann", "--as", "Bob"]);
        }
        refused(&env, "Carol", &["src/auth/x"]);
        assert_eq!(listed(&env), ["Bob src/auth/"], "{leave:?}");
        env.ok(&["reserve", "src/other", "--as", "Carol"]);
        if leave.first() != Some(&"rename") {
            assert!(read(&env, "Bob").contains("`src/auth/` is yours now"), "{leave:?}");
        }
        assert_eq!(env.registration("Bob")["reservations"][0]["pattern"], "src/auth/", "{leave:?}");
        env.ok(&["reserve", "src/auth/", "--as", "Bob"]);
        assert_eq!(listed(&env), ["Bob src/auth/", "Carol src/other"]);
    }
}

#[test]
fn a_person_may_at_any_time() {
    let env = scene();
    env.ok(&["config", "set", "contestTimeout", "3600"]);
    let free = env.ok(&["release", "src/", "--from", "Alice"]);
    assert_eq!((free["released"].as_array().unwrap().len(), &free["reservations"]), (1, &json!([])));
    assert!(listed(&env).is_empty());
    assert!(read(&env, "Alice").contains("A person has released `src/`"));
    reserve(&env, "Alice", &["src/"]);
    contest(&env, "Bob", "src/auth/");
    let given = env.ok(&["release", "src/", "--from", "Alice"]);
    assert_eq!(given["reservations"][0]["holder"], "Bob");
    assert_eq!(listed(&env), ["Bob src/auth/"]);
}

#[test]
fn nothing_is_taken_from_one_whose_process_can_not_be_checked() {
    let env = scene();
    contest(&env, "Bob", "src/");
    wait_for_end(&env, "Bob", "src/");
    let file = env.mesh().join("registry/Alice.json");
    let mut alice = env.registration("Alice");
    alice["process"]["pidNs"] = json!("pid:[1]");
    fs::write(&file, alice.to_string()).unwrap();
    assert_eq!(env.fails(1, &["release", "src/", "--from", "Alice", "--as", "Bob"]), "unknown_liveness");
    assert_eq!(listed(&env), ["Alice src/"]);
}

#[test]
fn of_two_reservations_the_one_that_is_named_exactly_is_contested() {
    let env = scene();
    reserve(&env, "Alice", &["src/auth/"]);
    assert_eq!(env.fails(1, &["contest", "src/auth/x", "--as", "Bob"]), "ambiguous_pattern");
    for pattern in ["src/auth/", "src/"] {
        assert_eq!(contest(&env, "Bob", pattern)["reservation"]["pattern"], pattern);
    }
    for pattern in ["src/auth/", "src/"] {
        wait_for_end(&env, "Bob", pattern);
    }
    assert_eq!(not_taken(&env, "Bob", "src/auth/"), "reserved", "the other one covers it");
    env.ok(&["release", "src/", "--from", "Alice", "--as", "Bob"]);
    assert_eq!(listed(&env), ["Bob src/"], "what is inside goes with it");
}

#[test]
fn what_can_be_contested() {
    let env = scene();
    reserve(&env, "Carol", &["lib/a*", "lib/**"]);
    let fails = |pattern: &str| {
        env.fails(if pattern == "mine" { 2 } else { 1 }, &["contest", pattern, "--as", "Bob"])
    };
    reserve(&env, "Bob", &["mine"]);
    assert_eq!(fails("mine"), "invalid_value");
    assert_eq!(fails("free"), "not_reserved");
    assert_eq!(fails("."), "not_reserved", "it only overlaps");
    assert_eq!(fails("lib/ab"), "ambiguous_pattern");
    assert_eq!(env.fails(1, &["release", "src/", "--from", "Carol", "--as", "Bob"]), "not_reserved");
    assert_eq!(env.fails(1, &["release", "src/", "--from", "Nobody", "--as", "Bob"]), "unknown_agent");
    assert_eq!(env.fails(2, &["release", "--from", "Alice", "--as", "Bob"]), "usage");
    assert_eq!(env.registration("Bob").get("contests"), None);
}

/// Older releases and pi-messenger keep the keys of a contest, which they don't know.
#[test]
fn a_task_that_is_handed_over_is_not_contested_any_more() {
    let env = TestEnvironment::new();
    for name in ["Alice", "Bob", "Carol"] {
        env.join(name);
    }
    env.ok(&["config", "set", "contestTimeout", "1"]);
    env.ok(&["claim", "T", "--adhoc", "--reserve", "src/", "--as", "Alice"]);
    contest(&env, "Bob", "src/");
    env.ok(&["handoff", "T", "Carol", "--as", "Alice"]);
    assert_eq!(listed(&env), ["Carol src/"]);
    assert_eq!(env.fails(1, &["release", "src/", "--from", "Carol", "--as", "Bob"]), "not_contested");
    assert_eq!(contest(&env, "Bob", "src/")["repeated"], false);
}

#[test]
fn nothing_is_taken_from_a_person() {
    let env = scene();
    let host = env.host().to_string();
    env.ok(&["join", "Person", "--pid", &host, "--harness", "terminal"]);
    reserve(&env, "Person", &["docs/"]);
    assert_eq!(env.fails(1, &["contest", "docs/", "--as", "Bob"]), "held_by_person");
    assert_eq!(env.fails(1, &["release", "docs/", "--from", "Person", "--as", "Bob"]), "held_by_person");
    assert_held(&env, "Bob", &["docs/x"], "Person");
}
