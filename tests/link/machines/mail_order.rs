//! The order of mail when something goes wrong in between, and whose mail it is.

use std::time::SystemTime;

use async_nats::jetstream::consumer::pull;
use serde_json::{Value, json};

use crate::environment::{end, wait_until};
use crate::support::config_server::run;
use crate::support::machine::Machine;
use crate::support::peer::Peer;
use crate::support::server::Server;

/// What the server knows of the mail of laptop.
fn consumer(server: &Server) -> async_nats::jetstream::consumer::Info {
    run(async {
        let context = async_nats::jetstream::new(async_nats::connect(server.url()).await.unwrap());
        let stream = context.get_stream("MESH_team_INBOX").await.unwrap();
        let consumer = stream.get_consumer::<pull::Config>("inbox_laptop").await.unwrap();
        consumer.cached_info().clone()
    })
}

fn linked(server: &Server) -> Machine {
    let machine = Machine::linked("laptop", server.port);
    machine.join("Anna");
    machine.wait_until_linked();
    machine
}

/// When each message was put into the inbox of Anna, in the order of sending.
fn arrivals(machine: &Machine) -> Vec<SystemTime> {
    let dir = std::fs::read_dir(machine.env.mesh().join("inbox/Anna")).unwrap();
    let mut files: Vec<_> = dir.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "json"));
    files.sort();
    files.iter().map(|file| file.metadata().unwrap().modified().unwrap()).collect()
}

#[test]
fn what_follows_a_message_that_could_not_be_delivered_yet_waits_for_it() {
    const MESSAGES: usize = 30;
    let server = Server::start();
    let a = linked(&server);
    a.ok(&["link", "stop"]);
    // A link that does not wait for long.
    end(a.msg().arg("agents").env("MSG_LOCK_TIMEOUT", "2")).expect_code(0);
    a.wait_until_linked();
    let store = a.env.store();
    let locked = store.lock().unwrap();
    run(async {
        let peer = Peer::connect(&server, "buildbox").await;
        peer.send("laptop", "Anna", 1, json!({ "text": "0" })).await;
    });
    wait_until("the first one is in hand", || consumer(&server).num_ack_pending > 0);
    run(async {
        let peer = Peer::connect(&server, "buildbox").await;
        for number in 1..MESSAGES {
            peer.send("laptop", "Anna", 1, json!({ "text": number.to_string() })).await;
        }
    });
    wait_until("it was given back", || consumer(&server).num_redelivered > 0);
    drop(locked);
    wait_until("all are there", || arrivals(&a).len() == MESSAGES);
    let arrivals = arrivals(&a);
    assert!(arrivals.is_sorted(), "{arrivals:?}");
}

/// A copy of a mesh on another machine, or two machines with one name.
#[test]
fn a_link_without_the_lease_leaves_the_mail_alone() {
    let server = Server::start();
    let a = linked(&server);
    let copy = Machine::new("laptop", server.port);
    copy.ok(&["link", &copy.url(), "--machine", "laptop", "--force"]);
    copy.join("Anna");
    let problem = || copy.status()["state"]["problem"]["kind"].clone();
    wait_until("the name is in use", || problem() == "machine_name_in_use");
    let before = consumer(&server);
    let texts: Vec<String> = (0..60).map(|number| number.to_string()).collect();
    run(async {
        let peer = Peer::connect(&server, "buildbox").await;
        for text in &texts {
            peer.send("laptop", "Anna", 1, json!({ "text": text })).await;
            if text.ends_with('9') {
                // Each time the other link may be at another step.
                drop(problem());
            }
        }
    });
    let inbox =
        |machine: &Machine| machine.ok(&["inbox", "--as", "Anna"])["messages"].as_array().unwrap().clone();
    wait_until("all are there", || inbox(&a).len() == texts.len());
    let arrivals = arrivals(&a);
    assert!(arrivals.is_sorted(), "{arrivals:?}");
    assert_eq!(inbox(&copy), Vec::<Value>::new());
    assert_eq!(problem(), "machine_name_in_use");
    let after = consumer(&server);
    assert_eq!(after.created, before.created, "nobody has replaced the consumer");
    assert_eq!(after.delivered.consumer_sequence - before.delivered.consumer_sequence, 60, "each came once");
}
