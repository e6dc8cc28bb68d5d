//! Messages between machines, and their receipts.

use std::time::Duration;

use crate::environment::wait_until;
use crate::support::machine::Machine;
use crate::support::server::Server;

fn receipt(machine: &Machine, from: &str, id: &str) -> String {
    machine.ok(&["receipt", id, "--as", from])["state"].as_str().unwrap().to_string()
}

#[track_caller]
fn wait_for_receipt(machine: &Machine, from: &str, id: &str, state: &str) {
    wait_until(&format!("the receipt of {id} says {state}"), || receipt(machine, from, id) == state);
}

/// Two machines with an agent each, that see each other.
pub fn two(server: &Server) -> (Machine, Machine) {
    with_agents(["laptop", "buildbox"].map(|name| Machine::linked(name, server.port)))
}

/// The same, with leases of that length.
pub fn two_for(server: &Server, lease: Duration) -> (Machine, Machine) {
    with_agents(["laptop", "buildbox"].map(|name| Machine::linked_for(name, server.port, lease)))
}

fn with_agents([a, b]: [Machine; 2]) -> (Machine, Machine) {
    a.join("Anna");
    b.join("Bob");
    a.wait_for("Bob");
    b.wait_for("Anna");
    (a, b)
}

#[test]
fn a_message_arrives_and_its_receipt_comes_back() {
    let server = Server::start();
    let (a, b) = two(&server);
    let sent = a.ok(&["send", "Bob", "hello over there", "--want-ack", "--as", "Anna"]);
    let id = sent["sent"][0]["id"].as_str().unwrap().to_string();
    wait_for_receipt(&a, "Anna", &id, "delivered");
    let read = b.ok(&["read", "--as", "Bob"]);
    let message = &read["messages"][0];
    assert_eq!(
        (message["text"].as_str(), message["from"].as_str()),
        (Some("hello over there"), Some("Anna"))
    );
    assert_eq!(message["id"], id.as_str());
    wait_for_receipt(&a, "Anna", &id, "surfaced");
    b.ok(&["ack", &id, "--as", "Bob"]);
    wait_for_receipt(&a, "Anna", &id, "acked");
    b.ok(&["reply", &id, "hello back", "--as", "Bob"]);
    wait_until("the reply arrives", || {
        let inbox = a.ok(&["inbox", "--as", "Anna"]);
        inbox["messages"]
            .as_array()
            .unwrap()
            .iter()
            .any(|message| message["text"] == "hello back" && message["replyTo"] == id.as_str())
    });
}

#[test]
fn what_is_sent_without_the_server_arrives_later_in_order_and_once() {
    let server = Server::start();
    let (a, b) = two(&server);
    a.network.cut();
    for number in 0..20 {
        a.ok(&["send", "Bob", &format!("number {number}"), "--as", "Anna"]);
    }
    assert_eq!(a.status()["queued"], 20);
    a.network.heal();
    wait_until("all have arrived", || {
        b.ok(&["inbox", "--as", "Bob"])["messages"].as_array().unwrap().len() == 20
    });
    let read = b.ok(&["read", "--as", "Bob"]);
    let texts: Vec<String> = read["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["text"].as_str().unwrap().to_string())
        .collect();
    let expected: Vec<String> = (0..20).map(|number| format!("number {number}")).collect();
    assert_eq!(texts, expected);
    wait_until("nothing is queued", || a.status()["queued"] == 0);
}

#[test]
fn a_killed_link_loses_nothing_and_delivers_nothing_twice() {
    let server = Server::start();
    let (a, b) = two(&server);
    let mut expected = Vec::new();
    for round in 0..6 {
        for number in 0..5 {
            let text = format!("round {round} number {number}");
            a.ok(&["send", "Bob", &text, "--as", "Anna"]);
            expected.push(text);
        }
        // Sometimes the sender's, sometimes the recipient's, wherever it is at that moment.
        let victim = if round % 2 == 0 { &a } else { &b };
        victim.kill_link();
        // Any command that has something for the link starts it again.
        victim.ok(&[
            "send",
            if round % 2 == 0 { "Bob" } else { "Anna" },
            "ping",
            "--as",
            if round % 2 == 0 { "Anna" } else { "Bob" },
        ]);
        if round % 2 == 0 {
            expected.push("ping".to_string());
        }
    }
    wait_until("all have arrived", || {
        b.ok(&["inbox", "--as", "Bob"])["messages"].as_array().unwrap().len() >= expected.len()
    });
    wait_until("nothing is queued", || a.status()["queued"] == 0);
    let read = b.ok(&["read", "--as", "Bob", "--limit", "100"]);
    let texts: Vec<&str> = read["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, expected);
}

#[test]
fn a_message_is_not_for_who_takes_the_name_meanwhile() {
    let server = Server::start();
    let (a, b) = two(&server);
    a.network.cut();
    a.wait_until_unlinked();
    let sent = a.ok(&["send", "Bob", "for one Bob", "--as", "Anna"]);
    let id = sent["sent"][0]["id"].as_str().unwrap().to_string();
    b.ok(&["leave", "--as", "Bob"]);
    let host = b.env.host().to_string();
    b.ok(&["join", "Bob", "--pid", &host, "--session", "another Bob"]);
    a.network.heal();
    wait_until("it has arrived, or was refused", || {
        !["queued", "stored"].contains(&receipt(&a, "Anna", &id).as_str())
    });
    // A later one is for the other Bob, and comes after it.
    wait_until("the other Bob is known", || {
        a.agent("Bob").is_some_and(|bob| bob["sessionId"] == "another Bob")
    });
    a.ok(&["send", "Bob", "for the other Bob", "--as", "Anna"]);
    let texts = || b.ok(&["inbox", "--as", "Bob"])["messages"].to_string();
    wait_until("the later one arrives", || texts().contains("for the other Bob"));
    assert!(!texts().contains("for one Bob"), "{}", texts());
}
