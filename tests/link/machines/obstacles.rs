//! What is in the way of the link process on its own machine.

use std::fs;
use std::time::Duration;

use super::mail::{two, two_for};
use crate::environment::wait_until;
use crate::support::machine::Machine;
use crate::support::server::Server;

fn count(machine: &Machine, name: &str) -> usize {
    machine.ok(&["inbox", "--as", name])["messages"].as_array().unwrap().len()
}

#[test]
fn a_queued_message_that_can_not_be_read_keeps_back_nobody() {
    let server = Server::start();
    let (a, b) = two(&server);
    a.network.cut();
    a.ok(&["send", "Bob", "first", "--as", "Anna"]);
    // One is damaged, and one can't even be opened; both come before all others.
    let queued = a.env.mesh().join("remote/queued");
    fs::write(queued.join("Bob/0000000000001-aaaaaa.json"), "{").unwrap();
    fs::create_dir_all(queued.join("Zoe/0000000000002-aaaaaa.json")).unwrap();
    a.ok(&["send", "Bob", "second", "--as", "Anna"]);
    a.network.heal();
    wait_until("what can be read arrives", || count(&b, "Bob") == 2);
    wait_until("only what can't be opened is left", || a.status()["queued"] == 1);
    fs::remove_dir(queued.join("Zoe/0000000000002-aaaaaa.json")).unwrap();
    let quarantine = fs::read_dir(a.env.mesh().join("quarantine")).unwrap();
    assert!(quarantine.count() >= 2, "the damaged one, and why");
}

#[test]
fn a_link_that_can_not_say_how_it_is_goes_on() {
    let server = Server::start();
    let (a, b) = two(&server);
    a.ok(&["link", "stop"]);
    // As on a full disk, its state can't be written.
    let state = a.env.mesh().join("link/state.json");
    fs::remove_file(&state).unwrap();
    fs::create_dir(&state).unwrap();
    let sent = a.run(&["send", "Bob", "nevertheless", "--as", "Anna"]);
    wait_until("the message arrives", || count(&b, "Bob") == 1);
    assert_eq!(sent.code, Some(0));
    fs::remove_dir(&state).unwrap();
    a.wait_until_linked();
}

#[test]
fn a_decision_does_not_wait_for_a_long_queue() {
    let server = Server::start();
    let (a, b) = two(&server);
    a.repository();
    b.ok(&["link", "stop"]);
    a.network.cut();
    a.wait_until_unlinked();
    a.ok(&["send", "Bob", "first", "--as", "Anna"]);
    let queue = a.env.mesh().join("remote/queued/Bob");
    for number in 0..20_000 {
        let text = serde_json::json!({
            "id": format!("filler-{number}"), "from": "Anna", "to": "Bob", "text": "filler",
            "timestamp": "2026-11-14T12:00:00.000Z", "replyTo": null,
        });
        fs::write(queue.join(format!("{number:013}-aaaaaa.json")), text.to_string()).unwrap();
    }
    a.network.heal();
    wait_until("some are sent", || a.status()["queued"].as_u64().unwrap() < 20_000);
    a.ok(&["claim", "TASK-01", "--spec", "plan.md", "--as", "Anna"]);
    let left = a.status()["queued"].as_u64().unwrap();
    assert!(left > 0, "the decision waited until all were sent");
}

#[test]
fn a_link_that_is_replaced_keeps_what_its_agents_have() {
    let server = Server::start();
    // The lease goes on without a process until the other machine was refused.
    let (a, b) = two_for(&server, Duration::from_secs(60));
    a.repository();
    b.repository();
    a.ok(&["claim", "TASK-01", "--spec", "plan.md", "--as", "Anna"]);
    a.ok(&["link", "stop"]);
    let error = b.fails(1, &["claim", "TASK-01", "--spec", "plan.md", "--as", "Bob"]);
    assert_eq!(error["kind"], "already_claimed", "{error}");
    a.ok(&["complete", "TASK-01", "--spec", "plan.md", "--as", "Anna"]);
}
