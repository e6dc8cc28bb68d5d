//! A machine that does not reach the server: what it loses, what it is told, and how it comes back.

use super::mail::{two, two_for};
use crate::environment::wait_until;
use crate::support::machine::SHORT_LEASE;
use crate::support::server::Server;

fn inbox(machine: &crate::support::machine::Machine, name: &str) -> String {
    machine.ok(&["inbox", "--as", name])["messages"].to_string()
}

#[test]
fn a_machine_that_is_cut_off_loses_its_task_and_is_told() {
    let server = Server::start();
    let (a, b) = two_for(&server, SHORT_LEASE);
    a.join("Amy");
    a.repository();
    b.repository();
    a.ok(&["claim", "TASK-01", "--spec", "plan.md", "--as", "Anna"]);
    a.network.cut();
    a.wait_until_unlinked();
    // Nothing new is decided meanwhile, and what is local goes on.
    a.fails(5, &["claim", "TASK-02", "--spec", "plan.md", "--as", "Amy"]);
    a.ok(&["reserve", "src/", "--as", "Anna"]);
    // After the lease the other machine may have it.
    wait_until("the lease is over", || {
        b.run(&["claim", "TASK-01", "--spec", "plan.md", "--as", "Bob"]).code == Some(0)
    });
    wait_until("the agent is told that the lease is over", || {
        inbox(&a, "Anna").contains("has not reached the server")
    });
    a.network.heal();
    a.wait_until_linked();
    wait_until("the agent is told what is lost", || inbox(&a, "Anna").contains("You lost `TASK-01`"));
    // Fencing: whoever lost it can't complete it.
    let error = a.fails(1, &["complete", "TASK-01", "--spec", "plan.md", "--as", "Anna"]);
    assert_eq!(error["kind"], "not_yours", "{error}");
    b.ok(&["complete", "TASK-01", "--spec", "plan.md", "--as", "Bob"]);
}

#[test]
fn what_nobody_took_is_still_there_afterwards() {
    let server = Server::start();
    let (a, b) = two_for(&server, SHORT_LEASE);
    a.repository();
    b.repository();
    a.ok(&["claim", "TASK-01", "--spec", "plan.md", "--as", "Anna"]);
    a.ok(&["reserve", "--repo", "src/", "--as", "Anna"]);
    a.network.cut();
    wait_until("the other machine sees that it is away", || {
        b.agent("Anna").is_some_and(|agent| {
            agent["machine"]["awaySince"].is_string() || agent["presence"] == "unreachable"
        })
    });
    a.network.heal();
    a.wait_until_linked();
    // Whoever asks for it a moment too early has it. The mirror takes nothing.
    wait_until("the mirror has the path again", || {
        b.run(&["check", "src/main.rs", "--as", "Bob"]).code == Some(1)
    });
    wait_until("the path is held again", || {
        let asked = b.run(&["reserve", "--repo", "src/main.rs", "--as", "Bob"]);
        if asked.code == Some(0) {
            b.ok(&["release", "--as", "Bob"]);
        }
        asked.code == Some(1)
    });
    a.ok(&["complete", "TASK-01", "--spec", "plan.md", "--as", "Anna"]);
}

#[test]
fn a_server_that_is_killed_comes_back_with_everything() {
    let mut server = Server::start();
    let (a, b) = two(&server);
    a.repository();
    b.repository();
    a.ok(&["claim", "TASK-01", "--spec", "plan.md", "--as", "Anna"]);
    a.ok(&["send", "Bob", "before", "--as", "Anna"]);
    server.kill();
    a.ok(&["send", "Bob", "meanwhile", "--as", "Anna"]);
    server.restart();
    a.wait_until_linked();
    b.wait_until_linked();
    wait_until("both messages arrive", || {
        b.ok(&["inbox", "--as", "Bob"])["messages"].as_array().unwrap().len() == 2
    });
    wait_until("the claim is kept", || {
        b.run(&["claim", "TASK-01", "--spec", "plan.md", "--as", "Bob", "--json"]).kind() == "already_claimed"
    });
}
