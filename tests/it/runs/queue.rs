//! Slots: how many workers run at once, and who is next.

use std::fs;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::{detached, path_with_msg, script, shown, wait_for_state, with_profiles};
use crate::support::environment::{rounds, wait_until};

#[test]
fn each_run_has_its_own_result_and_slots_are_never_exceeded() {
    // Each worker notes which slot it has, and that it is alone in it.
    let env = with_profiles(&script(
        "counts",
        "mkdir slot-$RAVENRY_SLOT && cat && rmdir slot-$RAVENRY_SLOT || echo \"slot $RAVENRY_SLOT is shared\"",
    ));
    let tasks: Vec<String> = (0..rounds(200)).map(|number| format!("task {number}")).collect();
    let ids: Vec<String> = tasks.iter().map(|task| detached(&env, "counts", task)).collect();
    for (id, task) in ids.iter().zip(&tasks) {
        assert_eq!(wait_for_state(&env, id, "done")["result"], task.as_str());
    }
    let cores = std::thread::available_parallelism().unwrap().get();
    let names = fs::read_dir(env.home().join(".local/state/ravenry/slots")).unwrap().flatten();
    let slots = names.filter(|entry| entry.path().extension().is_some_and(|kind| kind == "lock")).count();
    assert!(slots <= (2 * cores).max(4), "{slots}");
}

#[test]
fn the_oldest_in_the_queue_is_next_and_a_killed_one_is_passed_over() {
    let env = with_profiles(&[script("holds", "read x < go; echo over"), script("quick", "cat")].concat());
    mkfifo(&env.work().join("go"), Mode::S_IRWXU).unwrap();
    // One slot, so that the one that gets it first has ended before the next one starts.
    env.ok(&["config", "set", "slots", "1"]);
    let holding = detached(&env, "holds", "x");
    wait_for_state(&env, &holding, "running");
    let [killed, stopped, second, third] = ["a", "b", "c", "d"].map(|task| detached(&env, "quick", task));
    let supervisor = || shown(&env, &killed)["supervisorPid"].as_i64().unwrap();
    let is_supervisor = |pid: i64| {
        fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.windows(9).any(|part| part == b"supervise"))
    };
    wait_until("it has a supervisor", || is_supervisor(supervisor()));
    let pid = nix::unistd::Pid::from_raw(i32::try_from(supervisor()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::SIGKILL).unwrap();
    env.ok(&["runs", "stop", &stopped]);
    wait_for_state(&env, &stopped, "stopped");
    for id in [&second, &third] {
        assert_eq!(shown(&env, id)["state"], "queued");
    }
    fs::write(env.work().join("go"), "go\n").unwrap();
    let [second, third] = [second, third].map(|id| wait_for_state(&env, &id, "done"));
    assert!(second["endedAt"].as_str() <= third["startedAt"].as_str(), "{second} {third}");
    assert_eq!(shown(&env, &killed)["state"], "interrupted");
}

#[test]
fn a_run_lends_its_slot_to_a_run_of_its_worker() {
    let outer = "cat >/dev/null; msg run inner x -q";
    let env =
        with_profiles(&[script("outer", outer), script("inner", "cat >/dev/null; echo inside")].concat());
    let cores = std::thread::available_parallelism().unwrap().get();
    let path = path_with_msg();
    // More than there are slots, and each waits for another one.
    let ids: Vec<String> = (0..(2 * cores).max(4) + 2)
        .map(|number| {
            let args = ["run", "outer", &number.to_string(), "--detach", "--json"];
            let answer = env.run_with(&args, &[("PATH", &path)]).expect_code(0).json();
            answer["run"]["id"].as_str().unwrap().to_string()
        })
        .collect();
    for id in ids {
        assert_eq!(wait_for_state(&env, &id, "done")["result"], "inside");
    }
}

#[test]
fn a_run_of_a_worker_lives_on_when_that_has_ended_and_the_parent_above_is_told() {
    let outer = "cat >/dev/null; msg run inner x --detach -q";
    let env = with_profiles(&[script("outer", outer), script("inner", "read x < go; echo inside")].concat());
    mkfifo(&env.work().join("go"), Mode::S_IRWXU).unwrap();
    env.join("Robin");
    let args = ["run", "outer", "look", "--as", "Robin", "--json"];
    let answer = env.run_with(&args, &[("PATH", &path_with_msg())]).expect_code(0).json();
    let inner = answer["run"]["result"].as_str().unwrap().to_string();
    assert_eq!(wait_for_state(&env, &inner, "running")["parentRun"], answer["run"]["id"]);
    fs::write(env.work().join("go"), "go\n").unwrap();
    assert_eq!(wait_for_state(&env, &inner, "done")["result"], "inside");
    let mut told = 0;
    wait_until("the parent above was told", || {
        let mail = env.ok(&["read", "--as", "Robin"])["messages"].clone();
        told += mail.as_array().unwrap().len();
        told == 2
    });
}

#[test]
fn a_run_that_is_only_named_lends_no_slot() {
    let env = with_profiles(&[script("holds", "read x < go; echo over"), script("quick", "cat")].concat());
    mkfifo(&env.work().join("go"), Mode::S_IRWXU).unwrap();
    env.ok(&["config", "set", "slots", "1"]);
    let named = detached(&env, "holds", "x");
    wait_for_state(&env, &named, "running");
    let answer = env.run_with(&["run", "quick", "y", "--detach", "--json"], &[("MSG_RUN", &named)]);
    let id = answer.expect_code(0).json()["run"]["id"].as_str().unwrap().to_string();
    wait_until("it waits for a slot", || {
        let run = shown(&env, &id);
        assert_eq!(run["state"], "queued", "{run}");
        run["reason"].as_str().is_some_and(|reason| reason.starts_with("waits for a slot"))
    });
    fs::write(env.work().join("go"), "go\n").unwrap();
    wait_for_state(&env, &id, "done");
}
