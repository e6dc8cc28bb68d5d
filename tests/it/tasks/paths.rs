//! Paths that are reserved with a task: with it or not at all, and as long as it is claimed.

use std::fs;

use ravenry::sys::test_switches::CRASH_AT;
use serde_json::{Value, json};

use super::fixture::{SPEC, assert_state, claim, holder, on_disk, refused, three};
use crate::support::environment::{TestEnvironment, end, put};
use crate::support::hook_fixture::{Fixture, feed, hook, project};

#[test]
fn task_and_paths_together_or_neither() {
    let env = three();
    env.ok(&["reserve", "docs/", "--as", "Bob"]);
    // A path is reserved, so the task and the other path stay free.
    assert_eq!(
        refused(&env, "Alice", &["TASK-01", "--reserve", "src/", "--reserve", "docs/a.md"]),
        "reserved"
    );
    assert_state(&env, "TASK-01 open");
    assert_eq!((holder(&env, "src/x"), on_disk(&env, "claims.json")), (None, Value::Null));
    // The task is claimed, so the path stays free.
    claim(&env, "Bob", &["TASK-01"]);
    assert_eq!(refused(&env, "Alice", &["TASK-01", "--reserve", "src/"]), "already_claimed");
    assert_eq!(refused(&env, "Alice", &["TASK-03", "--reserve", "src/"]), "blocked");
    assert_eq!(env.fails(2, &["claim", "TASK-02", "--reserve", "src/[", "--as", "Alice"]), "invalid_pattern");
    assert_eq!(env.fails(2, &["claim", "TASK-02", "--reserve", "/", "--as", "Alice"]), "too_broad");
    assert_eq!(holder(&env, "src/x"), None);
    assert_state(&env, "TASK-02 open");
    let got = claim(&env, "Alice", &["--next", "--reserve", "src/", "--reserve", "*.toml"]);
    let patterns: Vec<&Value> =
        got["reservations"].as_array().unwrap().iter().map(|row| &row["pattern"]).collect();
    assert_eq!((&got["task"], patterns), (&json!("TASK-02"), vec![&json!("src/"), &json!("*.toml")]));
    assert_eq!(holder(&env, "src/x").as_deref(), Some("Alice"));
    assert_eq!(holder(&env, "Cargo.toml").as_deref(), Some("Alice"));
    assert_eq!(env.fails(1, &["reserve", "src/a", "--as", "Carol"]), "reserved");
}

#[test]
fn paths_are_free_with_the_task_and_others_stay() {
    let env = three();
    env.ok(&["reserve", "lib/", "--as", "Alice"]);
    for end in [&["complete", "TASK-01"][..], &["unclaim"], &["unclaim", "TASK-05"]] {
        let task = if end[0] == "complete" { "TASK-01" } else { "TASK-05" };
        claim(&env, "Alice", &[task, "--reserve", "src/"]);
        assert_eq!(holder(&env, "src/x").as_deref(), Some("Alice"));
        env.ok(&[end, &["--as", "Alice"]].concat());
        assert_eq!(holder(&env, "src/x"), None, "{end:?}");
        assert_eq!(holder(&env, "lib/x").as_deref(), Some("Alice"), "that was not of the task");
        let held = env.registration("Alice")["reservations"].as_array().unwrap().len();
        assert_eq!(held, 1, "nothing is left lying around");
    }
}

#[test]
fn paths_can_be_added_to_a_claim() {
    let env = three();
    claim(&env, "Alice", &["TASK-01"]);
    let got = claim(&env, "Alice", &["TASK-01", "--reserve", "src/"]);
    assert_eq!(got["reservations"][0]["pattern"], "src/", "what is answered with success is so");
    assert_eq!(holder(&env, "src/x").as_deref(), Some("Alice"));
    env.ok(&["reserve", "docs/", "--as", "Bob"]);
    assert_eq!(refused(&env, "Alice", &["TASK-01", "--reserve", "docs/"]), "reserved");
    assert_state(&env, "TASK-01 claimed Alice");
    env.ok(&["unclaim", "--as", "Alice"]);
    assert_eq!(holder(&env, "src/x"), None);
}

/// `unclaim` or `claim` died with the paths written and the claim not: the paths bind nobody, and never become valid by
/// themselves.
#[test]
fn paths_without_their_claim_stay_free() {
    let env = three();
    claim(&env, "Alice", &["TASK-01", "--reserve", "src/"]);
    fs::write(env.mesh().join("claims.json"), "{}").unwrap();
    assert_eq!(holder(&env, "src/x"), None);
    env.ok(&["reserve", "src/", "--as", "Bob"]);
    assert_eq!(holder(&env, "src/x").as_deref(), Some("Bob"));
    let got = claim(&env, "Alice", &["TASK-01"]);
    assert_eq!(got["reservations"], json!([]));
    let check = env.run(&["check", "src/x", "--as", "Bob", "--json"]).expect_code(0);
    assert_eq!(check.json()["paths"][0]["free"], true, "Bob's, and nobody else's");
}

/// A path that an agent held before it claimed is not a path of the task.
#[test]
fn what_was_held_before_is_held_after() {
    let env = three();
    env.ok(&["reserve", "src/", "--reason", "long before", "--as", "Alice"]);
    let got = claim(&env, "Alice", &["TASK-01", "--reserve", "src/", "--reserve", "lib/"]);
    assert_eq!(got["reservations"].as_array().unwrap().len(), 2, "{got}");
    env.ok(&["complete", "TASK-01", "--as", "Alice"]);
    assert_eq!(holder(&env, "src/x").as_deref(), Some("Alice"));
    assert_eq!(holder(&env, "lib/x"), None);
}

#[test]
fn handing_off_moves_both() {
    let env = three();
    claim(&env, "Alice", &["TASK-01", "--reason", "mine", "--reserve", "src/"]);
    env.ok(&["reserve", "lib/", "--as", "Alice"]);
    let said = env.ok(&["handoff", "TASK-01", "Bob", "--notes", "tests are missing", "--as", "Alice"]);
    assert_eq!((&said["claim"]["agent"], &said["claim"]["task"]), (&json!("Bob"), &json!("TASK-01")));
    assert_eq!(said["claim"]["reservations"][0]["pattern"], "src/", "{said}");
    assert_eq!(said["claim"]["pid"], env.registration("Bob")["pid"]);
    assert_state(&env, "TASK-01 claimed Bob");
    assert_eq!(holder(&env, "src/x").as_deref(), Some("Bob"));
    assert_eq!(holder(&env, "lib/x").as_deref(), Some("Alice"));
    assert_eq!(env.fails(1, &["complete", "TASK-01", "--as", "Alice"]), "not_yours");
    claim(&env, "Alice", &["TASK-02"]);
    env.ok(&["complete", "TASK-01", "--as", "Bob"]);
    assert_eq!(holder(&env, "src/x"), None);
}

/// Found by the storm: a path that was reserved first and then also taken with a task had two holders after the task
/// was handed over.
#[test]
fn what_goes_along_is_not_kept_besides() {
    let env = three();
    for own in ["src/", "src/x", "src/*.rs"] {
        env.ok(&["reserve", own, "--as", "Alice"]);
    }
    env.ok(&["reserve", "lib/", "--as", "Alice"]);
    claim(&env, "Alice", &["TASK-01", "--reserve", "src/"]);
    env.ok(&["handoff", "TASK-01", "Bob", "--as", "Alice"]);
    assert_eq!(holder(&env, "src/x").as_deref(), Some("Bob"));
    let check = env.run(&["check", "src/x", "--as", "Bob", "--json"]).expect_code(0);
    assert_eq!(check.json()["paths"][0]["free"], true, "Bob's, and nobody else's");
    assert_eq!(holder(&env, "lib/x").as_deref(), Some("Alice"));
}

#[test]
fn what_reaches_beyond_is_in_the_way() {
    let env = three();
    env.ok(&["reserve", "src/", "--as", "Alice"]);
    claim(&env, "Alice", &["TASK-01", "--reserve", "src/a.rs"]);
    let handoff = ["handoff", "TASK-01", "Bob", "--as", "Alice"];
    let ended = env.run(&[&handoff[..], &["--json"]].concat()).expect_code(1);
    let error = &ended.json()["error"];
    assert_eq!((&error["kind"], &error["pattern"]), (&json!("reserved"), &json!("src/")), "{error}");
    assert_state(&env, "TASK-01 claimed Alice");
    assert_eq!(env.fails(1, &["reserve", "src/a.rs", "--as", "Bob"]), "reserved");
    env.ok(&["release", "src/", "--as", "Alice"]);
    env.ok(&handoff);
    assert_eq!(holder(&env, "src/a.rs").as_deref(), Some("Bob"));
    assert_eq!(holder(&env, "src/b.rs"), None);
}

/// A glob covers what it matches, not what is beneath that.
#[test]
fn a_directory_that_a_glob_only_touches_is_kept() {
    let env = three();
    env.ok(&["reserve", "src/dir/", "--as", "Alice"]);
    claim(&env, "Alice", &["TASK-01", "--reserve", "src/*"]);
    assert_eq!(env.fails(1, &["handoff", "TASK-01", "Bob", "--as", "Alice"]), "reserved");
    assert_eq!(holder(&env, "src/dir/x").as_deref(), Some("Alice"));
    assert_eq!(holder(&env, "src/x").as_deref(), Some("Alice"));
}

/// An agent dies in the middle of completing a task; then another agent's claim is rewritten.
#[test]
fn paths_of_what_is_done_never_bind_again() {
    let path = "src/a.rs";
    let mut half_way = 0;
    for step in 1.. {
        let env = three();
        claim(&env, "Alice", &["TASK-01", "--reserve", path]);
        claim(&env, "Carol", &["TASK-02"]);
        let complete = ["complete", "TASK-01", "--as", "Alice"];
        let ended = env.run_with(&complete, &[(CRASH_AT, &step.to_string())]);
        let is_free = env.run(&["reserve", path, "--as", "Bob"]).code == Some(0);
        half_way += usize::from(ended.code.is_none() && is_free);
        if step % 2 == 0 {
            env.ok(&["rename", "Carla", "--as", "Carol"]);
        } else {
            env.ok(&["leave", "--as", "Carol"]);
        }
        let held = env.ok(&["reservations"]);
        let holders: Vec<&Value> =
            held["reservations"].as_array().unwrap().iter().map(|row| &row["holder"]).collect();
        assert_eq!(holders, [if is_free { "Bob" } else { "Alice" }], "killed before step {step}");
        if ended.code.is_some() {
            ended.expect_code(0);
            break;
        }
    }
    assert!(half_way > 0, "nobody died with the task done");
}

/// An agent that comes back in another process has lost its task, and the paths taken with it.
#[test]
fn paths_of_a_task_do_not_come_back_without_it() {
    let env = three();
    let host = env.host();
    let join = |pid: u32| env.ok(&["join", "Dave", "--session", "dave", "--pid", &pid.to_string()]);
    join(host);
    env.ok(&["spec", "spec.md", "--as", "Dave"]);
    claim(&env, "Dave", &["TASK-01", "--reserve", "src/"]);
    env.ok(&["reserve", "lib/", "--as", "Dave"]);
    env.kill(host);
    let back = join(env.host());
    let held = back["agent"]["reservations"].as_array().unwrap();
    let patterns: Vec<&Value> = held.iter().map(|row| &row["pattern"]).collect();
    assert_eq!(patterns, ["lib/"], "{back}");
}

/// The spec file is gone or was moved: the task can still be given up.
#[test]
fn a_task_outlives_its_spec() {
    for end in [&["unclaim", "TASK-01"][..], &["complete", "TASK-01"], &["handoff", "TASK-01", "Bob"]] {
        let env = three();
        claim(&env, "Alice", &["TASK-01", "--reserve", "src/"]);
        fs::remove_file(env.work().join("spec.md")).unwrap();
        env.ok(&[end, &["--as", "Alice"]].concat());
        let heir = (end[0] == "handoff").then_some("Bob");
        assert_eq!(holder(&env, "src/x").as_deref(), heir, "{end:?}");
        assert_eq!(env.fails(2, &["tasks", "--as", "Alice"]), "invalid_value");
    }
}

#[test]
fn handing_off_is_refused() {
    let env = three();
    let dan = env.join("Dan");
    claim(&env, "Alice", &["TASK-01", "--reserve", "src/"]);
    claim(&env, "Bob", &["TASK-02"]);
    let fails = |code: i32, to: &str| env.fails(code, &["handoff", "TASK-01", to, "--as", "Alice"]);
    assert_eq!(fails(1, "Bob"), "already_have_claim");
    assert_eq!(fails(1, "Nobody"), "unknown_agent");
    assert_eq!(fails(2, "Alice"), "invalid_value");
    assert_eq!(fails(2, "../x"), "invalid_name");
    env.kill(dan);
    assert_eq!(fails(1, "Dan"), "unknown_agent");
    assert_state(&env, "TASK-01 claimed Alice");
    assert_eq!(holder(&env, "src/x").as_deref(), Some("Alice"));
}

/// What the hook says to a stranger that is about to edit `src/lib.rs`.
fn edit(env: &TestEnvironment) -> String {
    let fixture = Fixture::of(&env.home(), "claude/PreToolUse-Edit");
    let ended = feed(&mut hook(env, fixture.harness, &fixture.event), fixture.payload.as_bytes());
    ended.expect_code(0).stdout
}

#[test]
fn a_hook_keeps_others_out_while_the_task_is_claimed() {
    let env = TestEnvironment::new();
    let project = project(&env);
    put(&project.join("spec.md"), SPEC);
    let alice = env.join("Alice");
    env.join("Bob");
    let run = |args: &[&str]| {
        end(env.msg().current_dir(&project).args(args)).expect_code(0);
    };
    let take = ["claim", "--next", "--spec", "spec.md", "--reserve", "src/", "--as", "Alice"];
    for back in [&["complete", "TASK-01"][..], &["unclaim"]] {
        assert_eq!(edit(&env), "");
        run(&take);
        let said = edit(&env);
        assert!(said.contains("\"deny\"") && said.contains("Alice"), "{said}");
        run(&[back, &["--as", "Alice"]].concat());
        assert_eq!(edit(&env), "", "{back:?}");
    }
    run(&take);
    run(&["handoff", "TASK-02", "Bob", "--as", "Alice"]);
    let said = edit(&env);
    assert!(said.contains("\"deny\"") && said.contains("Bob"), "{said}");
    run(&["unclaim", "--as", "Bob"]);
    run(&take);
    assert!(edit(&env).contains("\"deny\""));
    env.kill(alice);
    assert_eq!(edit(&env), "", "the dead hold nothing");
}

#[test]
fn what_is_reserved_besides_a_task_is_told_once() {
    let env = three();
    claim(&env, "Alice", &["TASK-01", "--reserve", "x.rs"]);
    let said = env.ok(&["reserve", "x.rs", "--as", "Alice"]);
    assert_eq!(said["reservations"].as_array().unwrap().len(), 1, "{said}");
}
