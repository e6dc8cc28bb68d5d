//! Whoever is killed, whenever: what was asked for is one run, and both machines say the same of it.

use std::process::Stdio;
use std::time::Duration;

use super::{beside, detached, kill, read, script, shown, two_with, wait_for_state};
use crate::environment::wait_until;
use crate::support::machine::Machine;
use crate::support::server::Server;

/// A worker that writes a line, in one piece, for each time that it was started for a task.
fn counted(machine: &Machine) -> (String, std::path::PathBuf) {
    let mark = beside(machine, "mark");
    (script("count", &format!("printf '%s\\n' \"$(cat)\" >> {}; echo ok", mark.display())), mark)
}

/// Waits until the machine is linked again. Whoever kills its link is followed by commands that start another.
#[track_caller]
fn revive(machine: &Machine) {
    wait_until(&format!("{} is linked again", machine.name), || {
        machine.ok(&["agents"]);
        machine.is_linked()
    });
}

/// Waits until both machines see each other.
#[track_caller]
fn revive_both(a: &Machine, b: &Machine) {
    revive(b);
    revive(a);
    wait_until("the other machine is there", || a.status()["state"]["machines"].to_string().contains(b.name));
}

#[test]
fn killed_links_start_one_run_for_each_request() {
    let server = Server::start();
    let (a, b) = super::two(&server);
    a.repository();
    let there = b.repository();
    let (profiles, mark) = counted(&b);
    super::put_profiles(&b, &profiles);
    b.ok(&["link", "--allow-runs", there.to_str().unwrap()]);
    let mut ids = Vec::new();
    for round in 0..8_u64 {
        revive_both(&a, &b);
        let task = format!("task {round}");
        let mut asking = a.msg();
        asking.args(["run", "count", &task, "--on", "buildbox", "--detach", "--as", "Anna", "--json"]);
        let asking = asking.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        // At another moment each time.
        std::thread::sleep(Duration::from_millis(round * 23));
        let victim = if round % 2 == 0 { &b } else { &a };
        victim.kill_link();
        revive(victim);
        let ended = asking.wait_with_output().unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
        // It may have been killed before the server had the request.
        if ended.status.success() {
            ids.push((task, answer["run"]["id"].as_str().unwrap().to_string()));
        } else {
            assert_eq!(answer["error"]["kind"], "not_linked", "{answer}");
        }
    }
    assert!(ids.len() >= 4, "{ids:?}");
    revive_both(&a, &b);
    for (task, id) in &ids {
        let run = wait_for_state(&a, id, "done");
        assert_eq!(run["task"], task.as_str());
        assert_eq!(shown(&b, run["idThere"].as_str().unwrap())["state"], "done");
    }
    let ran = read(&mark);
    for (task, _) in &ids {
        assert_eq!(ran.lines().filter(|line| line == task).count(), 1, "{task}: {ran}");
    }
    for line in ran.lines() {
        assert_eq!(ran.lines().filter(|other| other == &line).count(), 1, "{line} ran twice: {ran}");
    }
}

#[test]
fn whatever_step_the_starting_process_is_killed_at_there_is_one_run() {
    let server = Server::start();
    let (a, b) = super::two(&server);
    a.repository();
    let there = b.repository();
    let (profiles, mark) = counted(&b);
    super::put_profiles(&b, &profiles);
    b.ok(&["link", "--allow-runs", there.to_str().unwrap()]);
    let mut tasks = Vec::new();
    for step in (1..).step_by(9) {
        b.ok(&["link", "stop"]);
        let mut link = b.msg();
        // For the process that the link starts.
        link.args(["link", "run"]).env("MSG_TEST_SUPERVISOR_CRASH_AT", step.to_string());
        let mut link = link.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        b.wait_until_linked();
        revive_both(&a, &b);
        let task = format!("step {step}");
        let mut asking = a.msg();
        asking.args(["run", "count", &task, "--on", "buildbox", "--as", "Anna", "--json"]);
        let asking = asking.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        // The link says that it has accepted the request after it has started the process that decides about it.
        wait_until("it was tried", || asked_there(&b) > tasks.len());
        link.kill().unwrap();
        link.wait().unwrap();
        revive(&b);
        let ended = asking.wait_with_output().unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!(answer["run"]["state"], "done", "{answer:#}");
        tasks.push(task);
        // The process takes fewer steps than that.
        if step > 120 {
            break;
        }
    }
    let ran = read(&mark);
    for task in &tasks {
        assert_eq!(ran.lines().filter(|line| line == task).count(), 1, "{task}: {ran}");
    }
}

/// How many requests that machine has accepted.
fn asked_there(machine: &Machine) -> usize {
    let asked = machine.env.mesh().join("remote/asked/laptop");
    let Ok(entries) = std::fs::read_dir(asked) else { return 0 };
    entries.flatten().filter(|entry| entry.path().join("told.json").exists()).count()
}

#[test]
fn whoever_asked_may_be_killed_and_ctrl_c_stops_the_run() {
    let server = Server::start();
    let (a, b) = two_with(&server, &script("long", "sleep 1000"));
    let follow = || {
        let before = b.ok(&["runs", "--all"])["runs"].as_array().unwrap().len();
        let mut follower = a.msg();
        follower.args(["run", "long", "x", "--on", "buildbox", "--as", "Anna", "--json"]);
        let follower = follower.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let running = |run: &serde_json::Value| run["state"] == "running";
        let mut id = String::new();
        wait_until("it is known here that it runs", || {
            let runs = a.ok(&["runs"])["runs"].as_array().unwrap().clone();
            let new = runs.iter().find(|run| running(run) && run["machine"] == "buildbox");
            id = new.map_or(String::new(), |run| run["id"].as_str().unwrap().to_string());
            !id.is_empty() && b.ok(&["runs", "--all"])["runs"].as_array().unwrap().len() > before
        });
        (follower, id)
    };
    let (mut follower, id) = follow();
    follower.kill().unwrap();
    follower.wait().unwrap();
    assert_eq!(shown(&b, shown(&a, &id)["idThere"].as_str().unwrap())["state"], "running");
    a.ok(&["runs", "stop", &id, "--now", "--as", "Anna"]);
    wait_for_state(&a, &id, "stopped");
    let (follower, id) = follow();
    let pid = nix::unistd::Pid::from_raw(i32::try_from(follower.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let ended = follower.wait_with_output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!((&answer["run"]["id"], &answer["run"]["state"]), (&id.as_str().into(), &"stopped".into()));
    wait_for_state(&b, answer["run"]["idThere"].as_str().unwrap(), "stopped");
}

#[test]
fn a_run_whose_supervisor_there_dies_is_interrupted_here_too() {
    let server = Server::start();
    let (a, b) = two_with(&server, &script("long", "sleep 1000"));
    let id = detached(&a, "long", "x");
    let run = wait_for_state(&a, &id, "running");
    let there = shown(&b, run["idThere"].as_str().unwrap());
    kill(there["supervisorPid"].as_i64().unwrap());
    let run = wait_for_state(&a, &id, "interrupted");
    assert!(run["reason"].as_str().unwrap().contains("supervisor"), "{run:#}");
}

#[test]
fn a_request_that_comes_too_late_starts_nothing() {
    let server = Server::start();
    let (a, b) = super::two(&server);
    a.repository();
    let there = b.repository();
    let (profiles, mark) = counted(&b);
    super::put_profiles(&b, &profiles);
    b.ok(&["link", "--allow-runs", there.to_str().unwrap()]);
    // It does not reach the server, and its lease goes on for a moment.
    b.network.cut();
    let id = detached(&a, "count", "late");
    assert_eq!(shown(&a, &id)["state"], "queued");
    // The link that comes back takes what is older than a moment for too late.
    b.kill_link();
    b.network.heal();
    let mut link = b.msg();
    link.args(["link", "run"]).env("MSG_TEST_RUN_REQUEST_LIFE", "1");
    let mut link = link.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let run = wait_for_state(&a, &id, "failed");
    assert!(run["reason"].as_str().unwrap().contains("late"), "{run:#}");
    assert_eq!(read(&mark), "");
    link.kill().unwrap();
    link.wait().unwrap();
    // The agent that asked is told, because nobody followed it.
    wait_until("Anna is told", || a.ok(&["inbox", "--as", "Anna"])["messages"].to_string().contains("late"));
}

/// The run has started in time, and whoever asked gives it up because the other machine is not heard of.
#[test]
fn a_run_that_was_given_up_and_goes_on_is_told_of_again() {
    let server = Server::start();
    let (a, b) = super::two(&server);
    a.repository();
    let there = b.repository();
    let go = beside(&b, "go");
    let wait = format!("while [ ! -e {} ]; do sleep 0.05; done; echo finished", go.display());
    super::put_profiles(&b, &script("slow", &wait));
    b.ok(&["link", "--allow-runs", there.to_str().unwrap()]);
    // Nothing reaches that machine until it is given up; the request waits for it at the server.
    b.network.cut();
    let id = detached(&a, "slow", "x");
    a.ok(&["link", "stop"]);
    let mut link = a.msg();
    link.args(["link", "run"]).env("MSG_TEST_RUN_REQUEST_LIFE", "1");
    let mut link = link.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    a.wait_until_linked();
    let inbox = || a.ok(&["inbox", "--as", "Anna"])["messages"].to_string();
    wait_until("Anna is told that nobody answers", || inbox().contains("has not answered in time"));
    b.network.heal();
    wait_for_news(&a, &id, "running");
    std::fs::write(&go, "").unwrap();
    wait_for_news(&a, &id, "done");
    wait_until("Anna is told of its end", || inbox().contains("finished"));
    link.kill().unwrap();
    link.wait().unwrap();
}

/// Waits for that state of a run that was given up before.
#[track_caller]
fn wait_for_news(machine: &Machine, id: &str, state: &str) {
    wait_until(&format!("run {id} is {state} after all"), || shown(machine, id)["state"] == state);
}
