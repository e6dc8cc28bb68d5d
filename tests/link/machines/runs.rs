//! Runs that one machine asks another for: with the real server and with workers that are commands.

mod kills;
mod permission;
mod travel;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::mail::two;
use crate::environment::wait_until;
use crate::support::machine::Machine;
use crate::support::server::Server;

/// A profile that runs a shell script.
pub fn script(name: &str, text: &str) -> String {
    format!("[{name}]\ncommand = [\"sh\", \"-c\", {}]\n", serde_json::to_string(text).unwrap())
}

/// Gives the person on that machine these profiles.
pub fn put_profiles(machine: &Machine, profiles: &str) {
    let dir = machine.env.home().join(".config/ravenry");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("workers.toml"), profiles).unwrap();
    if !machine.env.config_file().exists() {
        machine.env.configure(r#"{"backOff": 0}"#);
    }
}

/// Two linked machines with a clone of the same repository. On the second one, runs for others are allowed in it, and there
/// are these profiles.
pub fn two_with(server: &Server, profiles: &str) -> (Machine, Machine) {
    let (a, b) = two(server);
    allow_runs(&a, &b, profiles);
    (a, b)
}

/// Makes the clones, and allows runs on `b` with these profiles.
pub fn allow_runs(a: &Machine, b: &Machine, profiles: &str) {
    a.repository();
    let there = b.repository();
    put_profiles(b, profiles);
    b.ok(&["link", "--allow-runs", there.to_str().unwrap()]);
}

pub fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(dir).args(args).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "A").env(format!("GIT_{who}_EMAIL"), "a@example.org");
    }
    let done = command.output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_string()
}

/// The text of a file; empty while there is none.
pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

pub fn kill(pid: i64) {
    let pid = nix::unistd::Pid::from_raw(pid.try_into().unwrap());
    // It may have ended by itself.
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).ok();
}

#[track_caller]
pub fn shown(machine: &Machine, id: &str) -> Value {
    machine.ok(&["runs", "show", id])["run"].clone()
}

#[track_caller]
pub fn wait_for_state(machine: &Machine, id: &str, state: &str) -> Value {
    let mut run = Value::Null;
    wait_until(&format!("run {id} is {state}"), || {
        run = shown(machine, id);
        assert!(run["state"] == state || run["endedAt"].is_null(), "it will never be {state}: {run:#}");
        run["state"] == state
    });
    run
}

/// Asks for a run that nobody follows; returns its id.
#[track_caller]
pub fn detached(machine: &Machine, profile: &str, task: &str) -> String {
    let args = ["run", profile, task, "--on", "buildbox", "--detach", "--as", "Anna"];
    machine.ok(&args)["run"]["id"].as_str().unwrap().to_string()
}

/// A file beside the repository of that machine.
pub fn beside(machine: &Machine, name: &str) -> PathBuf {
    machine.env.path().join(name)
}

#[test]
fn a_run_on_another_machine_comes_back_with_result_and_log() {
    let server = Server::start();
    let (a, b) = two_with(&server, &script("echo", "printf 'I got: '; cat; echo; pwd >&2"));
    let task = "say \"hi\"\n$INPUT `id` 🐦";
    let run = a.ok(&["run", "echo", task, "--on", "buildbox", "--as", "Anna"])["run"].clone();
    assert_eq!((&run["state"], &run["machine"]), (&"done".into(), &"buildbox".into()), "{run:#}");
    assert_eq!(run["result"], format!("I got: {task}"));
    assert_eq!(run["parent"], "Anna");
    let id = run["id"].as_str().unwrap();
    // There it is a run as any other, and says who asked.
    let there = shown(&b, run["idThere"].as_str().unwrap());
    assert_eq!(
        (&there["askedBy"]["machine"], &there["askedBy"]["agent"]),
        (&"laptop".into(), &"Anna".into())
    );
    assert_eq!((&there["state"], &there["id"]), (&"done".into(), &run["id"]));
    // The log came along, and the worker was not in the tree of the person there.
    assert_eq!(a.ok(&["runs", "log", id])["log"], format!("I got: {task}\n"));
    let place = a.ok(&["runs", "log", id, "--errors"])["log"].as_str().unwrap().to_string();
    assert!(place.contains("worktrees") && !place.contains(b.env.work().to_str().unwrap()), "{place}");
    let listed = a.ok(&["runs"])["runs"].clone();
    assert!(listed.as_array().unwrap().iter().any(|run| run["id"] == id && run["machine"] == "buildbox"));
    // It is not here, and that is said.
    let error = a.fails(1, &["runs", "merge", id]);
    assert_eq!((&error["kind"], &error["machine"]), (&"remote_run".into(), &"buildbox".into()), "{error}");
}

#[test]
fn whoever_does_not_follow_it_is_told_of_its_end_by_mail() {
    let server = Server::start();
    let (a, b) =
        two_with(&server, &script("slow", "while [ ! -e ../../go ]; do sleep 0.05; done; echo ready"));
    let gate = b.env.home().join(".local/state/ravenry");
    let id = detached(&a, "slow", "wait");
    wait_for_state(&a, &id, "running");
    let go = std::fs::read_dir(gate.join("worktrees")).unwrap().flatten().next().unwrap().path();
    std::fs::write(go.parent().unwrap().join("go"), "").unwrap();
    wait_for_state(&a, &id, "done");
    let notice = |text: &str| text.contains(&id) && text.contains("buildbox") && text.contains("ready");
    wait_until("Anna is told", || {
        let inbox = a.ok(&["inbox", "--as", "Anna"]);
        let messages = inbox["messages"].as_array().unwrap().clone();
        messages.iter().any(|message| notice(message["text"].as_str().unwrap()))
    });
    let inbox = a.ok(&["inbox", "--as", "Anna"]);
    let notices = inbox["messages"].as_array().unwrap().clone();
    assert_eq!(notices.iter().filter(|message| notice(message["text"].as_str().unwrap())).count(), 1);
    assert_eq!(notices[0]["from"], "ravenry", "it is our own notice: {notices:?}");
}

#[test]
fn its_log_can_be_read_while_it_goes_on_and_it_can_be_stopped() {
    let server = Server::start();
    let (a, b) = two_with(&server, &script("busy", "echo begun; echo trouble >&2; sleep 1000"));
    a.join("Amy");
    let id = detached(&a, "busy", "work");
    wait_for_state(&a, &id, "running");
    wait_until("the log is there", || a.ok(&["runs", "log", &id])["log"] == "begun\n");
    assert_eq!(a.ok(&["runs", "log", &id, "--errors"])["log"], "trouble\n");
    let error = a.fails(1, &["runs", "stop", &id, "--now", "--as", "Amy"]);
    assert_eq!(error["kind"], "not_yours", "{error}");
    a.ok(&["runs", "stop", &id, "--now", "--as", "Anna"]);
    let run = wait_for_state(&a, &id, "stopped");
    assert_eq!(run["reason"], "stopped by Anna on laptop");
    let there = wait_for_state(&b, run["idThere"].as_str().unwrap(), "stopped");
    assert_eq!(there["reason"], run["reason"]);
}

#[test]
fn a_run_that_fails_there_is_one_that_fails_here() {
    let server = Server::start();
    let (a, _b) = two_with(&server, &script("broken", "echo half; echo why >&2; exit 3"));
    let ended = a.run(&["run", "broken", "x", "--on", "buildbox", "--as", "Anna", "--json"]);
    let answer = ended.expect_code(1).json();
    assert_eq!(answer["error"]["kind"], "run_failed", "{answer}");
    assert_eq!(answer["run"]["state"], "failed");
}
