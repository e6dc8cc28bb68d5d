//! What a task has to pass before a worker is started for it.

use nix::fcntl::{Flock, FlockArg};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};

use super::{detached, path_with_msg, script, shown, wait_for_state, with_profiles};
use crate::support::environment::{TestEnvironment, wait_until};

#[track_caller]
fn refused_by(env: &TestEnvironment, args: &[&str]) -> (String, String) {
    let ended = env.run(&[args, &["--json"]].concat()).expect_code(1);
    let answer = ended.json();
    assert_eq!(answer["error"]["kind"], "gate", "{ended}");
    assert_eq!(env.ok(&["runs", "--all"])["runs"], json!([]), "a run that was refused is none");
    let [gate, message] = ["gate", "message"].map(|key| answer["error"][key].as_str().unwrap().to_string());
    (gate, message)
}

#[test]
fn a_task_is_not_empty() {
    let env = with_profiles(&script("echo", "cat"));
    for task in ["", "  \n\t"] {
        assert_eq!(refused_by(&env, &["run", "echo", task]), ("task".into(), "the task is empty".into()));
    }
}

#[test]
fn a_task_is_not_endless() {
    let env = with_profiles(&script("echo", "cat"));
    let file = env.work().join("task");
    std::fs::write(&file, "x".repeat(1024 * 1024 + 1)).unwrap();
    let (gate, message) = refused_by(&env, &["run", "echo", "--file", file.to_str().unwrap()]);
    assert_eq!(
        (gate.as_str(), message.as_str()),
        ("task", "the task has 1048577 bytes; at most 1048576 are allowed")
    );
    std::fs::write(&file, "x".repeat(1024 * 1024)).unwrap();
    env.ok(&["run", "echo", "--file", file.to_str().unwrap()]);
}

#[test]
fn a_profile_exists() {
    let env = with_profiles(&script("echo", "cat"));
    let (gate, message) = refused_by(&env, &["run", "ehco", "x"]);
    assert_eq!((gate.as_str(), message.as_str()), ("profile", "there is no profile or harness `ehco`"));
    let ended = env.run(&["run", "ehco", "x"]);
    assert!(ended.stderr.contains("did you mean `echo`?"), "{ended}");
}

#[test]
fn a_broken_file_starts_nothing() {
    let env = with_profiles("[echo]\ncommand = 3\n");
    let ended = env.run(&["run", "echo", "x", "--json"]).expect_code(4);
    assert_eq!(ended.kind(), "bad_config");
    let message = ended.json()["error"]["message"].as_str().unwrap().to_string();
    assert!(message.contains("workers.toml:2:"), "{message}");
}

#[test]
fn what_fails_again_and_again_is_not_tried_again() {
    let env = with_profiles(&[script("bad", "exit 1"), script("good", "cat")].concat());
    for _ in 0..5 {
        env.run(&["run", "bad", "the same"]).expect_code(1);
    }
    let ended = env.run(&["run", "bad", "the same", "--json"]).expect_code(1);
    assert_eq!(ended.json()["error"]["gate"], "loop", "{ended}");
    assert_eq!(env.fails(1, &["run", "bad", "another"]), "run_failed");
    env.ok(&["run", "good", "the same"]);
}

#[test]
fn workers_of_workers_go_only_so_deep() {
    let deeper = r#"cat >/dev/null; msg run deeper x --json --color never || true"#;
    let env = with_profiles(&script("deeper", deeper));
    let answer =
        env.run_with(&["run", "deeper", "x", "--json"], &[("PATH", &path_with_msg())]).expect_code(0).json();
    assert!(answer["run"]["result"].as_str().unwrap().contains("this would be a worker of a worker, 4 deep"));
    assert_eq!(env.ok(&["runs", "--all"])["runs"].as_array().unwrap().len(), 4);
}

#[test]
fn of_many_at_once_only_as_many_start_as_a_tree_of_runs_may_have() {
    let outer = "cat >/dev/null; msg run inner first --detach -q; read x < go
        for n in 1 2 3 4 5 6 7 8; do msg run inner $n --detach --json & done; wait";
    let env = with_profiles(&[script("outer", outer), script("inner", "cat")].concat());
    mkfifo(&env.work().join("go"), Mode::S_IRWXU).unwrap();
    let args = ["run", "outer", "x", "--detach", "--json"];
    let answer = env.run_with(&args, &[("PATH", &path_with_msg())]).expect_code(0).json();
    let id = answer["run"]["id"].as_str().unwrap();
    let below = || {
        let runs = env.ok(&["runs", "--all"])["runs"].clone();
        runs.as_array().unwrap().iter().filter(|run| run["parentRun"] == id).cloned().collect::<Vec<_>>()
    };
    wait_until("it has started one", || below().first().is_some_and(|run| run["state"] == "done"));
    // 61 more, so that there may be two.
    let runs = env.mesh().join("runs");
    let first = below()[0]["id"].as_str().unwrap().to_string();
    let record: Value =
        serde_json::from_str(&std::fs::read_to_string(runs.join(first).join("run.json")).unwrap()).unwrap();
    let letters = "abcdefghjkmnpqrstuvwxyz023456789".as_bytes();
    for number in 0..61 {
        let id = format!("zzzz{}{}", char::from(letters[number / 32]), char::from(letters[number % 32]));
        let mut copy = record.clone();
        copy["id"] = id.clone().into();
        std::fs::create_dir(runs.join(&id)).unwrap();
        std::fs::write(runs.join(&id).join("run.json"), copy.to_string()).unwrap();
    }
    std::fs::write(env.work().join("go"), "go\n").unwrap();
    let run = wait_for_state(&env, id, "done");
    let result = run["result"].as_str().unwrap();
    assert_eq!(result.matches(r#""gate":"depth""#).count(), 6, "{result}");
    assert!(result.contains("has started 64 runs in all; at most 64 are allowed"), "{result}");
    assert_eq!(below().len(), 64);
    // Nothing is left of those that were refused.
    assert_eq!(std::fs::read_dir(&runs).unwrap().flatten().filter(|entry| entry.path().is_dir()).count(), 65);
}

#[test]
fn what_waits_is_not_started_once_the_same_has_failed_too_often() {
    let env = with_profiles(&[script("bad", "exit 1"), script("holds", "read x < go; cat")].concat());
    env.ok(&["config", "set", "slots", "1"]);
    mkfifo(&env.work().join("go"), Mode::S_IRWXU).unwrap();
    let first = detached(&env, "holds", "x");
    wait_for_state(&env, &first, "running");
    let waiting: Vec<String> = (0..7).map(|_| detached(&env, "bad", "the same")).collect();
    std::fs::write(env.work().join("go"), "go\n").unwrap();
    let mut ends = Vec::new();
    for id in waiting {
        let mut run = Value::Null;
        wait_until("it has ended", || {
            run = shown(&env, &id);
            run["endedAt"].is_string()
        });
        ends.push((run["state"].clone(), run["reason"].clone()));
    }
    let failed = ends.iter().filter(|(state, _)| state == "failed").count();
    let stopped = ends.iter().filter(|(_, reason)| {
        reason.as_str().is_some_and(|reason| reason.starts_with("this task has failed 5 times"))
    });
    assert_eq!((failed, stopped.count()), (5, 2), "{ends:?}");
}

#[test]
fn whoever_only_asks_hears_where_the_worker_would_work() {
    let env = super::worktrees::with_repository(&script("echo", "cat"));
    let asked = |flags: &[&str]| env.ok(&[&["run", "echo", "x", "--dry-run"], flags].concat());
    let work = env.work().canonicalize().unwrap();
    let (here, own) = (asked(&[]), asked(&["--worktree"]));
    assert_eq!((&here["root"], &here["project"]), (&json!(work), &Value::Null));
    assert_eq!(own["project"], json!(work), "a worktree is made from it");
}

#[test]
fn a_task_is_looked_at_before_the_profile() {
    let env = with_profiles(&script("echo", "cat"));
    assert_eq!(refused_by(&env, &["run", "nosuch", " "]).0, "task");
}

#[test]
fn the_program_of_a_command_exists() {
    let env = with_profiles(
        "[gone]\ncommand = [\"no-such-program-here\"]\n[there]\ncommand = [\"/no/such/program\"]\n\
         [text]\ncommand = [\"./notes\"]\n",
    );
    std::fs::write(env.work().join("notes"), "").unwrap();
    for (profile, name) in
        [("gone", "no-such-program-here"), ("there", "/no/such/program"), ("text", "./notes")]
    {
        let (gate, message) = refused_by(&env, &["run", profile, "x"]);
        let expected = format!("the program `{name}` of the profile `{profile}` was not found");
        assert_eq!((gate.as_str(), message), ("harness", expected));
    }
}

#[test]
fn a_mesh_that_is_being_shut_down_starts_nothing() {
    let env = with_profiles(&script("echo", "cat"));
    env.ok(&["run", "echo", "before"]);
    let mark = env.mesh().join("runs/draining.json");
    std::fs::write(&mark, r#"{"by": "a person", "since": "2026-01-01T00:00:00.000Z"}"#).unwrap();
    let ended = env.run(&["run", "nosuch", "", "--json"]).expect_code(1);
    assert_eq!(ended.json()["error"]["gate"], "draining", "it comes first: {ended}");
    assert_eq!(env.fails(1, &["run", "echo", "meanwhile"]), "gate");
    std::fs::remove_file(&mark).unwrap();
    env.ok(&["run", "echo", "after"]);
}

#[test]
fn after_three_failures_in_a_row_the_next_run_waits() {
    let env = with_profiles(&[script("bad", "exit 1"), script("good", "cat")].concat());
    // So long that it is not over before the last of what is asked here, however busy the machine is.
    env.configure(r#"{"backOff": 3600}"#);
    for task in ["a", "b", "c"] {
        assert_eq!(env.fails(1, &["run", "bad", task]), "run_failed");
    }
    let dry = env.ok(&["run", "bad", "d", "--dry-run"]);
    let waits: Vec<&str> = dry["gates"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|answer| answer["waits"] == true)
        .map(|answer| answer["gate"].as_str().unwrap())
        .collect();
    assert_eq!(waits, ["backoff"], "{dry}");
    env.ok(&["run", "good", "another profile does not wait"]);
    let id = detached(&env, "bad", "d");
    wait_until("it says why it waits", || shown(&env, &id)["reason"].is_string());
    let queued = shown(&env, &id);
    assert_eq!(queued["state"], "queued", "{queued}");
    let why = queued["reason"].as_str().unwrap();
    assert!(why.starts_with("the last 3 runs of `bad` failed, so it waits 1h before the next"), "{why}");
    env.ok(&["runs", "stop", &id]);
    wait_for_state(&env, &id, "stopped");
}

/// However late this process looks: the rest is measured by the times that the runs themselves have recorded.
#[test]
fn after_its_rest_the_next_run_starts() {
    let env = with_profiles(&script("bad", "exit 1"));
    env.configure(r#"{"backOff": 1}"#);
    for task in ["a", "b", "c", "d"] {
        assert_eq!(env.fails(1, &["run", "bad", task]), "run_failed");
    }
    let runs = env.ok(&["runs", "--all"])["runs"].clone();
    let time = |task: &str, key: &str| -> jiff::Timestamp {
        let run = runs.as_array().unwrap().iter().find(|run| run["task"] == task).unwrap();
        run[key].as_str().unwrap().parse().unwrap()
    };
    let waited = time("d", "startedAt").duration_since(time("c", "endedAt"));
    assert!(waited >= jiff::SignedDuration::from_secs(1), "{waited}");
}

#[test]
fn whoever_only_asks_hears_what_every_gate_says() {
    let env = with_profiles(&script("echo", "cat"));
    env.ok(&["config", "set", "slots", "3"]);
    let gates = env.ok(&["run", "echo", "x", "--dry-run"])["gates"].clone();
    let gates = gates.as_array().unwrap();
    let names: Vec<&str> = gates.iter().map(|answer| answer["gate"].as_str().unwrap()).collect();
    for name in
        ["draining", "depth", "task", "profile", "trust", "harness", "slots", "limit", "backoff", "loop"]
    {
        assert!(names.contains(&name), "{names:?}");
    }
    let slots = gates.iter().find(|answer| answer["gate"] == "slots").unwrap();
    assert_eq!((&slots["answer"], &slots["waits"]), (&json!("3 of 3 are free"), &json!(false)));
    assert_eq!(env.ok(&["runs", "--all"])["runs"], json!([]));
}

#[test]
fn a_run_that_cannot_be_admitted_says_why() {
    let env = with_profiles(&script("quick", "cat"));
    env.ok(&["run", "quick", "x"]);
    env.configure(r#"{"backOff": 0}"#);
    let file = std::fs::File::open(env.mesh().join("runs/admission.lock")).unwrap();
    let lock = Flock::lock(file, FlockArg::LockExclusive).unwrap();
    let ended = env.run_with(&["run", "quick", "y", "--json"], &[("MSG_LOCK_TIMEOUT", "0.5")]);
    assert_eq!(ended.kind(), "lock_timeout", "{ended}");
    let error = ended.json()["error"].clone();
    assert!(error["message"].as_str().unwrap().contains("admission.lock"), "{ended}");
    assert!(error["hints"].to_string().contains("ps -p"), "{ended}");
    assert_eq!(env.ok(&["runs", "--all"])["runs"].as_array().unwrap().len(), 1, "it is no run");
    drop(lock);
    env.ok(&["run", "quick", "y"]);
}
