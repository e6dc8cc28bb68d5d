//! Runs of workers that are commands: what is promised about them whatever the harness.

mod again;
mod batch;
mod budgets;
mod claimed;
mod events;
mod fence;
mod gates;
mod held;
mod kills;
mod limits;
mod modes;
mod questions;
mod queue;
mod reviews;
pub mod worktrees;

use std::fs;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::support::environment::{TestEnvironment, end, put_program, wait_until};

/// An environment with these profiles of the user.
pub fn with_profiles(profiles: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    put_profiles(&env, profiles);
    env
}

/// Gives the user these profiles.
pub fn put_profiles(env: &TestEnvironment, profiles: &str) {
    let dir = env.home().join(".config/ravenry");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("workers.toml"), profiles).unwrap();
    // Tests that let workers fail don't wait for the next one, unless they are about that.
    if !env.config_file().exists() {
        env.configure(r#"{"backOff": 0}"#);
    }
}

/// The PATH with `msg` on it, for workers that call it.
pub fn path_with_msg() -> String {
    let dir = std::path::Path::new(env!("CARGO_BIN_EXE_msg")).parent().unwrap();
    format!("{}:{}", dir.display(), std::env::var("PATH").unwrap())
}

/// Puts a stand-in for Claude Code on a PATH, which has `msg` too; returns that PATH.
pub fn put_harness(env: &TestEnvironment, text: &str) -> String {
    let bin = env.home().join("bin");
    fs::create_dir_all(&bin).unwrap();
    put_program(&bin.join("claude"), text);
    format!("{}:{}", bin.display(), path_with_msg())
}

/// A profile that runs a shell script.
pub fn script(name: &str, text: &str) -> String {
    format!("[{name}]\ncommand = [\"sh\", \"-c\", {}]\n", serde_json::to_string(text).unwrap())
}

/// Starts a run that nobody follows; returns its id.
#[track_caller]
pub fn detached(env: &TestEnvironment, profile: &str, task: &str) -> String {
    env.ok(&["run", profile, task, "--detach"])["run"]["id"].as_str().unwrap().to_string()
}

#[track_caller]
pub fn shown(env: &TestEnvironment, id: &str) -> Value {
    env.ok(&["runs", "show", id])["run"].clone()
}

#[track_caller]
pub fn wait_for_state(env: &TestEnvironment, id: &str, state: &str) -> Value {
    wait_for_run(env, id, state, |run| run["state"] == state)
}

/// Waits until the run is as `is_so` says. One that has ended otherwise is not waited for.
#[track_caller]
pub fn wait_for_run(env: &TestEnvironment, id: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let mut run = Value::Null;
    wait_until(&format!("run {id} is {what}"), || {
        run = shown(env, id);
        let has_ended = run["endedAt"].is_string();
        assert!(is_so(&run) || !has_ended, "run {id} will never be {what}: {run:#}");
        is_so(&run)
    });
    run
}

/// The processes that carry the id of the run.
pub fn left_of(id: &str) -> Vec<String> {
    let wanted = format!("MSG_RUN={id}");
    let carries = |pid: &String| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    let names =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).filter(carries).collect()
}

#[test]
fn a_command_gets_its_task_and_its_output_is_the_result() {
    let env = with_profiles(&script("echo", "printf 'I got: '; cat; echo; echo noise >&2"));
    let task = "say \"hi\"\n$INPUT $$ `id` \\n 🐦";
    let answer = env.ok(&["run", "echo", task]);
    let run = &answer["run"];
    assert_eq!(run["state"], "done");
    assert_eq!(run["result"], format!("I got: {task}"));
    let keys: Vec<&String> = run.as_object().unwrap().keys().collect();
    for key in [
        "id",
        "state",
        "supervisorPid",
        "task",
        "profile",
        "harness",
        "version",
        "model",
        "agent",
        "parent",
        "startedAt",
        "endedAt",
        "result",
        "usage",
        "costUsd",
        "costIs",
        "branch",
        "changed",
        "question",
        "until",
    ] {
        assert!(keys.iter().any(|known| *known == key), "{key} is part of the contract");
    }
    assert_eq!(
        (&run["usage"], &run["costUsd"], &run["costIs"]),
        (&Value::Null, &Value::Null, &json!("unknown"))
    );
    let id = run["id"].as_str().unwrap();
    assert_eq!(env.ok(&["runs", "log", id, "--errors"])["log"], "noise\n");
    assert_eq!(env.ok(&["runs"])["runs"][0]["id"], id);
    assert!(left_of(id).is_empty());
    assert!(env.names().is_empty(), "its worker has left");
}

#[test]
fn lines_and_tabs_of_a_result_are_shown_as_such_and_nothing_else_is_obeyed() {
    let env = with_profiles(&script("table", "cat; printf '\\n\\ta\\033[31m\\tb\\r\\n\\nend'"));
    let shown = "task\n\ta\\u{1b}[31m\tb\n\nend\n";
    let ended = env.run(&["run", "table", "task"]).expect_code(0);
    assert!(ended.stdout.starts_with(shown), "{ended}");
    assert_eq!(env.run(&["run", "table", "task", "-q"]).expect_code(0).stdout, shown);
    let id = env.ok(&["runs"])["runs"][0]["id"].as_str().unwrap().to_string();
    assert_eq!(env.run(&["runs", "log", &id]).expect_code(0).stdout, shown);
    assert!(env.run(&["runs", "show", &id]).expect_code(0).stdout.ends_with(shown));
}

#[test]
fn an_argument_may_hold_the_task() {
    let env = with_profiles("[say]\ncommand = [\"echo\", \"task: {task}!\"]\n");
    assert_eq!(env.ok(&["run", "say", "a; b"])["run"]["result"], "task: a; b!");
}

#[test]
fn what_a_command_used_is_what_it_says() {
    let env = with_profiles(&script(
        "costly",
        r#"cat >/dev/null; echo done; echo '{"usage": {"input": 1200, "output": 34}, "costUsd": 0.25}' > "$MSG_USAGE""#,
    ));
    let run = env.ok(&["run", "costly", "x"])["run"].clone();
    let usage = json!({"input": 1200, "output": 34, "cacheRead": null, "cacheWrite": null, "turns": null});
    assert_eq!((&run["usage"], &run["costUsd"], &run["costIs"]), (&usage, &json!(0.25), &json!("reported")));
}

#[test]
fn done_is_only_what_has_a_result_and_no_error() {
    let env = with_profiles(
        &[
            script("bad", "echo half; echo 'no disk' >&2; exit 3"),
            script("silent", "cat >/dev/null"),
            script("asks", "echo 'Which of the two?'"),
            script("killed", "kill -9 $$"),
        ]
        .concat(),
    );
    for (profile, state, reason) in [
        ("bad", "failed", "it ended with exit code 3: no disk"),
        ("silent", "empty", "it ended without a result"),
        ("asks", "asks", "its last line is a question, and it changed nothing"),
        ("killed", "failed", "it was ended by SIGKILL"),
    ] {
        let ended = env.run(&["run", profile, "x", "--json"]).expect_code(1);
        let answer = ended.json();
        assert_eq!(ended.kind(), "run_failed", "{ended}");
        assert_eq!((&answer["run"]["state"], &answer["run"]["reason"]), (&json!(state), &json!(reason)));
    }
}

#[test]
fn a_worker_has_a_name_while_it_works_and_its_parent_is_told_of_its_end() {
    let env = with_profiles(&script("asked", "cat; read x < go"));
    nix::unistd::mkfifo(&env.work().join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    env.join("Robin");
    let id = env.ok(&["run", "asked", "look", "--detach", "--name", "Helper", "--as", "Robin"])["run"]["id"]
        .clone();
    let id = id.as_str().unwrap();
    wait_until("the worker is here", || env.names().contains(&"Helper".to_string()));
    fs::write(env.work().join("go"), "go\n").unwrap();
    let run = wait_for_state(&env, id, "done");
    assert_eq!((&run["agent"], &run["parent"]), (&json!("Helper"), &json!("Robin")));
    let mut mail = Value::Null;
    wait_until("its parent is told", || {
        mail = env.ok(&["read", "--as", "Robin"])["messages"][0].clone();
        mail.is_object()
    });
    let text = mail["text"].as_str().unwrap();
    assert!(text.starts_with(&format!("Run `{id}` (`asked`: “look”) has ended: `done`.")), "{text}");
    assert!(text.contains("Its last words:\n"), "{text}");
    assert_eq!(env.names(), ["Robin"]);
}

#[test]
fn a_run_that_takes_too_long_is_ended() {
    let env = with_profiles(&script("slow", "echo begun; sleep 1000 & sleep 1000"));
    let ended = env.run(&["run", "slow", "x", "--timeout", "15", "--json"]).expect_code(1);
    let run = ended.json()["run"].clone();
    assert_eq!((&run["state"], &run["result"]), (&json!("timeout"), &json!("begun")));
    assert!(left_of(run["id"].as_str().unwrap()).is_empty());
}

#[test]
fn a_line_of_a_hundred_megabytes_is_cut_and_told() {
    let env = with_profiles(&script("loud", "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo end"));
    let run = env.ok(&["run", "loud", "x"])["run"].clone();
    let result = run["result"].as_str().unwrap();
    assert!(result.len() < 1 << 20 && result.contains("bytes were left out here"));
    let output = env.mesh().join(format!("runs/{}/output", run["id"].as_str().unwrap()));
    let kept = fs::read_to_string(output).unwrap();
    assert!(kept.len() < 5 << 20 && kept.ends_with("x\nend\n") && kept.contains("bytes were left out here"));
}

#[test]
fn ctrl_c_stops_the_run_and_a_killed_follower_does_not() {
    let env = with_profiles(&script("slow", "echo begun; read x < go; echo over"));
    nix::unistd::mkfifo(&env.work().join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let follow = || -> Child {
        env.msg().args(["run", "slow", "x", "--json"]).stdout(Stdio::piped()).spawn().unwrap()
    };
    let newest = |state: &str| {
        let mut id = String::new();
        wait_until("the run goes on", || {
            let runs = env.ok(&["runs"])["runs"].clone();
            id = runs[0]["id"].as_str().unwrap_or_default().to_string();
            runs[0]["state"] == state
        });
        id
    };
    let killed = follow();
    let first = newest("running");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(killed.id().cast_signed()), nix::sys::signal::SIGKILL)
        .unwrap();
    killed.wait_with_output().unwrap();
    assert_eq!(shown(&env, &first)["state"], "running");
    fs::write(env.work().join("go"), "go\n").unwrap();
    assert_eq!(wait_for_state(&env, &first, "done")["result"], "begun\nover");
    let interrupted = follow();
    let second = newest("running");
    assert_ne!(first, second);
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(interrupted.id().cast_signed()),
        nix::sys::signal::SIGINT,
    )
    .unwrap();
    let output = interrupted.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["run"]["state"], "stopped");
    assert!(left_of(&second).is_empty());
}

#[test]
fn stopping_ends_everything_that_the_worker_started() {
    // It ignores SIGTERM, and so do its children, one of which has left its session.
    let env =
        with_profiles(&script("stubborn", "trap '' TERM; setsid sleep 1000 & sleep 1000 & echo begun; wait"));
    let id = detached(&env, "stubborn", "x");
    wait_until("it has begun", || env.ok(&["runs", "log", &id])["log"] == "begun\n");
    env.ok(&["runs", "stop", &id, "--now"]);
    let run = wait_for_state(&env, &id, "stopped");
    assert_eq!(run["reason"], "stopped by a person");
    assert!(left_of(&id).is_empty());
    assert_eq!(env.fails(1, &["runs", "stop", &id]), "not_running");
}

#[test]
fn nothing_of_the_parents_session_reaches_a_worker() {
    let env = with_profiles(&script("env", "env"));
    let variables =
        [("CLAUDE_CODE_SESSION_ID", "s"), ("MSG_AGENT", "Robin"), ("KEPT", "yes"), ("GIT_DIR", "/x")];
    env.join("Robin");
    let run = env.run_with(&["run", "env", "x", "--json"], &variables).expect_code(0).json()["run"].clone();
    let result = run["result"].as_str().unwrap();
    for gone in ["CLAUDE_CODE_SESSION_ID", "MSG_AGENT", "GIT_DIR"] {
        assert!(!result.contains(gone), "{gone}: {result}");
    }
    for there in ["KEPT=yes", &format!("MSG_RUN={}", run["id"].as_str().unwrap()), "RAVENRY_SLOT=0"] {
        assert!(result.lines().any(|line| line == there), "{there}: {result}");
    }
}

#[test]
fn a_run_is_named_by_the_beginning_of_its_id() {
    let env = with_profiles(&script("echo", "cat"));
    let id = env.ok(&["run", "echo", "x"])["run"]["id"].as_str().unwrap().to_string();
    assert_eq!(shown(&env, &id[..3].to_uppercase())["id"], id);
    assert_eq!(env.fails(1, &["runs", "show", "iiiiii"]), "unknown_run");
    assert_eq!(env.fails(1, &["runs", "show", "../x"]), "unknown_run");
    assert_eq!(env.fails(1, &["runs", "log", ""]), "unknown_run");
}

#[test]
fn a_damaged_record_is_told_and_hides_no_other() {
    let env = with_profiles(&script("echo", "cat"));
    let [first, second] =
        [(); 2].map(|()| env.ok(&["run", "echo", "x"])["run"]["id"].as_str().unwrap().to_string());
    fs::write(env.mesh().join(format!("runs/{first}/run.json")), "{").unwrap();
    let ended = end(env.msg().args(["runs", "--json"])).expect_code(0);
    assert_eq!(ended.json()["runs"].as_array().unwrap().len(), 1);
    assert_eq!(ended.json()["runs"][0]["id"], second);
    assert!(ended.stderr.contains("a run can't be read"), "{ended}");
}
