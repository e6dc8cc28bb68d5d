//! Whom mail is from and where it goes, whatever other machines write into the records.

use ravenry::domain::link::name_token;
use ravenry::domain::{AgentName, SessionId};
use ravenry::store::link_format::name_bytes;
use serde_json::{Value, json};

use super::mail::two;
use crate::environment::wait_until;
use crate::support::config_server::run;
use crate::support::machine::Machine;
use crate::support::peer::Peer;
use crate::support::server::Server;

fn receipt(machine: &Machine, from: &str, id: &str) -> Value {
    machine.ok(&["receipt", id, "--as", from])
}

fn messages(machine: &Machine, name: &str) -> Vec<Value> {
    machine.ok(&["inbox", "--as", name])["messages"].as_array().unwrap().clone()
}

/// Sends a message, and returns its id.
fn send(machine: &Machine, from: &str, to: &str, text: &str) -> String {
    machine.ok(&["send", to, text, "--as", from])["sent"][0]["id"].as_str().unwrap().to_string()
}

/// The stem of the only message to that agent which the server has.
fn stored_stem(machine: &Machine, to: &str) -> String {
    let stored = std::fs::read_dir(machine.env.mesh().join("remote/stored").join(to)).unwrap();
    let files: Vec<String> = stored.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].strip_suffix(".json").unwrap().to_string()
}

/// The peer says that it has that name.
async fn claim_name(peer: &Peer, name: &str, session: &str) {
    let name = AgentName::new(name).unwrap();
    let owner = ravenry::domain::link::RecordOwner {
        session: SessionId::new(session).unwrap(),
        ..peer.owner(name.as_str(), "e")
    };
    peer.create(&name_token(&name), name_bytes(&name, &owner, None, None)).await;
}

#[test]
fn a_message_of_who_had_the_name_before_is_delivered_as_one_of_its_machine() {
    let server = Server::start();
    let (a, b) = two(&server);
    let c = Machine::linked("desk", server.port);
    c.join("Carol");
    c.wait_for("Anna");
    b.ok(&["link", "stop"]);
    let id = send(&a, "Anna", "Bob", "written before");
    wait_until("the server has it", || receipt(&a, "Anna", &id)["state"] == "stored");
    a.ok(&["leave", "--as", "Anna"]);
    c.wait_without("Anna");
    let host = c.env.host().to_string();
    c.ok(&["join", "Anna", "--pid", &host, "--session", "another Anna", "--harness", "claude"]);
    wait_until("the name is the other Anna's", || {
        // Any command of that machine starts its link.
        b.agent("Anna").is_some_and(|anna| anna["sessionId"] == "another Anna")
    });
    send(&c, "Anna", "Bob", "written after");
    wait_until("both are there", || messages(&b, "Bob").len() == 2);
    let read: Vec<(String, String)> = messages(&b, "Bob")
        .iter()
        .map(|message| {
            let word = |key: &str| message[key].as_str().unwrap().to_string();
            (word("from"), word("text"))
        })
        .collect();
    let expected = [("Anna on laptop", "written before"), ("Anna", "written after")];
    assert_eq!(read, expected.map(|(from, text)| (from.to_string(), text.to_string())));
}

#[test]
fn a_message_in_the_name_of_another_machines_agent_is_refused_with_the_reason() {
    let server = Server::start();
    let (a, b) = two(&server);
    run(async {
        let evil = Peer::connect(&server, "evil").await;
        let forged = evil.send("laptop", "Anna", 1, json!({ "from": "Bob" })).await;
        let told = evil.receipt().await;
        assert_eq!(told["stem"], forged.as_str(), "{told}");
        let why = told["why"].as_str().unwrap();
        assert!(told["refused"].is_string() && why.contains("name of its sender belongs to"), "{told}");
    });
    assert!(messages(&a, "Anna").is_empty());
    drop(b);
}

#[test]
fn who_sent_a_message_that_is_refused_is_told_why() {
    let server = Server::start();
    let (a, b) = two(&server);
    b.ok(&["link", "stop"]);
    let id = send(&a, "Anna", "Bob", "for one Bob");
    wait_until("the server has it", || receipt(&a, "Anna", &id)["state"] == "stored");
    // Without his session nothing is kept for him.
    b.ok(&["leave", "--as", "Bob"]);
    std::fs::remove_dir_all(b.env.mesh().join("graves")).unwrap();
    std::fs::create_dir(b.env.mesh().join("graves")).unwrap();
    b.join("Carol");
    wait_until("Anna knows", || receipt(&a, "Anna", &id)["state"] == "gone");
    let reason = receipt(&a, "Anna", &id)["reason"].to_string();
    assert!(reason.contains("is not there any more"), "{reason}");
    wait_until("Anna is told", || {
        messages(&a, "Anna").iter().any(|message| {
            let text = message["text"].as_str().unwrap();
            text.contains("could not be delivered") && text.contains("is not there any more")
        })
    });
}

#[test]
fn a_record_with_the_session_of_another_agent_gets_none_of_its_mail() {
    let server = Server::start();
    run(async {
        let evil = Peer::connect(&server, "evil").await;
        evil.take_lease("e").await;
        // Names that were given up: nobody sees them.
        for number in 0..30 {
            claim_name(&evil, &format!("Former{number}"), "session-Bob").await;
        }
    });
    let (a, b) = two(&server);
    let id = send(&a, "Anna", "Bob", "for Bob alone");
    wait_until("it has arrived", || receipt(&a, "Anna", &id)["state"] == "delivered");
    assert_eq!(messages(&b, "Bob").len(), 1);
    run(async {
        let evil = Peer::connect(&server, "evil").await;
        let stolen = evil.nats.next_messages(1, std::time::Duration::ZERO).await.unwrap();
        assert!(stolen.is_empty(), "{stolen:?}");
    });
}

#[test]
fn only_the_machine_that_a_message_went_to_says_what_became_of_it() {
    let server = Server::start();
    let (a, b) = two(&server);
    b.ok(&["link", "stop"]);
    let id = send(&a, "Anna", "Bob", "hello");
    wait_until("the server has it", || receipt(&a, "Anna", &id)["state"] == "stored");
    let stem = stored_stem(&a, "Bob");
    run(async {
        let evil = Peer::connect(&server, "evil").await;
        let at = jiff::Timestamp::now().to_string();
        let seen = format!("{stem},{},read.json", jiff::Timestamp::now().as_millisecond());
        for (number, what) in [json!({ "refused": at }), json!({ "delivered": at }), json!({ "seen": seen })]
            .into_iter()
            .enumerate()
        {
            let mut forged = json!({ "version": 1, "stem": stem, "to": "Bob" });
            forged.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
            let bytes = forged.to_string().into();
            evil.nats.publish("laptop", &format!("forged-{number}"), bytes).await.unwrap();
        }
        // It comes after them.
        evil.send("laptop", "Anna", 1, json!({ "text": "after them" })).await;
    });
    wait_until("they have come", || messages(&a, "Anna").len() == 1);
    assert_eq!(receipt(&a, "Anna", &id)["state"], "stored");
    b.ok(&["agents"]);
    wait_until("the true one comes", || receipt(&a, "Anna", &id)["state"] == "delivered");
}

#[test]
fn nobody_is_believed_before_the_records_are_known() {
    let server = Server::start();
    let a = Machine::linked("laptop", server.port);
    a.join("Anna");
    a.wait_until_linked();
    a.ok(&["link", "stop"]);
    run(async {
        let (desk, evil) = (Peer::connect(&server, "desk").await, Peer::connect(&server, "evil").await);
        desk.take_lease("e").await;
        // So many that mail would be there before they are.
        for number in 0..2_000 {
            claim_name(&desk, &format!("Agent{number}"), "somebody").await;
        }
        claim_name(&desk, "Carol", "session-Carol").await;
        evil.send("laptop", "Anna", 1, json!({ "from": "Carol", "text": "forged" })).await;
        evil.send("laptop", "Anna", 1, json!({ "text": "in order" })).await;
    });
    a.ok(&["agents"]);
    wait_until("the last one is there", || {
        messages(&a, "Anna").iter().any(|message| message["text"] == "in order")
    });
    assert_eq!(messages(&a, "Anna").len(), 1);
}
