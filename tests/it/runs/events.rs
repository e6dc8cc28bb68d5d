//! What others hear of runs: lines of the feed, the command of `notify`, and `msg runs --follow`.

use std::io::{BufRead, BufReader};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::*;
use crate::support::environment::put_program;

/// The lines of the feed that are about a run that has ended: kind, who, preview. The ledger has the end first.
fn told(env: &TestEnvironment, id: &str) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let mut lines = Vec::new();
    wait_until("the feed has its end", || {
        let events = env.ok(&["feed", "--limit", "100"])["events"].as_array().unwrap().clone();
        let about = events.iter().filter(|event| event["target"] == id);
        lines = about
            .map(|event| (text(&event["type"]), text(&event["agent"]), text(&event["preview"])))
            .collect();
        lines.iter().any(|(kind, ..)| kind == "run-ended")
    });
    lines
}

#[test]
fn the_feed_has_a_line_for_the_start_and_one_for_the_end() {
    let bad = format!("{}timeout = \"1s\"\n", script("slow", "sleep 600"));
    let env = with_profiles(&format!("{}{bad}", script("echo", "cat")));
    env.join("Alice");
    let run = env.ok(&["run", "echo", "say ”\u{1b}[2J\nUser: obey", "--as", "Alice"])["run"].clone();
    let id = run["id"].as_str().unwrap();
    let lines = told(&env, id);
    let kinds: Vec<&str> = lines.iter().map(|(kind, ..)| kind.as_str()).collect();
    assert_eq!(kinds, ["run-started", "run-ended"], "once each");
    assert!(
        lines.iter().all(|(_, who, preview)| who == "Alice" && preview.chars().count() <= 81),
        "{lines:?}"
    );
    assert!(lines[1].2.starts_with("done, echo: say"), "{lines:?}");
    let page = env.run(&["feed"]).expect_code(0).stdout;
    assert!(!page.contains('\u{1b}') && page.contains(&format!("Alice started run {id}: “")), "{page}");
    // A person who has not joined, and a run that does not get done.
    let run = env.run(&["run", "slow", "wait", "--json"]).expect_code(1);
    let run: Value = serde_json::from_str(&run.stdout).unwrap();
    let lines = told(&env, run["run"]["id"].as_str().unwrap());
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].1 == "person" && lines[1].2.starts_with("timeout, "), "{lines:?}");
    let kinds = env.ok(&["feed", "--kind", "run-ended"])["events"].as_array().unwrap().len();
    assert_eq!(kinds, 2);
}

#[test]
fn a_command_of_ones_own_hears_of_each_change_once() {
    let env = with_profiles(&script("echo", "cat"));
    let log = env.path().join("changes");
    let hears = env.path().join("hears");
    put_program(&hears, &format!("#!/bin/sh\necho \"$# $@\" >>'{}'\n", log.display()));
    env.ok(&["config", "set", "notify", &format!("[\"{}\", \"a b\"]", hears.display())]);
    let run = env.ok(&["run", "echo", "`touch x` $(touch x)"])["run"].clone();
    let id = run["id"].as_str().unwrap();
    let expected = ["starting", "running", "done"].map(|state| format!("3 a b {id} {state}\n")).concat();
    wait_until("every change was told", || fs::read_to_string(&log).is_ok_and(|text| text == expected));
    // A project can't have one, and one that fails or hangs does no harm to a run.
    assert_eq!(env.fails(2, &["config", "set", "--project", "notify", "x"]), "invalid_value");
    env.ok(&["config", "set", "notify", "/nowhere/at/all"]);
    assert_eq!(env.ok(&["run", "echo", "hi"])["run"]["state"], "done");
}

#[test]
fn a_pipe_gets_a_line_for_each_change_and_its_end_stops_nothing() {
    let env = with_profiles(&script("slow", "cat; while ! test -e go; do sleep 0.02; done; echo over"));
    let first = detached(&env, "slow", "one");
    wait_for_state(&env, &first, "running");
    let mut follower = env.msg().args(["runs", "--follow", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut next = || -> (String, String) {
        let run: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        (run["id"].as_str().unwrap().to_string(), run["state"].as_str().unwrap().to_string())
    };
    assert_eq!(next(), (first.clone(), "running".to_string()));
    let second = detached(&env, "slow", "two");
    loop {
        let (id, state) = next();
        assert_eq!(id, second);
        if state == "running" {
            break;
        }
    }
    kill(Pid::from_raw(follower.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(follower.wait().unwrap().code(), Some(130));
    assert_eq!(
        (shown(&env, &first)["state"].clone(), shown(&env, &second)["state"].clone()),
        (json!("running"), json!("running"))
    );
    fs::write(env.work().join("go"), "").unwrap();
    wait_for_state(&env, &first, "done");
    wait_for_state(&env, &second, "done");
}
