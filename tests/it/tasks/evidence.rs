//! What proves a task: the commands of its spec, what whoever completes it says, and what hooks saw.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ravenry::sys::test_switches::{NO_HOOK_LIMIT, NOW};
use serde_json::{Value, json};

use super::fixture::{assert_state, mail};
use crate::support::environment::{Ended, TestEnvironment, end, put, wait_until};
use crate::support::hook_call::{Call, session_of};
use crate::support::terminal::{Terminal, harness};

const SPEC: &str = "\
- [ ] TASK-01: passes
  verify: echo one; echo two >&2; pwd > where
  verify: `test -e where`
- [ ] TASK-02: fails (needs TASK-01)
  verify: echo red; exit 3
- [ ] TASK-03: hangs
  verify: echo $$ > pid; sleep 1000 & echo $! >> pid; trap '' TERM; while :; do sleep 1; done
- [ ] TASK-04: waits
  verify: echo $$ > pid; echo begun > begun; sleep 1000 & echo $! >> pid; wait
- [ ] TASK-05: nothing
";

/// Alice and Carol with a spec that a person trusts.
fn trusted() -> TestEnvironment {
    let env = TestEnvironment::new();
    put(&env.work().join("spec.md"), SPEC);
    for name in ["Alice", "Carol"] {
        env.join(name);
        env.ok(&["spec", "spec.md", "--as", name]);
    }
    env.ok(&["workers", "trust", "--spec", "spec.md", "--yes"]);
    env
}

fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=A", "-c", "user.email=a@b.c"]).args(args).current_dir(dir);
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

/// A row of `msg tasks`.
#[track_caller]
fn row(env: &TestEnvironment, id: &str) -> Value {
    let listing = env.ok(&["tasks", "--as", "Carol"]);
    listing["tasks"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap().clone()
}

/// The line of `msg tasks` about a task, at that time.
#[track_caller]
fn line(env: &TestEnvironment, id: &str, time: &str) -> String {
    let said = env.run_with(&["tasks", "--as", "Carol"], &[(NOW, time), ("TZ", "UTC")]).expect_code(0);
    said.stdout.lines().find(|line| line.starts_with(id)).unwrap().to_string()
}

/// Whether none of the processes in the file is alive.
fn are_gone(file: &Path) -> bool {
    let pids = fs::read_to_string(file).unwrap();
    let is_alive = |pid: &str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    assert_eq!(pids.lines().count(), 2, "{pids}");
    !pids.lines().any(is_alive)
}

fn complete_at(env: &TestEnvironment, time: &str, args: &[&str]) -> Ended {
    env.run_with(&[&["complete", "--json", "--as", "Alice"], args].concat(), &[(NOW, time)])
}

#[test]
fn what_passes_is_completed_and_recorded() {
    let env = trusted();
    git(&env.work(), &["init", "-q"]);
    git(&env.work(), &["commit", "-q", "--allow-empty", "-m", "x"]);
    let head = git(&env.work(), &["rev-parse", "HEAD"]);
    let below = env.work().join("deep/er");
    fs::create_dir_all(&below).unwrap();
    env.ok(&["workers", "trust", "--spec", "spec.md", "--yes"]);
    env.ok(&["claim", "TASK-01", "--as", "Alice"]);
    let mut msg = env.msg();
    msg.args(["complete", "--verify", "--evidence", "seen by \"me\"", "--json", "--as", "Alice"]);
    let done = end(msg.current_dir(&below)).expect_code(0).json();
    let evidence = &done["completion"]["evidence"];
    assert_eq!(evidence["command"], "echo one; echo two >&2; pwd > where\ntest -e where");
    assert_eq!((&evidence["exitCode"], &evidence["tail"]), (&json!(0), &json!("")), "of the last command");
    assert_eq!((&evidence["commit"], &evidence["text"]), (&json!(head), &json!("seen by \"me\"")));
    let place = fs::read_to_string(env.work().join("where")).unwrap();
    assert_eq!(Path::new(place.trim()), fs::canonicalize(env.work()).unwrap(), "the root of the work tree");
    assert_eq!(done["unblocked"], json!(["TASK-02"]));
    let row = row(&env, "TASK-01");
    assert_eq!(
        (&row["state"], &row["proof"], &row["evidence"]),
        (&json!("done"), &json!("proven"), evidence)
    );
    assert!(fs::read_dir(env.home().join(".local/state/ravenry/verify")).unwrap().next().is_none());
    // Whoever calls again is told what was recorded, and nothing is run.
    fs::remove_file(env.work().join("where")).unwrap();
    let again = env.ok(&["complete", "TASK-01", "--verify", "--as", "Alice"]);
    assert_eq!((&again["already"], &again["completion"]["evidence"]), (&json!(true), evidence));
    assert!(!env.work().join("where").exists());
}

#[test]
fn what_fails_is_not_completed() {
    let env = trusted();
    env.ok(&["claim", "TASK-01", "--as", "Alice"]);
    env.ok(&["complete", "--as", "Alice"]);
    env.ok(&["claim", "TASK-02", "--reserve", "src/", "--as", "Alice"]);
    let ended =
        env.run(&["complete", "TASK-02", "--verify", "--tick", "--json", "--as", "Alice"]).expect_code(1);
    let error = &ended.json()["error"];
    assert_eq!(error["kind"], "not_verified");
    assert_eq!((&error["command"], &error["exitCode"]), (&json!("echo red; exit 3"), &json!(3)));
    assert_eq!((&error["tail"], &error["hints"]), (&json!("red"), &json!(["red"])));
    assert_state(&env, "TASK-02 claimed Alice");
    assert!(env.registration("Alice")["reservations"].to_string().contains("src/"), "its paths stay, too");
    assert!(!fs::read_to_string(env.work().join("spec.md")).unwrap().contains("[x]"));
    // Without the flag it is a word.
    let done = env.ok(&["complete", "TASK-02", "--evidence", "I looked", "--as", "Alice"]);
    assert_eq!(done["completion"]["evidence"]["text"], "I looked");
    assert_eq!(done["completion"]["evidence"]["command"], Value::Null);
    assert_eq!(row(&env, "TASK-02")["proof"], "said");
    assert_eq!(
        (&row(&env, "TASK-01")["proof"], &row(&env, "TASK-01")["evidence"]),
        (&json!("said"), &Value::Null)
    );
}

#[test]
fn what_hangs_is_ended_with_all_that_it_started() {
    let env = trusted();
    env.ok(&["config", "set", "verifyTimeout", "5"]);
    env.ok(&["claim", "TASK-03", "--as", "Alice"]);
    let ended = env.run(&["complete", "--verify", "--json", "--as", "Alice"]).expect_code(1);
    let error = &ended.json()["error"];
    assert_eq!(error["kind"], "not_verified");
    assert!(error["message"].as_str().unwrap().contains("ended with a timeout after 5 s"), "{error}");
    assert_eq!(error.get("exitCode"), None, "it has none");
    assert!(are_gone(&env.work().join("pid")));
    assert_state(&env, "TASK-03 claimed Alice");
}

/// Starts `complete --verify` of a task whose command waits, and returns when it runs.
fn waiting(env: &TestEnvironment) -> std::process::Child {
    env.ok(&["claim", "TASK-04", "--as", "Alice"]);
    let mut msg = env.msg();
    msg.args(["complete", "--verify", "--json", "--as", "Alice"]);
    let child = msg.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let file = env.work().join("pid");
    wait_until("it runs", || fs::read_to_string(&file).is_ok_and(|text| text.lines().count() == 2));
    child
}

#[test]
fn killed_in_the_middle_the_task_stays_claimed_and_nothing_runs_on() {
    let env = trusted();
    let mut child = waiting(&env);
    // Others are not kept waiting meanwhile.
    env.ok(&["claim", "TASK-05", "--as", "Carol"]);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("all is ended", || are_gone(&env.work().join("pid")));
    assert_state(&env, "TASK-04 claimed Alice");
    assert_eq!(row(&env, "TASK-04")["proof"], Value::Null);
    // The next one cleans up, and may complete it.
    env.ok(&["complete", "TASK-04", "--as", "Alice"]);
}

#[test]
fn interrupted_it_stops() {
    let env = trusted();
    let child = waiting(&env);
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"interrupted\""));
    assert!(are_gone(&env.work().join("pid")));
    assert_state(&env, "TASK-04 claimed Alice");
}

#[test]
fn who_lost_the_task_meanwhile_does_not_complete_it() {
    let env = trusted();
    let child = waiting(&env);
    env.ok(&["handoff", "TASK-04", "Carol", "--as", "Alice"]);
    let pids = fs::read_to_string(env.work().join("pid")).unwrap();
    let sleeper: i32 = pids.lines().nth(1).unwrap().parse().unwrap();
    kill(Pid::from_raw(sleeper), Signal::SIGTERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_state(&env, "TASK-04 claimed Carol");
}

#[test]
fn bad_input() {
    let env = trusted();
    let verify = |task: &str| env.fails(1, &["complete", task, "--verify", "--as", "Alice"]);
    assert_eq!(env.fails(1, &["complete", "--verify", "--as", "Alice"]), "not_claimed");
    assert_eq!(verify("TASK-99"), "not_claimed");
    assert_eq!(verify("TASK-01"), "not_claimed");
    env.ok(&["claim", "TASK-01", "--as", "Carol"]);
    assert_eq!(verify("TASK-01"), "not_yours");
    assert!(!env.work().join("where").exists(), "nothing was run");
    env.ok(&["claim", "TASK-05", "--as", "Alice"]);
    let ended = env.run(&["complete", "--verify", "--json", "--as", "Alice"]).expect_code(1);
    assert_eq!(ended.kind(), "not_verified");
    assert!(ended.json()["error"]["message"].as_str().unwrap().contains("no `verify:` line"));
    assert_eq!(env.fails(2, &["complete", "--evidence", " ", "--as", "Alice"]), "invalid_value");
    let long = "x".repeat(17_000);
    assert_eq!(env.run(&["complete", "--evidence", &long, "--json", "--as", "Alice"]).kind(), "too_large");
    assert_state(&env, "TASK-05 claimed Alice");
    // A task in no spec has no commands.
    env.ok(&["unclaim", "--as", "Alice"]);
    env.ok(&["claim", "OTHER", "--adhoc", "--as", "Alice"]);
    assert_eq!(verify("OTHER"), "not_verified");
}

#[test]
fn what_nobody_trusted_is_not_run() {
    let env = TestEnvironment::new();
    put(&env.work().join("spec.md"), SPEC);
    for name in ["Alice", "Carol"] {
        env.join(name);
        env.ok(&["spec", "spec.md", "--as", name]);
    }
    env.ok(&["claim", "TASK-01", "--as", "Alice"]);
    let verify = ["complete", "--verify", "--json", "--as", "Alice"];
    let refused = |part: &str| {
        let ended = env.run(&verify).expect_code(1);
        assert_eq!(ended.kind(), "untrusted", "{ended}");
        let error = &ended.json()["error"];
        assert!(error["diff"].as_str().unwrap().contains(part), "{error}");
        assert!(error["hints"][0].as_str().unwrap().contains("msg workers trust --spec spec.md"), "{error}");
        assert!(!env.work().join("where").exists());
        assert_state(&env, "TASK-01 claimed Alice");
    };
    refused("+TASK-01: test -e where");
    // A model can't trust it, and nobody does unasked.
    let mut inside = harness(&env, "claude");
    let trust = "msg workers trust --spec spec.md";
    assert_eq!(inside.run(&format!("{trust} --yes --json")).expect_code(1).kind(), "in_harness");
    assert_eq!(env.fails(2, &["workers", "trust", "--spec", "spec.md"]), "no_terminal");
    refused("+TASK-01");
    // A person is shown the commands.
    let shown = Terminal::open(&env).show_and_answer(trust, "[y/N] ", "y\n");
    for part in ["TASK-02: echo red; exit 3", "would run these commands", "until they change"] {
        assert!(shown.contains(part), "{shown}");
    }
    assert_eq!(env.ok(&["workers", "trust", "--spec", "spec.md"])["changed"], false);
    // Other text may change, the commands may not.
    let text = SPEC.replace("passes", "shall pass").replace("- [ ] TASK-05", "- [x] TASK-05");
    put(&env.work().join("spec.md"), &text.replace("exit 3", "exit 4"));
    refused("-TASK-02: echo red; exit 3\n+TASK-02: echo red; exit 4");
    put(&env.work().join("spec.md"), &text);
    assert_eq!(env.ok(&["workers", "trust", "--spec", "spec.md", "--revoke"])["changed"], true);
    refused("+TASK-01");
    env.ok(&["workers", "trust", "--spec", "spec.md", "--yes"]);
    env.ok(&verify[..2].iter().chain(&verify[3..]).copied().collect::<Vec<_>>());
    assert_eq!(row(&env, "TASK-01")["proof"], "proven");
    put(&env.work().join("none.md"), "- [ ] A-1: x\n");
    assert_eq!(env.ok(&["workers", "trust", "--spec", "none.md"])["changed"], false);
}

/// A hook of Alice's at that time.
#[track_caller]
fn hook(env: &TestEnvironment, time: &str, call: &Call) {
    let mut command = call.command(env);
    call.understand(&end(command.env(NOW, time).env(NO_HOOK_LIMIT, "1")));
}

fn tested(env: &TestEnvironment, event: &str) -> Call {
    Call::bash(env, event, &session_of("Alice"), "cargo test").with("/duration_ms", 1000)
}

fn edited(env: &TestEnvironment) -> Call {
    Call::new(env, "claude/PostToolUse-Edit", &session_of("Alice"))
        .with("/tool_input/file_path", json!(env.work().join("src/lib.rs")))
}

fn at(minute: &str) -> String {
    format!("2026-11-18T12:{minute}Z")
}

/// Alice joined and claimed the task at 12:00.
fn seen() -> TestEnvironment {
    let env = TestEnvironment::new();
    put(&env.work().join("spec.md"), SPEC);
    for name in ["Alice", "Carol"] {
        let (host, session) = (env.host().to_string(), session_of(name));
        let join = ["join", name, "--pid", &host, "--session", &session, "--spec", "spec.md"];
        env.run_with(&join, &[(NOW, &at("00:00"))]).expect_code(0);
    }
    env.run_with(&["claim", "TASK-01", "--as", "Alice"], &[(NOW, &at("00:00"))]).expect_code(0);
    env
}

#[test]
fn a_test_run_that_hooks_saw_proves_it() {
    let env = seen();
    hook(&env, &at("01:00"), &edited(&env));
    hook(&env, &at("02:00"), &tested(&env, "PostToolUse"));
    let done = complete_at(&env, &at("03:00"), &[]).expect_code(0).json();
    let evidence = &done["completion"]["evidence"];
    let test = json!({ "command": "cargo test", "passed": true, "at": "2026-11-18T12:01:59.000Z" });
    assert_eq!((&evidence["test"], &evidence["editedAt"]), (&test, &json!("2026-11-18T12:01:00.000Z")));
    assert!(line(&env, "TASK-01", &at("04:00")).contains("Alice, proven"));
    // What it edits afterwards, with nothing else to do, is not proven.
    hook(&env, &at("05:00"), &edited(&env));
    assert_eq!(row(&env, "TASK-01")["proof"], "stale");
    let stale = "stale proof (tests 12:01, last edit 12:05)";
    assert!(line(&env, "TASK-01", &at("06:00")).contains(stale));
    assert!(line(&env, "TASK-01", "2026-11-19T12:00:00Z").contains("tests Nov 18 12:01"));
    // What belongs to its next task has nothing to do with it.
    env.run_with(&["claim", "TASK-05", "--as", "Alice"], &[(NOW, &at("07:00"))]).expect_code(0);
    hook(&env, &at("08:00"), &edited(&env));
    assert_eq!(row(&env, "TASK-01")["proof"], "proven");
    // A test run of the former task proves nothing of the next one.
    complete_at(&env, &at("09:00"), &[]).expect_code(0);
    assert_eq!(row(&env, "TASK-05")["proof"], "said");
    assert_eq!(row(&env, "TASK-01")["proof"], "proven", "it has completed another one since");
}

#[test]
fn a_proof_is_stale_after_an_edit() {
    let env = seen();
    hook(&env, &at("02:00"), &tested(&env, "PostToolUse"));
    // An edit of the same file within seconds is not told twice in the feed, but it counts.
    hook(&env, &at("04:00"), &edited(&env));
    hook(&env, &at("04:02"), &edited(&env));
    complete_at(&env, &at("05:00"), &[]).expect_code(0);
    let stale = "Alice, stale proof (tests 12:01, last edit 12:04)";
    assert!(line(&env, "TASK-01", &at("06:00")).contains(stale));
    // It stays so when she is gone.
    env.ok(&["leave", "--as", "Alice"]);
    assert_eq!(row(&env, "TASK-01")["proof"], "stale");
}

#[test]
fn an_edit_while_the_tests_run_makes_them_stale() {
    let env = seen();
    hook(&env, &at("02:59"), &edited(&env));
    hook(&env, &at("03:00"), &tested(&env, "PostToolUse").with("/duration_ms", 5000));
    complete_at(&env, &at("05:00"), &[]).expect_code(0);
    assert_eq!(row(&env, "TASK-01")["proof"], "stale");
}

#[test]
fn tests_that_failed_last_prove_nothing() {
    let env = seen();
    hook(&env, &at("02:00"), &tested(&env, "PostToolUse"));
    hook(&env, &at("03:00"), &tested(&env, "PostToolUseFailure"));
    // Of this one nobody knows how it ended.
    let piped = Call::bash(&env, "PostToolUse", &session_of("Alice"), "cargo test | tail");
    hook(&env, &at("04:00"), &piped);
    let done = complete_at(&env, &at("05:00"), &[]).expect_code(0).json();
    assert_eq!(done["completion"]["evidence"]["test"]["passed"], false);
    assert_eq!(row(&env, "TASK-01")["proof"], "said");
    assert!(line(&env, "TASK-01", &at("06:00")).contains("Alice, only said"));
}

#[test]
fn what_is_verified_is_stale_after_an_edit() {
    let env = trusted();
    env.ok(&["claim", "TASK-01", "--as", "Alice"]);
    env.ok(&["complete", "--verify", "--as", "Alice"]);
    assert_eq!(row(&env, "TASK-01")["proof"], "proven");
    let call = edited(&env);
    call.understand(&end(call.command(&env).env(NO_HOOK_LIMIT, "1")));
    assert_eq!(row(&env, "TASK-01")["proof"], "stale");
}

#[test]
fn a_ticked_box_is_only_said() {
    let env = trusted();
    put(&env.work().join("spec.md"), &SPEC.replace("- [ ] TASK-05", "- [x] TASK-05"));
    assert_eq!(row(&env, "TASK-05")["proof"], "said");
    assert!(line(&env, "TASK-05", &at("00:00")).contains("ticked, only said"));
}

#[test]
fn nothing_but_the_flag_runs_it() {
    let env = trusted();
    env.ok(&["claim", "TASK-01", "--as", "Alice"]);
    let call = edited(&env);
    call.understand(&end(call.command(&env).env(NO_HOOK_LIMIT, "1")));
    let stop = Call::new(&env, "claude/Stop", &session_of("Alice"));
    end(stop.command(&env).env(NO_HOOK_LIMIT, "1")).expect_code(0);
    env.ok(&["tasks", "--as", "Alice"]);
    env.ok(&["complete", "--evidence=--verify", "--as", "Alice"]);
    env.ok(&["reopen", "TASK-01", "--reason", "again", "--as", "Carol"]);
    assert!(!env.work().join("where").exists());
    assert_eq!(mail(&env, "Alice").len(), 1);
}
