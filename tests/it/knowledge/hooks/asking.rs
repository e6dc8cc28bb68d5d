//! Tests of when a session is asked to record something, and of what is counted.

use serde_json::{Value, json};

use super::{call, edit, learn, project, read, told, with_decision, words};
use crate::support::environment::put;

#[test]
fn a_session_that_decides_is_asked_once_and_one_that_reads_is_not() {
    let env = project();
    let asked = |fixture: &str, tool: &str| {
        let call = call(&env, fixture).with("/tool_name", tool).with("/tool_input", json!({}));
        told(&env, &call)
    };
    assert_eq!(asked("claude/PostToolUseFailure-Bash", "ExitPlanMode"), "", "the plan was not approved");
    let text = asked("claude/PostToolUse-Edit", "ExitPlanMode");
    assert!(text.contains("msg learn") && words(&text) <= 60, "{text}");
    assert_eq!(asked("claude/PostToolUse-Edit", "AskUserQuestion"), "", "once a session");
    for file in ["src/a.rs", "src/b.rs", "src/c.rs", "src/d.rs", "src/flock.rs"] {
        told(&env, &read(&env, file));
    }
    for _ in 0..3 {
        assert_eq!(told(&env, &call(&env, "claude/Stop")), "", "it only read");
    }
}

#[test]
fn a_stop_after_several_edits_asks_once_and_costs_one_turn() {
    let stops =
        ["claude/Stop", "codex/Stop", "gemini/AfterAgent", "copilot/agentStop", "pi/agent_before_settle"];
    for stop in stops.into_iter().chain(["kimi/Stop", "qwen/Stop", "opencode/event-session.idle"]) {
        let env = project();
        let stop = call(&env, stop);
        told(&env, &edit(&env, "src/a.rs"));
        told(&env, &edit(&env, "src/b.rs"));
        told(&env, &edit(&env, "src/b.rs"));
        assert_eq!(told(&env, &stop), "", "{}: two files", stop.harness);
        told(&env, &edit(&env, "src/c.rs"));
        let text = told(&env, &stop);
        assert!(
            text.starts_with("[msg] You changed `src/a.rs`, `src/b.rs`, `src/c.rs`, and recorded nothing."),
            "{}: {text}",
            stop.harness
        );
        assert!(text.contains("skip this and stop"));
        assert_eq!(told(&env, &stop), "", "{}: once", stop.harness);
    }
}

#[test]
fn a_stop_does_not_ask_who_recorded_something_or_has_no_turns_left() {
    let env = project();
    for file in ["src/a.rs", "src/b.rs", "src/c.rs"] {
        told(&env, &edit(&env, file));
    }
    env.ok(&["config", "set", "mailTurns", "0"]);
    assert_eq!(told(&env, &call(&env, "claude/Stop")), "", "no turns");
    env.ok(&["config", "set", "mailTurns", "5"]);
    env.ok(&["learn", "It is so", "--as", "Bob"]);
    assert_eq!(told(&env, &call(&env, "claude/Stop")), "", "it recorded something");
}

#[test]
fn uses_are_counted() {
    let env = with_decision();
    assert_ne!(told(&env, &read(&env, "src/flock.rs")), "");
    env.ok(&["knowledge", "show", "one-lock", "--as", "Bob"]);
    env.ok(&["knowledge", "show", "one-lock", "--as", "Bob"]);
    env.ok(&["knowledge", "confirm", "one-lock", "--as", "Bob"]);
    env.ok(&["knowledge", "retire", "one-lock", "--as", "Bob"]);
    learn(&env, &["Another one", "--at", "src/a.rs"]);
    put(&env.work().join("src/a.rs"), "");
    let stats = env.ok(&["knowledge", "stats"]);
    assert_eq!(stats["uses"], json!({"offered": 1, "opened": 1, "confirmed": 1, "contradicted": 1}));
    assert_eq!((&stats["total"], &stats["kinds"]), (&json!(1), &json!({"note": 1})));
    assert_eq!(stats["writers"], json!([{"name": "ann", "records": 1}]));
    insta::assert_snapshot!(env.run(&["knowledge", "stats"]).expect_code(0).stdout, @r"
    Records: 1 (1 note)
    Stale: 0, gone: 0, superseded: 0
    Writers: ann (1)
    On this machine: offered 1, opened 1, confirmed 1, contradicted 1
    ");
}

/// A line in a list is not enough.
#[test]
fn what_is_shown_in_full_counts_as_opened() {
    let env = project();
    for (file, text) in [("a", "Caches are cold"), ("b", "Caches expire"), ("c", "Caches leak")] {
        let file = format!("src/{file}.rs");
        learn(&env, &[text, "--at", &file]);
        assert_ne!(told(&env, &read(&env, &file)), "");
    }
    let opened = |args: &[&str]| {
        env.ok(&[args, &["--as", "Bob"]].concat());
        env.ok(&["knowledge", "stats"])["uses"]["opened"].clone()
    };
    assert_eq!(opened(&["know", "--path", "src"]), 0);
    assert_eq!(opened(&["know", "caches"]), 2);
    assert_eq!(opened(&["know", "caches", "--full"]), 3);
}

#[test]
fn a_task_is_completed_with_what_was_learned() {
    let env = project();
    put(
        &env.work().join("spec.md"),
        "- [ ] TASK-01: the form\n- [ ] TASK-02: the glue\n- [ ] TASK-03: the end\n",
    );
    env.ok(&["spec", "spec.md", "--as", "Bob"]);
    env.ok(&["claim", "TASK-01", "--as", "Bob"]);
    let secret = ["complete", "--learned", "the key is AKIAIOSFODNN7EXAMPLE", "--as", "Bob"];
    assert_eq!(env.fails(1, &secret), "secret", "what is wrong is told before anything is done");
    let missing = ["complete", "--learned", "fine", "--at", "src/nowhere.rs", "--as", "Bob"];
    assert_eq!(env.fails(2, &missing), "invalid_value");
    assert_eq!(env.ok(&["tasks", "--as", "Bob"])["tasks"][0]["state"], json!("claimed"));
    let lessons =
        ["--learned", "Forms are checked twice", "--tried", "one check", "--at", "src/a.rs", "--as", "Bob"];
    let done = env.ok(&[&["complete"][..], &lessons].concat());
    assert_eq!(done["completion"]["task"], json!("TASK-01"));
    let kinds: Vec<&Value> =
        done["recorded"].as_array().unwrap().iter().map(|record| &record["kind"]).collect();
    assert_eq!(kinds, [&json!("note"), &json!("tried")]);
    let found = env.ok(&["know", "forms"]);
    assert_eq!(found["records"][0]["tags"], json!({"task": "TASK-01"}));
    assert_eq!(found["records"][0]["author"], json!("Bob"));
    env.ok(&["claim", "TASK-02", "--as", "Bob"]);
    let text = env.run(&["complete", "--as", "Bob"]).expect_code(0).stdout;
    assert!(!text.contains("msg learn"), "it has recorded something: {text}");
    env.join("Carol");
    env.ok(&["spec", "spec.md", "--as", "Carol"]);
    env.ok(&["claim", "TASK-03", "--as", "Carol"]);
    let text = env.run(&["complete", "--as", "Carol"]).expect_code(0).stdout;
    assert!(text.contains("msg learn") && text.contains("--learned"), "{text}");
}
