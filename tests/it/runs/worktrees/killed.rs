//! Worker, keeper and supervisor of a run with a worktree are killed at many moments: the work is in refs once
//! the next command that changes runs has settled it, and the person keeps everything.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::{SIGKILL, kill};
use nix::unistd::Pid;
use ravenry::sys::test_switches;
use serde_json::{Value, json};

use super::super::kills::{Victim, kill_and_wait, processes};
use super::super::{left_of, script, shown};
use super::{detached, directories, git, make_untidy, person, with_repository};
use crate::support::environment::{TestEnvironment, is_whole, rounds, wait_until};

/// A worker that writes a file after the other, and leaves a process in a session of its own.
const WRITES: &str = "cat >/dev/null; setsid sleep 1000 & n=0; while test $n -lt 400; do n=$((n + 1)); \
                      echo $n > file$n; echo $n >> $RAVENRY_PROJECT/../count; done; sleep 1000";

/// How far the worker came, as it says outside of its worktree.
fn counted(env: &TestEnvironment) -> usize {
    let text = fs::read_to_string(env.path().join("count")).unwrap_or_default();
    text.lines().last().map_or(0, |last| last.parse().unwrap())
}

/// Kills that process of a run after it has lived for a while, and checks that its work is saved.
#[track_caller]
fn kill_one(env: &TestEnvironment, victim: Victim, lives: Duration) {
    let about = format!("{victim:?} killed after {lives:?}");
    fs::remove_file(env.path().join("count")).ok();
    let id = detached(env, "writes", &about);
    kill_and_wait(env, &id, (victim, WRITES), lives, || true);
    let count = counted(env);
    // The next command that changes runs saves the work.
    env.ok(&["runs", "gc"]);
    let run = shown(env, &id);
    assert!(left_of(&id).is_empty() && directories(env).is_empty(), "{about}: {run}");
    let changed = run["changed"].as_array().map_or(0, Vec::len);
    // It says how far it came after it has written the file.
    assert!(changed >= count && changed <= count + 1, "{about}: {count} files, {run}");
    if changed > 0 {
        let tip = format!("refs/ravenry/run/{id}/tip");
        let names = git(&env.work(), &["ls-tree", "--name-only", &tip]);
        assert_eq!(names.lines().filter(|name| name.starts_with("file")).count(), changed, "{about}");
        let branch = run["branch"].as_str().unwrap();
        let names = git(&env.work(), &["ls-tree", "--name-only", branch]);
        assert_eq!(names.lines().filter(|name| name.starts_with("file")).count(), changed, "{about}");
    }
    let interrupted = matches!(victim, Victim::Supervisor);
    assert_eq!(run["state"] == "interrupted", interrupted, "{about}: {run}");
}

fn sweep(victim: Victim) {
    let env = with_repository(&script("writes", WRITES));
    make_untidy(&env);
    let before = person(&env);
    for round in 0..rounds(30) {
        kill_one(&env, victim, Duration::from_millis(round as u64 * 15));
    }
    assert_eq!(person(&env), before);
}

#[test]
fn a_killed_supervisor_loses_no_work() {
    sweep(Victim::Supervisor);
}

#[test]
fn a_killed_keeper_loses_no_work() {
    sweep(Victim::Keeper);
}

#[test]
fn a_killed_worker_loses_no_work() {
    sweep(Victim::Worker);
}

/// The run of a worker that has begun, whose supervisor was killed, with its worktree.
fn interrupted(env: &TestEnvironment, profile: &str) -> (String, PathBuf) {
    let id = detached(env, profile, "x");
    let root = PathBuf::from(super::wait_for_state(env, &id, "running")["root"].as_str().unwrap());
    wait_until("it has begun", || root.join("half").exists());
    kill(Pid::from_raw(processes(&["supervise", &id])[0]), SIGKILL).unwrap();
    wait_until("nothing is left", || left_of(&id).is_empty());
    super::wait_for_state(env, &id, "interrupted");
    (id, root)
}

#[test]
fn looking_changes_nothing_and_the_next_run_saves_the_work() {
    let env = with_repository(
        &[script("half", "cat; echo half > half; sleep 1000"), script("echo", "cat")].concat(),
    );
    let (id, root) = interrupted(&env, "half");
    // As after a reboot: another boot, and another process with that pid.
    let path = env.mesh().join(format!("runs/{id}/run.json"));
    let mut record: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    record["pid"] = env.host().into();
    record["process"]["bootId"] = "00000000-0000-0000-0000-000000000000".into();
    fs::write(&path, record.to_string()).unwrap();
    let refs = git(&env.work(), &["for-each-ref"]);
    for args in [&["runs"][..], &["runs", "show", &id], &["runs", "log", &id], &["runs", "gc", "--dry-run"]] {
        env.ok(args);
    }
    assert_eq!(env.fails(1, &["runs", "diff", &id]), "at_work");
    assert_eq!((git(&env.work(), &["for-each-ref"]), root.join("half").exists()), (refs, true));
    let run = shown(&env, &id);
    assert_eq!((&run["state"], &run["branch"]), (&json!("interrupted"), &Value::Null));
    env.ok(&["run", "echo", "x"]);
    let run = shown(&env, &id);
    assert_eq!((&run["state"], &run["changed"]), (&json!("interrupted"), &json!(["half"])));
    assert_eq!(git(&env.work(), &["show", &format!("ravenry/run-{id}:half")]), "half");
    assert!(!root.exists());
    env.ok(&["runs", "merge", &id]);
    assert_eq!(fs::read_to_string(env.work().join("half")).unwrap(), "half\n");
}

#[test]
fn what_can_not_be_saved_now_is_told_and_saved_later() {
    let env = with_repository(
        &[script("half", "cat; echo half > half; sleep 1000"), script("echo", "cat")].concat(),
    );
    let (id, root) = interrupted(&env, "half");
    let away = env.path().join("away");
    fs::rename(env.work().join(".git"), &away).unwrap();
    let ended = env.run(&["run", "echo", "x", "--json"]).expect_code(0);
    assert!(ended.stderr.contains(&format!("the work of run {id} could not be saved yet")), "{ended}");
    assert!(root.join("half").exists());
    fs::rename(&away, env.work().join(".git")).unwrap();
    let ended = env.run(&["run", "echo", "x", "--json"]).expect_code(0);
    assert!(!ended.stderr.contains("could not be saved"), "{ended}");
    assert_eq!(shown(&env, &id)["changed"], json!(["half"]));
}

#[test]
fn a_teardown_leaves_the_slot_of_another_run_alone() {
    let teardown = "[worktree]\nteardown = \"echo $RAVENRY_SLOT >> $RAVENRY_PROJECT/../torn\"\n";
    let half = script("half", "cat; echo half > half; sleep 1000");
    let env = with_repository(&(teardown.to_string() + &half + &script("echo", "cat")));
    let (first, _) = interrupted(&env, "half");
    // Nobody has slot 0 now.
    env.ok(&["runs", "gc"]);
    assert_eq!(fs::read_to_string(env.path().join("torn")).unwrap(), "0\n");
    assert_eq!(shown(&env, &first)["changed"], json!(["half"]));
    let (second, _) = interrupted(&env, "half");
    // Another run of the machine has slot 0, in another mesh.
    let lock = env.home().join(".local/state/ravenry/slots/0.lock");
    let mut held = None;
    wait_until("the slot is free", || {
        held = ravenry::sys::flock::FileLock::try_acquire(&lock).unwrap();
        held.is_some()
    });
    let ended = env.run(&["runs", "gc", "--json"]).expect_code(0);
    assert!(ended.stderr.contains("another run has its slot now"), "{ended}");
    drop(held);
    assert_eq!(fs::read_to_string(env.path().join("torn")).unwrap(), "0\n");
    assert_eq!(shown(&env, &second)["changed"], json!(["half"]));
    assert!(directories(&env).is_empty());
}

#[test]
fn a_supervisor_killed_while_it_sets_up_leaves_nothing() {
    let setup = "[worktree]\nsetup = \"setsid sleep 1000 & touch $RAVENRY_PROJECT/../begun; sleep 1000\"\n";
    let env = with_repository(&(setup.to_string() + &script("echo", "cat")));
    let before = person(&env);
    let id = detached(&env, "echo", "x");
    wait_until("its setup has begun", || env.path().join("begun").exists());
    kill(Pid::from_raw(processes(&["supervise", &id])[0]), SIGKILL).unwrap();
    wait_until("its setup is ended with it", || left_of(&id).is_empty());
    super::wait_for_state(&env, &id, "interrupted");
    env.ok(&["runs", "gc"]);
    assert!(directories(&env).is_empty() && !Path::new(&env.work().join(".git/worktrees")).exists());
    assert_eq!(git(&env.work(), &["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    assert_eq!(person(&env), before);
    assert_eq!(shown(&env, &id)["state"], "interrupted");
}

#[test]
fn whoever_saves_the_work_may_be_killed_at_any_step() {
    let env = with_repository(&script("half", "cat; echo half > half; echo k > key.pem; sleep 1000"));
    make_untidy(&env);
    let before = person(&env);
    let (id, root) = interrupted(&env, "half");
    wait_until("it has written all", || root.join("key.pem").exists());
    let parts = ["home", "mesh", "work"].map(|name| env.path().join(name));
    let kept = env.path().join("kept");
    fs::create_dir(&kept).unwrap();
    let copy = |from: &Path, to: &Path| {
        assert!(std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
    };
    parts.iter().for_each(|part| copy(part, &kept));
    let stride = if is_whole() { 1 } else { 12 };
    let mut step = 1;
    loop {
        let number = step.to_string();
        let ended = env.run_with(&["runs", "gc"], &[(test_switches::CRASH_AT, &number)]);
        if ended.code == Some(0) {
            break;
        }
        assert_eq!(ended.signal, Some(9), "step {step}: {ended}");
        env.ok(&["runs", "gc"]);
        let run = shown(&env, &id);
        assert_eq!(
            (&run["changed"], &run["branch"]),
            (&json!(["half"]), &json!(format!("ravenry/run-{id}")))
        );
        assert_eq!(run["saved"], json!(["key.pem (it looks like a secret by its name)"]), "step {step}");
        assert_eq!(git(&env.work(), &["show", &format!("ravenry/run-{id}:half")]), "half", "step {step}");
        assert!(directories(&env).is_empty(), "step {step}");
        assert_eq!(person(&env), before, "step {step}");
        for part in &parts {
            fs::remove_dir_all(part).unwrap();
            copy(&kept.join(part.file_name().unwrap()), part);
        }
        step += stride;
    }
    assert!(step > 20, "only {step} steps");
}
