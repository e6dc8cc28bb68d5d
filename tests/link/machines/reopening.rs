//! A task that is done on one machine and reopened on another is open on both.

use super::mail::two;
use crate::environment::wait_until;
use crate::support::machine::Machine;
use crate::support::server::Server;

const SPEC: [&str; 2] = ["--spec", "plan.md"];

fn task(machine: &Machine, who: &str) -> serde_json::Value {
    let tasks = machine.ok(&["tasks", SPEC[0], SPEC[1], "--as", who]);
    tasks["tasks"].as_array().unwrap().iter().find(|task| task["id"] == "TASK-01").unwrap().clone()
}

fn state(machine: &Machine, who: &str) -> String {
    task(machine, who)["state"].as_str().unwrap().to_string()
}

#[track_caller]
fn wait_for(machine: &Machine, who: &str, wanted: &str) {
    wait_until(&format!("the task is {wanted} on {}", machine.name), || state(machine, who) == wanted);
}

fn notices(machine: &Machine, who: &str) -> usize {
    machine.ok(&["inbox", "--as", who])["messages"].to_string().matches(" reopened `TASK-01`").count()
}

fn reopen(machine: &Machine, who: &str) {
    machine.ok(&["reopen", "TASK-01", "--reason", "a test fails", SPEC[0], SPEC[1], "--as", who]);
}

#[test]
fn a_reopened_task_is_open_everywhere_and_its_completer_is_told_once() {
    let server = Server::start();
    let (a, b) = two(&server);
    a.repository();
    b.repository();
    a.ok(&["claim", "TASK-01", SPEC[0], SPEC[1], "--as", "Anna"]);
    a.ok(&["complete", "TASK-01", "--tick", SPEC[0], SPEC[1], "--as", "Anna"]);
    wait_for(&b, "Bob", "done");
    reopen(&b, "Bob");
    assert_eq!(state(&b, "Bob"), "open", "at once where it was reopened");
    wait_for(&a, "Anna", "open");
    wait_until("its completer is told", || notices(&a, "Anna") == 1);
    let history = task(&a, "Anna")["reopened"].to_string();
    assert!(history.contains("a test fails") && history.contains("Bob on buildbox"), "{history}");
    // Killed and started again, the link has nothing more to take back.
    a.kill_link();
    wait_until("another link runs", || {
        a.ok(&["agents"]);
        a.is_linked()
    });
    // It is claimed and completed on the other machine now.
    b.ok(&["claim", "TASK-01", SPEC[0], SPEC[1], "--as", "Bob"]);
    wait_for(&a, "Anna", "claimed");
    b.ok(&["complete", "TASK-01", SPEC[0], SPEC[1], "--as", "Bob"]);
    wait_for(&a, "Anna", "done");
    assert_eq!(notices(&a, "Anna"), 1);
}

#[test]
fn a_machine_that_was_away_learns_that_its_task_was_reopened() {
    let server = Server::start();
    let (a, b) = two(&server);
    a.repository();
    b.repository();
    a.ok(&["claim", "TASK-01", SPEC[0], SPEC[1], "--as", "Anna"]);
    a.ok(&["complete", "TASK-01", SPEC[0], SPEC[1], "--as", "Anna"]);
    wait_for(&b, "Bob", "done");
    a.network.cut();
    a.wait_until_unlinked();
    reopen(&b, "Bob");
    // Meanwhile it is claimed and given up again: that it was reopened is still known.
    b.ok(&["claim", "TASK-01", SPEC[0], SPEC[1], "--as", "Bob"]);
    b.ok(&["unclaim", "TASK-01", SPEC[0], SPEC[1], "--as", "Bob"]);
    assert_eq!(state(&a, "Anna"), "done");
    a.network.heal();
    wait_for(&a, "Anna", "open");
    wait_until("its completer is told", || notices(&a, "Anna") == 1);
    wait_until("it can be claimed", || {
        a.run(&["claim", "TASK-01", SPEC[0], SPEC[1], "--as", "Anna"]).code == Some(0)
    });
    // Completed again, it stays done.
    a.ok(&["complete", "TASK-01", SPEC[0], SPEC[1], "--as", "Anna"]);
    wait_for(&b, "Bob", "done");
    a.ok(&["link", "stop"]);
    a.ok(&["agents"]);
    a.wait_until_linked();
    assert_eq!(state(&a, "Anna"), "done");
    assert_eq!(notices(&a, "Anna"), 1);
}
