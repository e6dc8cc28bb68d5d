//! What is reserved for a worker before it starts, and given back when its run ends.

mod giving_way;

use std::fs;
use std::io::Write;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use ravenry::sys::test_switches::{CRASH_AT, SUPERVISOR_CRASH_AT};
use serde_json::{Value, json};

use super::worktrees::with_repository;
use super::{left_of, path_with_msg, put_harness, script, shown, wait_for_state};
use crate::support::environment::{TestEnvironment, put_program, rounds, wait_until};

/// A worker that goes on until it is told to end.
const HOLDS: &str = "read x < \"$HOME/go\"; echo over";

fn with_holder(more: &str) -> TestEnvironment {
    let env = with_repository(&[&script("holds", HOLDS), more].concat());
    mkfifo(&env.home().join("go"), Mode::S_IRWXU).unwrap();
    env
}

fn let_go(env: &TestEnvironment) {
    fs::write(env.home().join("go"), "go\n").unwrap();
}

#[track_caller]
fn started(env: &TestEnvironment, args: &[&str]) -> String {
    let args = [&["run"], args, &["--detach"]].concat();
    env.ok(&args)["run"]["id"].as_str().unwrap().to_string()
}

#[track_caller]
fn refused_by(env: &TestEnvironment, args: &[&str]) -> Value {
    let ended = env.run(&[&["run"], args, &["--json"]].concat()).expect_code(1);
    let error = ended.json()["error"].clone();
    assert_eq!((&error["kind"], &error["gate"]), (&json!("gate"), &json!("reserved")), "{ended}");
    error
}

/// The patterns that are reserved, each with its holder.
fn held(env: &TestEnvironment) -> Vec<(String, String)> {
    let all = env.ok(&["reservations"])["reservations"].clone();
    let text = |value: &Value| value.as_str().unwrap().to_string();
    all.as_array().unwrap().iter().map(|one| (text(&one["pattern"]), text(&one["holder"]))).collect()
}

#[test]
fn paths_are_the_workers_from_before_its_start_to_its_end() {
    let env = with_holder("");
    env.join("Robin");
    let id = started(&env, &["holds", "x", "--reserve", "a", "--reserve", "docs/**", "--name", "Helper"]);
    // It is so as soon as there is a run, whether or not its worker has started.
    let helper = || "Helper".to_string();
    assert_eq!(held(&env), [("a".to_string(), helper()), ("docs/**".to_string(), helper())]);
    wait_for_state(&env, &id, "running");
    let run = shown(&env, &id);
    assert_eq!((&run["reserve"], &run["agent"]), (&json!(["a", "docs/**"]), &json!("Helper")));
    assert_eq!(env.fails(1, &["reserve", "a", "--as", "Robin"]), "reserved");
    let error = refused_by(&env, &["holds", "y", "--reserve", "docs/x.md"]);
    assert_eq!(error["conflicts"][0]["holder"], "Helper");
    assert!(error["message"].as_str().unwrap().starts_with("Helper holds `docs/**`"), "{error}");
    assert_eq!(env.ok(&["runs", "--all"])["runs"].as_array().unwrap().len(), 1, "what was refused is no run");
    let_go(&env);
    wait_for_state(&env, &id, "done");
    assert_eq!(held(&env), []);
    env.ok(&["reserve", "a", "--as", "Robin"]);
}

#[test]
fn it_binds_in_every_work_tree() {
    let env = with_holder("");
    env.join("Robin");
    let id = started(&env, &["holds", "x", "--worktree", "--reserve", "a"]);
    let run = wait_for_state(&env, &id, "running");
    assert_ne!(run["root"], json!(env.work()));
    let worker = env.registration(run["agent"].as_str().unwrap());
    assert_eq!(worker["cwd"], run["root"], "{run}");
    assert_ne!(worker["gitBranch"], "main", "the branch of its parent: {worker}");
    for place in [env.work(), run["root"].as_str().unwrap().into()] {
        let path = place.join("a");
        assert_eq!(env.fails(1, &["check", path.to_str().unwrap(), "--as", "Robin"]), "reserved");
    }
    let_go(&env);
    wait_for_state(&env, &id, "done");
    env.ok(&["check", "a", "--as", "Robin"]);
}

#[test]
fn whoever_waits_is_queued_until_it_is_free_and_can_be_stopped() {
    let env = with_holder(&script("quick", "cat"));
    env.join("Robin");
    env.ok(&["reserve", "a", "--as", "Robin"]);
    let waiting = started(&env, &["quick", "x", "--reserve", "a", "--wait"]);
    let mut follower = env.msg();
    follower
        .args(["run", "quick", "y", "--reserve", "a", "--wait"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut follower = follower.spawn().unwrap();
    let mut stopped = String::new();
    wait_until("both wait, and say for what", || {
        let runs = env.ok(&["runs"])["runs"].clone();
        let says = |run: &Value| {
            let reason = run["reason"].as_str().unwrap_or_default().to_string();
            run["state"] == "queued" && reason.starts_with("waits for its paths: Robin holds `a`")
        };
        let runs = runs.as_array().unwrap();
        let other = runs.iter().find(|run| run["id"] != waiting);
        stopped = other.map(|run| run["id"].as_str().unwrap().to_string()).unwrap_or_default();
        runs.len() == 2 && runs.iter().all(says)
    });
    // It holds no slot meanwhile, and nobody is registered for it.
    assert_eq!(env.names(), ["Robin"]);
    kill(Pid::from_raw(follower.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(follower.wait().unwrap().code(), Some(1));
    assert_eq!(shown(&env, &stopped)["state"], "stopped");
    assert_eq!(shown(&env, &waiting)["state"], "queued");
    let dry = env.ok(&["run", "quick", "z", "--reserve", "a", "--wait", "--dry-run"]);
    let gate =
        dry["gates"].as_array().unwrap().iter().find(|gate| gate["gate"] == "reserved").unwrap().clone();
    assert_eq!(gate["waits"], true);
    assert!(gate["answer"].as_str().unwrap().contains("Robin holds `a`"), "{gate}");
    env.ok(&["release", "a", "--as", "Robin"]);
    wait_for_state(&env, &waiting, "done");
}

#[test]
fn the_oldest_of_those_that_wait_goes_first() {
    let env = with_holder(&script("notes", "echo \"$(cat)\" >> \"$HOME/order\"; echo over"));
    let first = started(&env, &["holds", "x", "--reserve", "a"]);
    let mut ids = Vec::new();
    for number in 0..6 {
        let id = started(&env, &["notes", &number.to_string(), "--reserve", "a", "--wait"]);
        wait_until("it waits", || shown(&env, &id)["reason"].is_string());
        ids.push(id);
    }
    let_go(&env);
    wait_for_state(&env, &first, "done");
    ids.iter().for_each(|id| drop(wait_for_state(&env, id, "done")));
    assert_eq!(fs::read_to_string(env.home().join("order")).unwrap(), "0\n1\n2\n3\n4\n5\n");
}

#[test]
fn a_killed_supervisor_holds_nothing() {
    let env = with_holder("");
    for round in 0..rounds(20) {
        let id = started(&env, &["holds", &round.to_string(), "--reserve", "a"]);
        if round % 2 == 0 {
            wait_for_state(&env, &id, "running");
        }
        let pid = i32::try_from(shown(&env, &id)["supervisorPid"].as_i64().unwrap()).unwrap();
        kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
        wait_for_state(&env, &id, "interrupted");
        wait_until("nothing is left of it", || left_of(&id).is_empty());
        assert_eq!(held(&env), []);
    }
    env.ok(&["runs", "gc"]);
}

#[test]
fn a_start_that_is_cut_short_anywhere_holds_nothing() {
    let env = with_holder("");
    let cut = |who: &'static str| {
        let start = |step: &str| {
            let task = format!("{who} {step}");
            env.run_with(&["run", "holds", &task, "--reserve", "a", "--detach", "--json"], &[(who, step)]);
        };
        cut_short(&env, start, |is_going_on| held(&env).len() == usize::from(is_going_on))
    };
    // Whoever starts the run dies at each of its steps, and then its supervisor.
    cut(CRASH_AT);
    assert!(cut(SUPERVISOR_CRASH_AT) > 10, "supervisors were not killed");
}

/// Starts runs that die at their first step, their second, and so on, until some survive. `is_right` is asked what holds
/// while a run goes on, and when none does. Returns how many runs were interrupted or never came to be.
pub fn cut_short(env: &TestEnvironment, start: impl Fn(&str), is_right: impl Fn(bool) -> bool) -> usize {
    let live = || {
        let goes_on =
            |run: &&Value| ["queued", "starting", "running"].contains(&run["state"].as_str().unwrap());
        let runs = env.ok(&["runs", "--all"])["runs"].clone();
        runs.as_array().unwrap().iter().find(goes_on).cloned()
    };
    let (mut survived, mut cut) = (0, 0);
    for step in 1.. {
        assert!(step < 400, "it never survived");
        start(&step.to_string());
        // What is held is held by a run that goes on. A supervisor may live a moment longer than whoever started it.
        let mut seen = None;
        wait_until("nothing is held, or a run goes on", || {
            seen = live().filter(|run| run["state"] == "running");
            seen.is_some() || live().is_none() && supervisors(env).is_empty() && is_right(false)
        });
        let Some(run) = seen else {
            cut += 1;
            continue;
        };
        let was_right = is_right(true);
        let id = run["id"].as_str().unwrap();
        // Its supervisor may have died meanwhile.
        assert!(was_right || live().is_none(), "{run}");
        env.run(&["runs", "stop", id, "--now"]);
        wait_until("it is over", || {
            live().is_none() && left_of(id).is_empty() && supervisors(env).is_empty()
        });
        wait_until("nothing is held", || is_right(false));
        if shown(env, id)["state"] == "stopped" {
            survived += 1;
        } else {
            cut += 1;
        }
        if survived == 3 {
            break;
        }
    }
    cut
}

/// The supervisors of this environment that are alive.
pub fn supervisors(env: &TestEnvironment) -> Vec<i32> {
    super::kills::processes(&["--mesh", env.mesh().to_str().unwrap(), "supervise"])
}

#[test]
fn of_two_that_want_the_same_at_once_one_starts() {
    let env = with_holder("");
    for round in 0..rounds(10) {
        let mut starters: Vec<_> = (0..4)
            .map(|number| {
                let mut starter = env.msg();
                let task = format!("{round} {number}");
                let path = if number % 2 == 0 { "docs/x" } else { "docs/" };
                starter.args(["run", "holds", &task, "--reserve", path, "--detach", "--json"]);
                starter.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        let outputs: Vec<_> = starters.drain(..).map(|starter| starter.wait_with_output().unwrap()).collect();
        let answers: Vec<Value> =
            outputs.iter().map(|output| serde_json::from_slice(&output.stdout).unwrap()).collect();
        let ids: Vec<&str> = answers.iter().filter_map(|answer| answer["run"]["id"].as_str()).collect();
        assert_eq!(ids.len(), 1, "{answers:?}");
        for answer in answers.iter().filter(|answer| answer["run"].is_null()) {
            assert_eq!(answer["error"]["gate"], "reserved", "{answer}");
        }
        assert_eq!(held(&env).len(), 1);
        let_go(&env);
        wait_for_state(&env, ids[0], "done");
        assert_eq!(held(&env), []);
    }
}

#[test]
fn what_the_parent_holds_passes_to_its_worker_and_comes_back() {
    let checks = "msg check a && echo may; msg reserve a && echo renewed; read x < \"$HOME/go\"";
    let env = with_holder(&script("checks", checks));
    env.join("Robin");
    env.join("Wren");
    env.ok(&["reserve", "--repo", "a", "b", "--as", "Robin"]);
    refused_by(&env, &["checks", "x", "--reserve", "a", "--as", "Wren"]);
    let path = path_with_msg();
    let args =
        ["run", "checks", "x", "--reserve", "a", "--name", "Helper", "--as", "Robin", "--detach", "--json"];
    let id = env.run_with(&args, &[("PATH", &path)]).expect_code(0).json()["run"]["id"].clone();
    let id = id.as_str().unwrap();
    wait_for_state(&env, id, "running");
    // Neither the parent nor another may change it meanwhile; what was not passed on stays the parent's.
    assert_eq!(env.fails(1, &["check", "a", "--as", "Robin"]), "reserved");
    assert_eq!(env.fails(1, &["check", "a", "--as", "Wren"]), "reserved");
    assert_eq!(env.fails(1, &["check", "b", "--as", "Helper"]), "reserved");
    env.ok(&["check", "b", "--as", "Robin"]);
    let_go(&env);
    let run = wait_for_state(&env, id, "done");
    let result = run["result"].as_str().unwrap();
    assert!(result.contains("may") && result.contains("renewed"), "{result}");
    env.ok(&["check", "a", "--as", "Robin"]);
    assert_eq!(env.fails(1, &["check", "a", "--as", "Wren"]), "reserved");
}

#[test]
fn a_run_that_is_only_named_passes_nothing_on() {
    let env = with_holder(&script("quick", "cat"));
    env.join("Robin");
    env.join("Wren");
    let over = env.ok(&["run", "quick", "x", "--as", "Robin"])["run"]["id"].as_str().unwrap().to_string();
    let live = started(&env, &["holds", "x", "--reserve", "b", "--name", "Helper", "--as", "Robin"]);
    wait_for_state(&env, &live, "running");
    env.ok(&["reserve", "--repo", "a", "--as", "Robin"]);
    for (id, path, holder) in [(&over, "a", "Robin"), (&live, "a", "Robin"), (&live, "b", "Helper")] {
        for caller in [&["--as", "Wren"][..], &[]] {
            let args = [&["run", "quick", "y", "--reserve", path, "--json"], caller].concat();
            let ended = env.run_with(&args, &[("MSG_RUN", id)]).expect_code(1);
            let error = ended.json()["error"].clone();
            assert_eq!(error["gate"], "reserved", "{ended}");
            assert_eq!(error["conflicts"][0]["holder"], holder, "{ended}");
        }
    }
    let_go(&env);
    wait_for_state(&env, &live, "done");
}

#[test]
fn a_worker_passes_on_only_what_was_passed_to_it() {
    let asks = "for path in b 'docs/**' a docs/x; do msg run quick $path --reserve \"$path\" -q || echo no $path; done";
    let env = with_holder(&[script("asks", asks), script("quick", "echo got $(cat)")].concat());
    env.join("Robin");
    env.ok(&["reserve", "--repo", "a", "b", "docs/**", "--as", "Robin"]);
    let args = ["run", "asks", "x", "--reserve", "a", "--reserve", "docs/x", "--as", "Robin", "--json"];
    let run = env.run_with(&args, &[("PATH", &path_with_msg())]).expect_code(0).json()["run"].clone();
    let said: Vec<&str> = run["result"].as_str().unwrap().lines().collect();
    assert_eq!(said, ["no b", "no docs/**", "got a", "got docs/x"], "{run}");
}

#[test]
fn a_run_that_waits_outlasts_what_can_not_be_read() {
    let env = with_holder(&script("quick", "cat"));
    env.join("Robin");
    env.ok(&["reserve", "a", "--as", "Robin"]);
    let id = started(&env, &["quick", "x", "--reserve", "a", "--wait"]);
    wait_until("it waits", || shown(&env, &id)["reason"].is_string());
    let damaged = env.mesh().join("registry/Eve.json");
    fs::write(&damaged, "{\"name\": \"Eve\"").unwrap();
    env.run(&["release", "a", "--as", "Robin"]);
    wait_until("it says that it can't tell", || {
        let run = shown(&env, &id);
        assert_eq!(run["state"], "queued", "{run}");
        run["reason"].as_str().unwrap().starts_with("can't check its paths yet: cannot tell what")
    });
    fs::remove_file(&damaged).unwrap();
    wait_for_state(&env, &id, "done");
}

#[test]
fn why_a_run_waits_is_not_written_anew_each_second() {
    let env = with_holder("");
    env.join("Robin");
    env.ok(&["reserve", "a", "--as", "Robin"]);
    let id = started(&env, &["holds", "x", "--reserve", "a", "--wait"]);
    wait_until("it waits", || shown(&env, &id)["reason"].is_string());
    let first = shown(&env, &id)["reason"].clone();
    let mut sentences = vec![first.clone()];
    wait_until("the sentence would be another one by now", || {
        let dry = env.ok(&["run", "holds", "y", "--reserve", "a", "--wait", "--dry-run"]);
        let gates = dry["gates"].as_array().unwrap();
        let now = gates.iter().find(|gate| gate["gate"] == "reserved").unwrap()["answer"].clone();
        if !sentences.contains(&now) {
            sentences.push(now);
        }
        sentences.len() > 3
    });
    assert_eq!(shown(&env, &id)["reason"], first);
    env.ok(&["runs", "stop", &id]);
    wait_for_state(&env, &id, "stopped");
}

/// Lines of a stand-in for a client, whose hooks join.
const JOINS: &str = r#"printf '{"session_id":"s-1","cwd":"%s","source":"startup","hook_event_name":"SessionStart"}' "$PWD" |
  msg hook claude SessionStart >/dev/null
"#;

/// Starts a worker that is at its limit for so many seconds, and runs these lines first; returns the id of its run.
fn started_at_limit(env: &TestEnvironment, lines: &str, seconds: &str) -> String {
    let client = super::limits::CLIENT.replace("+ 20", &format!("+ {seconds}"));
    let path = put_harness(env, &client.replacen('\n', &format!("\n{lines}"), 1));
    let args = ["run", "claude", "x", "--reserve", "a", "--name", "Helper", "--detach", "--json"];
    let run = env.run_with(&args, &[("PATH", &path)]).expect_code(0).json()["run"].clone();
    run["id"].as_str().unwrap().to_string()
}

#[test]
fn paths_stay_reserved_until_a_limit_is_reset() {
    // With hooks that take the place over, and without.
    for hooks in [JOINS, ""] {
        let env = with_repository("");
        let id = started_at_limit(&env, hooks, "1000");
        // It says why once the worker has ended.
        wait_until("it rests", || {
            let run = shown(&env, &id);
            run["state"] == "limited" && run["reason"].is_string()
        });
        assert_eq!(held(&env), [("a".to_string(), "Helper".to_string())]);
        env.ok(&["runs", "stop", &id]);
        wait_for_state(&env, &id, "stopped");
        assert_eq!(held(&env), []);
    }
}

#[test]
fn a_worker_that_goes_on_after_a_limit_has_its_paths() {
    let notes = r#"msg reservations --json | tr -d ' \n' | grep -o '"holder":"[^"]*"' >> "$HOME/holders"
"#;
    for hooks in [JOINS, ""] {
        let env = with_repository("");
        let id = started_at_limit(&env, &[hooks, notes].concat(), "1");
        assert_eq!(wait_for_state(&env, &id, "done")["result"], "all done");
        let holders = fs::read_to_string(env.home().join("holders")).unwrap();
        assert_eq!(holders, "\"holder\":\"Helper\"\n".repeat(2));
        assert_eq!(held(&env), []);
    }
}

#[test]
fn a_worker_of_a_harness_takes_the_place_that_is_kept_for_it() {
    // A stand-in for a harness: its hooks join, and then ask whether they may edit.
    let stand_in = r#"#!/bin/sh
hook() { printf '%s' "$2" | msg hook claude "$1"; }
said=$(msg reservations --json | tr -d ' \n' | grep -o '"holder":"[^"]*"' | tr '\n' ' ')
hook SessionStart '{"session_id":"s-1","cwd":"'"$PWD"'","source":"startup","hook_event_name":"SessionStart"}' >/dev/null
edit() {
  printf '{"session_id":"s-1","cwd":"%s","tool_name":"Edit","tool_use_id":"u","tool_input":{"file_path":"%s/%s"}}' "$PWD" "$PWD" "$1" |
    msg hook claude PreToolUse
}
case "$(edit a)" in *'"deny"'*) said="$said a-refused" ;; *) said="$said a-free" ;; esac
case "$(edit b)" in *'"deny"'*) said="$said b-refused" ;; *) said="$said b-free" ;; esac
said="$said $(msg agents --json | tr -d ' \n' | grep -o '"name":"[^"]*"' | sort | tr '\n' ' ')"
printf '{"type":"result","subtype":"success","is_error":false,"result":"said: %s"}\n' "$(printf '%s' "$said" | tr -d '"')"
"#;
    let env = with_repository("[hooked]\nharness = \"claude\"\nisolation = \"worktree\"\n");
    env.join("Robin");
    env.ok(&["reserve", "--repo", "a", "b", "--as", "Robin"]);
    let bin = env.home().join("bin");
    fs::create_dir_all(&bin).unwrap();
    put_program(&bin.join("claude"), stand_in);
    let path = format!("{}:{}", bin.display(), path_with_msg());
    let args = ["run", "hooked", "x", "--reserve", "a", "--name", "Helper", "--as", "Robin", "--json"];
    let run = env.run_with(&args, &[("PATH", &path)]).expect_code(0).json()["run"].clone();
    let result = run["result"].as_str().unwrap();
    assert!(result.contains("holder:Helper"), "held before its first turn: {run}");
    assert!(result.contains("a-free b-refused"), "{run}");
    assert!(result.contains("name:Helper name:Robin"), "one agent, not two: {run}");
    assert_eq!(run["agent"], "Helper");
    assert_eq!(held(&env).len(), 2, "only the parent's are left");
}

#[test]
fn who_only_names_the_run_does_not_take_its_place() {
    let env = with_holder("");
    let id = started(&env, &["holds", "x", "--reserve", "a", "--name", "Helper"]);
    let call = json!({"session_id": "stray", "cwd": env.work(), "source": "startup"}).to_string();
    let mut hook = env.msg();
    hook.args(["hook", "claude", "SessionStart"]).env("MSG_RUN", &id);
    let mut hook = hook.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    hook.stdin.take().unwrap().write_all(call.as_bytes()).unwrap();
    assert!(hook.wait().unwrap().success());
    assert_eq!(env.ok(&["whois", "Helper"])["agent"]["sessionId"], format!("run-{id}"));
    assert_eq!(held(&env), [("a".to_string(), "Helper".to_string())]);
    let_go(&env);
    wait_for_state(&env, &id, "done");
}

#[test]
fn what_a_nested_worker_leaves_behind_is_not_the_outer_worker() {
    let outer = "msg run inner x --detach -q; read x < \"$HOME/go\"";
    // Its own shell is not above it any more when it asks who it is.
    let inner = "(sh -c 'read x < \"$HOME/left\"; msg whoami --json > \"$HOME/part\"; mv \"$HOME/part\" \"$HOME/who\"' &); \
                 echo > \"$HOME/left\"; while ! test -e \"$HOME/who\"; do sleep 0.1; done; echo over";
    let env = with_holder(&[script("outer", outer), script("inner", inner)].concat());
    mkfifo(&env.home().join("left"), Mode::S_IRWXU).unwrap();
    let args = ["run", "outer", "x", "--reserve", "a", "--name", "Outer", "--detach", "--json"];
    let run = env.run_with(&args, &[("PATH", &path_with_msg())]).expect_code(0).json()["run"].clone();
    let who = env.home().join("who");
    wait_until("it has asked", || who.exists());
    let who: Value = serde_json::from_str(&fs::read_to_string(who).unwrap()).unwrap();
    assert_eq!(who["error"]["kind"], "not_joined", "{who}");
    let_go(&env);
    wait_for_state(&env, run["id"].as_str().unwrap(), "done");
    // The inner one, too, so that nothing runs when its directory is gone.
    let have_ended = |runs: &Value| runs.as_array().unwrap().iter().all(|run| run["state"] == "done");
    wait_until("both have ended", || have_ended(&env.ok(&["runs", "--all"])["runs"]));
}

#[test]
fn tasks_of_a_batch_that_want_the_same_follow_each_other() {
    let alone = "mkdir \"$HOME/alone\" && cat && rmdir \"$HOME/alone\" || echo not alone";
    let env = with_repository(&script("alone", alone));
    let line = |number: usize| {
        json!({"task": format!("t{number}"), "profile": "alone", "reserve": ["a"]}).to_string()
    };
    let lines: Vec<String> = (0..5).map(line).collect();
    fs::write(env.work().join("tasks"), lines.join("\n")).unwrap();
    let runs = env.ok(&["batch", "tasks"])["runs"].clone();
    let results: Vec<&str> =
        runs.as_array().unwrap().iter().map(|run| run["result"].as_str().unwrap()).collect();
    assert_eq!(results, ["t0", "t1", "t2", "t3", "t4"]);
}

#[test]
fn what_can_not_be_reserved_starts_nothing() {
    let env = with_holder("");
    let outside = env.home().join("x");
    let outside = outside.to_str().unwrap();
    for (pattern, kind) in
        [("", "invalid_pattern"), ("a[", "invalid_pattern"), ("../x", "too_broad"), (outside, "too_broad")]
    {
        assert_eq!(env.fails(2, &["run", "holds", "x", "--reserve", pattern]), kind, "{pattern}");
    }
    assert_eq!(env.fails(2, &["run", "holds", "x", "--wait"]), "usage");
    assert_eq!(env.ok(&["runs", "--all"])["runs"], json!([]));
    // An absolute path in the repository is one of it.
    let inside = env.work().join("b");
    let dry = env.ok(&["run", "holds", "x", "--reserve", inside.to_str().unwrap(), "--dry-run"]);
    let answer = |gate: &Value| (gate["gate"] == "reserved").then(|| gate["answer"].clone());
    assert_eq!(dry["gates"].as_array().unwrap().iter().find_map(answer), Some(json!("`b` is free")));
    // A directory below counts as the place of a pattern.
    fs::create_dir(env.work().join("docs")).unwrap();
    let mut below = env.msg();
    below.current_dir(env.work().join("docs"));
    below.args(["run", "holds", "x", "--reserve", "x.md", "--dry-run", "--json"]);
    let dry: Value = serde_json::from_slice(&below.output().unwrap().stdout).unwrap();
    assert_eq!(dry["gates"].as_array().unwrap().iter().find_map(answer), Some(json!("`docs/x.md` is free")));
    fs::remove_dir_all(env.work().join(".git")).unwrap();
    assert_eq!(env.fails(2, &["run", "holds", "x", "--reserve", "a"]), "no_repository");
}

#[test]
fn what_begins_anew_reserves_the_same() {
    let env = with_holder("");
    let id = started(&env, &["holds", "x", "--reserve", "a"]);
    wait_for_state(&env, &id, "running");
    env.ok(&["runs", "stop", &id, "--now"]);
    wait_for_state(&env, &id, "stopped");
    env.join("Robin");
    env.ok(&["reserve", "a", "--as", "Robin"]);
    let ended = env.run(&["runs", "retry", &id, "--json"]).expect_code(1);
    assert_eq!(ended.json()["error"]["gate"], "reserved", "{ended}");
    assert!(!ended.stdout.contains("--wait"), "it has no such option: {ended}");
    env.ok(&["release", "a", "--as", "Robin"]);
    let again = env.ok(&["runs", "retry", &id, "--detach"])["run"]["id"].as_str().unwrap().to_string();
    assert_eq!(shown(&env, &again)["reserve"], json!(["a"]));
    assert_eq!(held(&env).len(), 1);
    let_go(&env);
    wait_for_state(&env, &again, "done");
}
