//! Tasks of a spec that are claimed for a worker: by whom they can be completed, and whose work is merged.

mod fencing;

use std::fs;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use ravenry::sys::test_switches::{CRASH_AT, SUPERVISOR_CRASH_AT};
use serde_json::{Value, json};

use super::worktrees::with_repository;
use super::{left_of, path_with_msg, script, shown, wait_for_state};
use crate::support::environment::{TestEnvironment, put_program, rounds, wait_until};

const SPEC: &str = "\
# Plan

- [ ] T-1: Parse the file
    Keep comments.
    paths: a, docs/**
- [ ] T-2: Print it (needs T-1)
- [ ] T-3: Say hello
";

/// A worker that goes on until it is told to end, and one that completes its task.
fn with_spec(more: &str) -> TestEnvironment {
    let holds = script("holds", "cat > \"$HOME/task\"; read x < \"$HOME/go\"; echo over");
    let env = with_repository(&[&holds, more].concat());
    mkfifo(&env.home().join("go"), Mode::S_IRWXU).unwrap();
    fs::write(env.work().join("plan.md"), SPEC).unwrap();
    env
}

fn let_go(env: &TestEnvironment) {
    fs::write(env.home().join("go"), "go\n").unwrap();
}

/// Starts a run that nobody follows, with `msg` on the PATH of its worker.
#[track_caller]
fn started(env: &TestEnvironment, args: &[&str]) -> String {
    let args = [&["run"], args, &["--spec", "plan.md", "--detach", "--json"]].concat();
    let answer = env.run_with(&args, &[("PATH", &path_with_msg())]).expect_code(0).json();
    answer["run"]["id"].as_str().unwrap().to_string()
}

/// The state of a task, and who has it.
fn task(env: &TestEnvironment, id: &str) -> (String, Value) {
    let tasks = env.ok(&["tasks", "--spec", "plan.md"])["tasks"].clone();
    let task = tasks.as_array().unwrap().iter().find(|task| task["id"] == id).unwrap().clone();
    (task["state"].as_str().unwrap().to_string(), task["agent"].clone())
}

fn kill_supervisor(env: &TestEnvironment, id: &str) {
    let pid = i32::try_from(shown(env, id)["supervisorPid"].as_i64().unwrap()).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    wait_for_state(env, id, "interrupted");
    wait_until("nothing is left of it", || left_of(id).is_empty());
}

#[test]
fn a_task_is_the_workers_before_it_starts_with_its_text_and_its_paths() {
    let env =
        with_spec(&script("completes", "cat; msg complete T-1 --spec plan.md >/dev/null && echo completed"));
    let id = started(&env, &["holds", "--task", "T-1", "--name", "Helper"]);
    assert_eq!(task(&env, "T-1"), ("claimed".to_string(), json!("Helper")));
    let run = wait_for_state(&env, &id, "running");
    assert_eq!(run["reserve"], json!(["a", "docs/**"]));
    assert_eq!((&run["claim"]["task"], &run["claim"]["number"]), (&json!("T-1"), &json!(1)));
    let mut text = String::new();
    wait_until("it has its task", || {
        text = fs::read_to_string(env.home().join("task")).unwrap_or_default();
        !text.is_empty()
    });
    assert!(text.starts_with("Parse the file\n\nKeep comments.\n\nThis is task `T-1` of `"), "{text}");
    assert!(text.ends_with("When it is done, run: msg complete T-1"), "{text}");
    // Refused as `claim` refuses.
    for (id, kind) in [("T-1", "already_claimed"), ("T-2", "blocked"), ("T-9", "unknown_task")] {
        let args = ["run", "holds", "--task", id, "--spec", "plan.md", "--json"];
        let ended = env.run(&args).expect_code(1);
        assert_eq!(
            (ended.kind().as_str(), &ended.json()["error"]["gate"]),
            (kind, &json!("task")),
            "{ended}"
        );
    }
    let_go(&env);
    wait_for_state(&env, &id, "done");
    // It did not complete it, so somebody else can take it.
    assert_eq!(task(&env, "T-1"), ("open".to_string(), Value::Null));
    let tasks = env.ok(&["tasks", "--spec", "plan.md"])["tasks"].clone();
    assert_eq!(tasks[0]["notes"], format!("run {id} ended without completing it (done)"));
    let id = started(&env, &["completes", "my own words", "--task", "T-1"]);
    let run = wait_for_state(&env, &id, "done");
    assert_eq!((&run["result"], &run["claim"]["number"]), (&json!("my own wordscompleted"), &json!(2)));
    assert_eq!(task(&env, "T-1").0, "done");
    let ended = env.run(&["run", "holds", "--task", "T-1", "--spec", "plan.md", "--json"]).expect_code(1);
    assert_eq!(ended.kind(), "already_completed");
}

#[test]
fn a_worker_that_completes_its_task_at_once_is_known() {
    let env = with_spec(&script("fast", "msg complete T-3"));
    for round in 0..rounds(10) {
        let plan = format!("- [ ] T-3: Say hello {round}\n");
        fs::write(env.work().join(format!("plan-{round}.md")), plan).unwrap();
        let spec = format!("plan-{round}.md");
        let args = ["run", "fast", &round.to_string(), "--task", "T-3", "--spec", &spec, "--json"];
        let run = env.run_with(&args, &[("PATH", &path_with_msg())]).json()["run"].clone();
        assert_eq!(run["state"], "done", "{run}");
    }
}

#[test]
fn the_spec_of_whoever_asks_counts_and_dry_runs_say_so() {
    let env = with_spec("");
    env.join("Robin");
    env.ok(&["spec", "plan.md", "--as", "Robin"]);
    let dry = env.ok(&["run", "holds", "--task", "t-3", "--dry-run", "--as", "Robin"]);
    let gate = dry["gates"].as_array().unwrap().iter().find(|gate| gate["gate"] == "task").unwrap().clone();
    assert_eq!(gate["answer"], "`T-3` can be claimed");
    assert_eq!(task(&env, "T-3").0, "open");
    assert_eq!(env.fails(1, &["run", "holds", "--task", "T-3"]), "unknown_task");
    assert_eq!(env.fails(2, &["run", "holds", "--task", ""]), "invalid_value");
    assert_eq!(env.fails(2, &["run", "holds", "--task", "T-3", "--spec", "nosuch.md"]), "invalid_value");
    assert_eq!(env.fails(2, &["run", "holds", "x", "--spec", "plan.md"]), "usage");
}

#[test]
fn of_several_that_want_a_task_at_once_one_starts() {
    let env = with_spec("");
    for round in 0..rounds(6) {
        let starters: Vec<_> = (0..4)
            .map(|number| {
                let mut starter = env.msg();
                starter.args([
                    "run",
                    "holds",
                    &format!("{round} {number}"),
                    "--task",
                    "T-3",
                    "--spec",
                    "plan.md",
                ]);
                starter.args(["--detach", "--json"]);
                starter.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        let answers: Vec<Value> = starters
            .into_iter()
            .map(|starter| serde_json::from_slice(&starter.wait_with_output().unwrap().stdout).unwrap())
            .collect();
        let ids: Vec<&str> = answers.iter().filter_map(|answer| answer["run"]["id"].as_str()).collect();
        assert_eq!(ids.len(), 1, "{answers:?}");
        for answer in answers.iter().filter(|answer| answer["run"].is_null()) {
            assert_eq!(answer["error"]["kind"], "already_claimed", "{answer}");
        }
        assert_eq!(shown(&env, ids[0])["claim"]["number"], round + 1);
        let_go(&env);
        wait_for_state(&env, ids[0], "done");
    }
}

/// A stand-in for a harness, whose session can be continued. What it is told to run is in a file.
const STAND_IN: &str = r#"#!/bin/sh
session=s-1
printf '{"type":"system","subtype":"init","session_id":"%s"}\n' "$session"
printf '{"session_id":"%s","cwd":"%s","source":"startup","hook_event_name":"SessionStart"}' "$session" "$PWD" |
  msg hook claude SessionStart >/dev/null
said=$(sh "$HOME/do" 2>&1 | tr -d '"\\' | tr '\n' ' ')
printf '{"type":"result","subtype":"success","is_error":false,"result":"said: %s"}\n' "$said"
"#;

fn with_stand_in(more: &str) -> (TestEnvironment, String) {
    let env = with_spec(&["[hooked]\nharness = \"claude\"\nisolation = \"worktree\"\n", more].concat());
    let bin = env.home().join("bin");
    fs::create_dir_all(&bin).unwrap();
    put_program(&bin.join("claude"), STAND_IN);
    let path = format!("{}:{}", bin.display(), path_with_msg());
    (env, path)
}

/// A run whose supervisor was killed, and whose task Bob has now. With the PATH of the stand-in, and the id of the run.
fn with_lost_task() -> (TestEnvironment, String, String) {
    let (env, path) = with_stand_in("");
    fs::write(env.home().join("do"), "echo mine > b; read x < \"$HOME/go\"").unwrap();
    let args = ["run", "hooked", "--task", "T-3", "--spec", "plan.md", "--name", "Ann", "--detach", "--json"];
    let first = env.run_with(&args, &[("PATH", &path)]).expect_code(0).json()["run"]["id"]
        .as_str()
        .unwrap()
        .to_string();
    wait_until("its hooks have taken its place", || {
        let session = env.ok(&["whois", "Ann"])["agent"]["sessionId"].clone();
        session == "s-1" && shown(&env, &first)["session"].is_string()
    });
    assert_eq!(task(&env, "T-3"), ("claimed".to_string(), json!("Ann")));
    let root = shown(&env, &first)["root"].as_str().unwrap().to_string();
    wait_until("it has changed something", || {
        fs::read_to_string(format!("{root}/b")).is_ok_and(|text| text == "mine\n")
    });
    kill_supervisor(&env, &first);
    // Another takes the task, and has it.
    env.join("Bob");
    env.ok(&["claim", "T-3", "--spec", "plan.md", "--as", "Bob"]);
    (env, path, first)
}

#[test]
fn a_worker_whose_task_was_given_away_can_neither_complete_it_nor_be_merged() {
    let (env, path, first) = with_lost_task();
    let run_with = |args: &[&str]| env.run_with(args, &[("PATH", &path)]);
    // The session is continued all the same, without the task.
    let complete = "msg complete T-3 --json; MSG_AGENT=Bob msg complete T-3 --as Bob --json";
    fs::write(env.home().join("do"), complete).unwrap();
    let ended = run_with(&["runs", "resume", &first, "--json"]);
    let warnings = format!("{}{}", ended.stderr, ended.json()["warnings"]);
    assert!(warnings.contains("the run goes on without its task"), "{ended}");
    let run = ended.expect_code(0).json()["run"].clone();
    let said = run["result"].as_str().unwrap().to_string();
    assert_eq!(said.matches("kind: not_yours").count() + said.matches("kind:not_yours").count(), 2, "{run}");
    assert!(said.contains("was given away since run"), "{said}");
    assert_eq!(task(&env, "T-3"), ("claimed".to_string(), json!("Bob")));
    // Nor is its work merged as that of the task; a person may want it nevertheless.
    let second = run["id"].as_str().unwrap();
    for id in [&first, second] {
        let ended = env.run(&["runs", "merge", id, "--json"]).expect_code(1);
        assert_eq!(ended.kind(), "not_yours", "{ended}");
        assert!(
            ended.json()["error"]["message"].as_str().unwrap().contains("(number 2, that of the run is 1)")
        );
    }
    assert_eq!(fs::read_to_string(env.work().join("b")).unwrap(), "one\n");
    assert_eq!(
        env.run_with(&["runs", "retry", &first, "--json"], &[("PATH", &path)]).kind(),
        "already_claimed"
    );
    env.ok(&["runs", "merge", second, "--given-away"]);
    assert_eq!(fs::read_to_string(env.work().join("b")).unwrap(), "mine\n");
    env.ok(&["complete", "T-3", "--as", "Bob"]);
}

#[test]
fn a_session_that_is_continued_has_its_task_again_if_it_is_free() {
    let (env, path) = with_stand_in("");
    let run_with = |args: &[&str]| env.run_with(args, &[("PATH", &path)]);
    fs::write(env.home().join("do"), "read x < \"$HOME/go\"").unwrap();
    let args = ["run", "hooked", "--task", "T-3", "--spec", "plan.md", "--name", "Ann", "--detach", "--json"];
    let first = run_with(&args).expect_code(0).json()["run"]["id"].as_str().unwrap().to_string();
    wait_until("its hooks have taken its place", || {
        env.ok(&["whois", "Ann"])["agent"]["sessionId"] == "s-1" && shown(&env, &first)["session"].is_string()
    });
    kill_supervisor(&env, &first);
    fs::write(env.home().join("do"), "echo changed > b; msg complete T-3 --json").unwrap();
    let run = run_with(&["runs", "resume", &first, "--json"]).expect_code(0).json()["run"].clone();
    assert_eq!((&run["claim"]["number"], &run["agent"]), (&json!(2), &json!("Ann")), "{run}");
    assert_eq!(task(&env, "T-3").0, "done", "{run}");
    env.ok(&["runs", "merge", run["id"].as_str().unwrap()]);
}

#[test]
fn a_start_that_is_cut_short_anywhere_claims_nothing() {
    let env = with_spec("");
    let cut = |who: &'static str| {
        let start = |step: &str| {
            let task = format!("{who} {step}");
            let args = ["run", "holds", &task, "--task", "T-1", "--spec", "plan.md", "--detach", "--json"];
            env.run_with(&args, &[(who, step)]);
        };
        super::held::cut_short(&env, start, |is_going_on| {
            let is_held = env.ok(&["reservations"])["reservations"] != json!([]);
            let is_claimed = task(&env, "T-1").0 == "claimed";
            is_held == is_going_on && is_claimed == is_going_on
        })
    };
    // Whoever starts the run dies at each of its steps, and then its supervisor.
    cut(CRASH_AT);
    assert!(cut(SUPERVISOR_CRASH_AT) > 10, "supervisors were not killed");
}

#[test]
fn numbers_that_can_not_be_read_are_set_aside_and_never_go_back() {
    let env = with_spec("");
    let claim = |_| {
        let id = started(&env, &["holds", "x", "--task", "T-3"]);
        let number = shown(&env, &id)["claim"]["number"].as_u64().unwrap();
        let_go(&env);
        wait_for_state(&env, &id, "done");
        number
    };
    assert_eq!([0, 1].map(claim), [1, 2]);
    fs::write(env.mesh().join("claim-numbers.json"), "{").unwrap();
    let [third, fourth] = [0, 1].map(claim);
    assert!(third > 2 && fourth == third + 1, "{third} {fourth}");
    assert!(fs::read_dir(env.mesh().join("quarantine")).unwrap().count() > 0);
}
