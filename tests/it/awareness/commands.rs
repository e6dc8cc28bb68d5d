//! Tests of `topics` and `overlaps`: what people see of prompts and files, and how predictions end.

use ravenry::sys::test_switches::NOW;
use serde_json::{Value, json};

use super::{edit, join, prompt, repository, told_of_login};
use crate::support::environment::{TestEnvironment, end};

const NOON: &str = "2026-11-15T12:00:00Z";
const EVENING: &str = "2026-11-15T20:01:00Z";

fn run_at(env: &TestEnvironment, now: &str, args: &[&str]) -> Value {
    end(env.msg().args(args).arg("--json").env(NOW, now)).expect_code(0).json()
}

fn text_at(env: &TestEnvironment, now: &str, args: &[&str]) -> String {
    let ended = end(env.msg().args(args).env(NOW, now)).expect_code(0);
    env.redact(ended.stdout)
}

/// Alice was told that Robin is in `src/auth/login.rs`, and the id of that.
fn told() -> (TestEnvironment, String) {
    let env = told_of_login();
    let id = run_at(&env, NOON, &["overlaps"])["predictions"][0]["id"].as_str().unwrap().to_string();
    (env, id)
}

/// How the prediction ended by then.
fn ending(env: &TestEnvironment, now: &str) -> Value {
    run_at(env, now, &["overlaps", "--all"])["predictions"][0]["end"].clone()
}

#[test]
fn topics_of_agents() {
    let env = repository();
    join(&env, "Alice");
    join(&env, "Robin");
    for text in [
        "the login page",
        "login tokens",
        "login sessions expire",
        "login sessions again",
        "the session cookie",
    ] {
        prompt(&env, "Alice", text);
    }
    edit(&env, "Alice", "src/auth/login.rs");
    insta::assert_snapshot!(text_at(&env, NOON, &["topics"]), @r"
    Alice  asked 0s ago
      deepening   sessions
      stable      login
      emerging    expire, cookie
      fading      page, tokens
      changed     src/auth/login.rs

    Robin  not asked anything yet
    ");
    let agents = run_at(&env, NOON, &["topics", "Alice"])["agents"].clone();
    assert_eq!(agents.as_array().unwrap().len(), 1);
    assert_eq!(agents[0]["changed"], json!(["src/auth/login.rs"]));
    assert_eq!((&agents[0]["stable"], &agents[0]["files"]), (&json!(["login"]), &agents[0]["changed"]));
    assert_eq!(agents[0]["topics"][0], json!({ "topic": "login", "trend": "stable", "prompts": 4 }));
    env.run(&["topics", "Nobody"]).expect_code(1);
}

#[test]
fn overlaps_of_agents() {
    let (env, id) = told();
    let text = text_at(&env, NOON, &["overlaps"]).replace(&id, "1c2d3e4f");
    insta::assert_snapshot!(text, @r"
    58 %  Alice → Robin  src/auth/login.rs  prompts about `login` usually end there (3 of 3)

    Told:
    1c2d3e4f  0s ago  Alice → Robin  src/auth/login.rs  open
    ");
    let found = run_at(&env, NOON, &["overlaps"]);
    let first = &found["overlaps"][0];
    assert_eq!((&first["agents"], &first["kind"]), (&json!(["Alice", "Robin"]), &json!("forecast")));
    assert_eq!((&first["files"], &found["threshold"]), (&json!(["src/auth/login.rs"]), &json!(0.5)));
    assert_eq!((&first["id"], &first["state"], &first["fact"]), (&json!(id), &json!("told"), &json!(false)));
    assert_eq!(first["advice"], "let Alice ask Robin before it edits `src/auth/login.rs`");
    assert!(first["since"].is_string() && first["confidence"].as_f64() > Some(0.5), "{first}");
}

/// Nobody has to come to it, so it has no direction.
#[test]
fn a_file_that_both_have_changed_is_shown_once() {
    let env = repository();
    let names = ["Alice", "Robin"];
    names.iter().for_each(|name| join(&env, name));
    names.iter().for_each(|name| edit(&env, name, "src/auth/login.rs"));
    for args in [&["overlaps"][..], &["overlaps", "--all"]] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(text_at(&env, NOON, args), @"100 %  Alice ↔ Robin  src/auth/login.rs  both have changed it");
        }
        let found = run_at(&env, NOON, args)["overlaps"].clone();
        assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
        assert_eq!(found[0]["agents"], json!(["Alice", "Robin"]));
        assert_eq!((&found[0]["fact"], &found[0]["confidence"]), (&json!(true), &json!(1.0)));
    }
}

/// Each one's latest file of those that both have changed.
#[test]
fn two_files_that_both_have_changed_are_two_facts() {
    let env = repository();
    for (name, files) in
        [("Alice", ["docs/tour.md", "src/ui/theme.rs"]), ("Robin", ["src/ui/theme.rs", "docs/tour.md"])]
    {
        join(&env, name);
        for file in files {
            prompt(&env, name, "go on");
            edit(&env, name, file);
        }
    }
    let said = text_at(&env, NOON, &["overlaps"]);
    let facts = said.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(facts, @r"
    100 %  Alice ↔ Robin  src/ui/theme.rs  both have changed it
    100 %  Robin ↔ Alice  docs/tour.md     both have changed it
    ");
    assert_eq!(text_at(&env, NOON, &["overlaps", "-q"]), "Alice Robin\n");
}

#[test]
fn topics_that_become_the_same() {
    let env = repository();
    for name in ["Alice", "Robin"] {
        join(&env, name);
    }
    for (alice, robin) in [
        ("the parser", "the canvas"),
        ("lexer", "pixels"),
        ("cookie jar", "cookie path"),
        ("cookie", "cookie"),
    ] {
        prompt(&env, "Alice", alice);
        prompt(&env, "Robin", robin);
    }
    assert_eq!(run_at(&env, NOON, &["overlaps"])["overlaps"], json!([]), "too little in common");
    env.ok(&["config", "set", "overlapAt", "0.1"]);
    let found = &run_at(&env, NOON, &["overlaps"])["overlaps"][0];
    let signal = &found["signals"][0];
    assert_eq!((&signal["kind"], &signal["topics"]), (&json!("APPROACHING"), &json!(["cookie"])));
    assert_eq!((&found["kind"], &found["signal"]), (&json!("signal"), &json!("APPROACHING")));
    assert_eq!((&found["distance"], &found["topics"]), (&json!(4), &json!(["cookie"])));
    assert_eq!((&found["confidence"], &found["advice"]), (&signal["strength"], &Value::Null));
    insta::assert_snapshot!(text_at(&env, NOON, &["overlaps"]), @r"
    0 %  Alice → Robin  no file in particular
         Alice, Robin   have in common cookie; the same topics in about 4 prompts at this rate
    ");
}

#[test]
fn a_prediction_ends_by_what_happens_and_not_by_looking() {
    let (env, _) = told();
    assert_eq!(ending(&env, NOON), Value::Null);
    assert_eq!(ending(&env, EVENING), "false_alarm");

    let (env, _) = told();
    edit(&env, "Alice", "src/ui/theme.rs");
    assert_eq!(ending(&env, NOON), Value::Null, "that is another file");
    env.run(&["send", "Robin", "may I?", "--as", "Alice"]).expect_code(0);
    assert_eq!(ending(&env, NOON), Value::Null, "they may still meet");

    let (env, _) = told();
    env.run(&["leave", "--as", "Robin"]).expect_code(0);
    assert_eq!(ending(&env, NOON), "expired");
}

#[test]
fn accuracy_counts_what_ended() {
    let (env, _) = told();
    insta::assert_snapshot!(text_at(&env, NOON, &["overlaps", "--accuracy"]), @r"
    1 told: 1 open
    an agent is told from 50 %
    ");
    insta::assert_snapshot!(text_at(&env, EVENING, &["overlaps", "--accuracy"]), @r"
    1 told: 1 false alarm
    0 % of those that happened or were false alarms happened
      said 50 % to 60 %: 0 of 1 happened
    an agent is told from 50 %
    ");
    let found = run_at(&env, EVENING, &["overlaps", "--accuracy"])["accuracy"].clone();
    assert_eq!((&found["ends"]["falseAlarm"], &found["precision"]), (&json!(1), &json!(0.0)));
}

#[test]
fn a_prediction_can_be_dismissed_once() {
    let (env, id) = told();
    let text = text_at(&env, NOON, &["overlaps", "dismiss", &id]);
    insta::assert_snapshot!(text, @"Dismissed: Alice → Robin in src/auth/login.rs. It counts as neither right nor wrong.");
    assert_eq!(env.fails(2, &["overlaps", "dismiss", &id]), "invalid_value");
    assert_eq!(ending(&env, EVENING), "dismissed");
}

#[test]
fn where_nobody_is() {
    let env = TestEnvironment::new();
    for args in [&["topics"][..], &["overlaps"], &["overlaps", "--accuracy"]] {
        env.run(args).expect_code(0);
    }
    insta::assert_snapshot!(text_at(&env, NOON, &["topics"]), @"No agent is in this repository. `msg agents` shows where they are.");
    insta::assert_snapshot!(text_at(&env, NOON, &["overlaps"]), @"Nobody seems to be heading for another's files. `msg topics` shows what each agent works on.");
}
