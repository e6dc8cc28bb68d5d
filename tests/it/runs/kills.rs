//! Worker, keeper and supervisor are killed at many moments: nothing of a run is left, and the ledger says what became
//! of it.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{SIGKILL, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use serde_json::Value;

use super::{left_of, put_profiles, script, shown, with_profiles};
use crate::support::environment::{TestEnvironment, rounds, wait_until};

/// A worker that starts others: one has a session of its own, and one does not carry the id of the run.
const FAMILY: &str =
    "setsid sh -c 'sleep 1000; :' & env -i sh -c 'sleep 1000; : TAG' & echo begun; cat; sleep 1000";

/// An environment with such a worker. Its processes have the path of the environment in their command lines.
fn with_family() -> TestEnvironment {
    let env = TestEnvironment::new();
    put_profiles(&env, &script("family", &FAMILY.replace("TAG", env.path().to_str().unwrap())));
    env
}

/// The processes of the worker, whether or not they carry the id of the run.
fn family(env: &TestEnvironment) -> Vec<i32> {
    let tag = env.path().to_str().unwrap();
    processes(&[&format!("sleep 1000; : {tag}")]).into_iter().filter(is_sh).collect()
}

fn pid_of(run: &Value) -> i32 {
    i32::try_from(run["supervisorPid"].as_i64().unwrap()).unwrap()
}

/// The processes whose command line has these words in a row.
pub fn processes(words: &[&str]) -> Vec<i32> {
    let wanted: Vec<u8> = words.join("\0").into_bytes();
    let pids =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.windows(wanted.len()).any(|part| part == wanted)
    })
    .collect()
}

/// Which process of a run is killed.
#[derive(Clone, Copy, Debug)]
pub enum Victim {
    Supervisor,
    Keeper,
    Worker,
}

/// The process of a run whose worker is that script, if it is there yet.
fn find(env: &TestEnvironment, id: &str, victim: Victim, script: &str) -> Option<i32> {
    let task = env.mesh().join(format!("runs/{id}/task"));
    match victim {
        Victim::Supervisor => processes(&["supervise", id]).first().copied(),
        Victim::Keeper => processes(&["keeper", "--input", task.to_str().unwrap()]).first().copied(),
        Victim::Worker => {
            let is_its = |pid: &i32| left_of(id).contains(&pid.to_string());
            processes(&["-c", script]).into_iter().filter(is_sh).find(is_its)
        }
    }
}

/// Whether it is a process of the worker, not of ours.
fn is_sh(pid: &i32) -> bool {
    fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| !exe.ends_with("msg"))
}

/// Kills that process of a run after it has lived for a while, and waits until the run is over and `is_gone`. Returns the
/// run.
#[track_caller]
pub fn kill_and_wait(
    env: &TestEnvironment,
    id: &str,
    (victim, script): (Victim, &str),
    lives: Duration,
    is_gone: impl Fn() -> bool,
) -> Value {
    let mut pid = None;
    wait_until("it is there", || {
        pid = find(env, id, victim, script);
        pid.is_some()
    });
    // Not a wait for a state: each round is to hit another moment.
    std::thread::sleep(lives);
    kill(Pid::from_raw(pid.unwrap()), SIGKILL).ok();
    let mut run = Value::Null;
    wait_until(&format!("nothing is left after {victim:?} was killed after {lives:?}"), || {
        run = shown(env, id);
        // A process takes a moment to die of a signal.
        let is_over = !["queued", "starting", "running"].contains(&run["state"].as_str().unwrap());
        is_over && left_of(id).is_empty() && is_gone()
    });
    run
}

/// Kills that process of a run after it has lived for a while, and checks what is left.
#[track_caller]
fn kill_one(env: &TestEnvironment, victim: Victim, lives: Duration) {
    // The same task must not fail again and again.
    let id = super::detached(env, "family", &format!("{lives:?}"));
    let expected = match victim {
        Victim::Supervisor => "interrupted",
        Victim::Keeper | Victim::Worker => "failed",
    };
    let script = FAMILY.replace("TAG", env.path().to_str().unwrap());
    let run = kill_and_wait(env, &id, (victim, &script), lives, || family(env).is_empty());
    let troubles = fs::read_to_string(env.mesh().join("trouble.jsonl")).unwrap_or_default();
    assert_eq!(run["state"], expected, "{victim:?} killed after {lives:?}: {run}\n{troubles}");
}

#[test]
fn a_killed_supervisor_leaves_nothing_behind() {
    let env = with_family();
    for round in 0..rounds(30) {
        kill_one(&env, Victim::Supervisor, Duration::from_millis(round as u64 * 2));
    }
}

#[test]
fn a_killed_keeper_leaves_nothing_behind() {
    let env = with_family();
    for round in 0..rounds(30) {
        kill_one(&env, Victim::Keeper, Duration::from_millis(round as u64 * 2));
    }
}

#[test]
fn a_killed_worker_has_failed() {
    let env = with_family();
    for round in 0..rounds(30) {
        kill_one(&env, Victim::Worker, Duration::from_millis(round as u64 * 2));
    }
}

#[test]
fn a_run_goes_on_without_its_follower() {
    let env = with_profiles(&script("waits", "read x < go; cat"));
    mkfifo(&env.work().join("go"), Mode::S_IRWXU).unwrap();
    let mut killed = 0;
    for round in 0..rounds(30) {
        let mut follower = env.msg();
        follower.args(["run", "waits", &round.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut follower = follower.spawn().unwrap();
        let mut id = String::new();
        wait_until("there is a run", || {
            let runs = env.ok(&["runs", "--all"])["runs"].clone();
            id = runs[0]["id"].as_str().unwrap_or_default().to_string();
            runs.as_array().unwrap().len() == round + 1
        });
        // Not a wait for a state: each round is to hit another moment.
        std::thread::sleep(Duration::from_millis(round as u64 * 2));
        follower.kill().unwrap();
        killed += usize::from(!follower.wait().unwrap().success());
        fs::write(env.work().join("go"), "go\n").unwrap();
        assert_eq!(super::wait_for_state(&env, &id, "done")["result"], round.to_string());
    }
    assert_eq!(killed, rounds(30));
}

#[test]
fn a_run_of_an_earlier_boot_was_interrupted() {
    let env = with_family();
    let id = super::detached(&env, "family", "x");
    super::wait_for_state(&env, &id, "running");
    let pid = pid_of(&shown(&env, &id));
    kill(Pid::from_raw(pid), SIGKILL).unwrap();
    wait_until("nothing is left", || left_of(&id).is_empty());
    // The machine was started again, and another process has the pid of the supervisor.
    let path = env.mesh().join(format!("runs/{id}/run.json"));
    let mut run: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let stand_in = env.host();
    run["pid"] = stand_in.into();
    run["process"]["bootId"] = "00000000-0000-0000-0000-000000000000".into();
    fs::write(&path, run.to_string()).unwrap();
    assert_eq!(shown(&env, &id)["state"], "interrupted");
}

#[test]
fn whoever_starts_a_run_and_is_killed_leaves_a_run_or_none() {
    let env = with_profiles(&script("quick", "cat"));
    for round in 0..rounds(30) {
        let mut starter = Command::new(env!("CARGO_BIN_EXE_msg"));
        starter
            .args(["run", "quick", "x"])
            .env_clear()
            .envs(env.msg().get_envs().filter_map(|(name, value)| Some((name, value?))));
        let mut starter =
            starter.current_dir(env.work()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(round as u64));
        starter.kill().unwrap();
        starter.wait().unwrap();
    }
    // Whatever is a run goes on without whoever started it.
    wait_until("every run is done", || {
        let runs = env.ok(&["runs", "--all"])["runs"].clone();
        runs.as_array().unwrap().iter().all(|run| run["state"] == "done")
    });
}
