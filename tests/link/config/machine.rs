//! A machine can do all that the link does, with nothing but its own credentials.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::kv::Operation;
use futures_util::StreamExt;

use ravenry::sys::nats::{ConnectOptions, Credentials, Nats};

use crate::support::config_server::{ConfigServer, MESH, run};
use crate::support::layout::Layout;

#[test]
fn a_machine_decides_by_compare_and_swap_and_sees_leases_expire() {
    let server = ConfigServer::start(&["laptop", "buildbox"]);
    run(async {
        let laptop = Layout::open(server.connect("laptop").await, "laptop", 1).await.unwrap();
        let buildbox = Layout::open(server.connect("buildbox").await, "buildbox", 1).await.unwrap();
        laptop.context.query_account().await.unwrap();
        let mut names: Vec<String> =
            laptop.context.stream_names().map(Result::unwrap).collect::<Vec<_>>().await;
        names.sort();
        assert_eq!(names.len(), 4, "{names:?}");

        let mut watch = buildbox.bucket.watch_with_history(">").await.unwrap();
        let lease = laptop.write("machine.laptop", "here", 0, "8s").await.unwrap();
        let renewed = laptop.write("machine.laptop", "still here", lease, "8s").await.unwrap();
        for key in ["name.a1", "task.b2", "done.c3", "paths.d4", "probe.e5"] {
            let won = buildbox.bucket.create(key, "buildbox".into()).await.unwrap();
            let lost = laptop.bucket.create(key, "laptop".into()).await.unwrap_err();
            assert_eq!(lost.to_string(), "key already exists", "{key}");
            let updated = buildbox.bucket.update(key, "again".into(), won).await.unwrap();
            assert!(laptop.bucket.update(key, "late".into(), won).await.is_err());
            let entry = laptop.bucket.entry(key).await.unwrap().unwrap();
            assert_eq!((entry.revision, &entry.value[..]), (updated, &b"again"[..]));
        }
        buildbox.bucket.delete("task.b2").await.unwrap();

        // In the order of their revisions, and the end of the lease, which nobody renews.
        let mut seen = Vec::new();
        let (mut has_ended, mut is_deleted) = (false, false);
        while !has_ended || !is_deleted {
            let entry = watch.next().await.unwrap().unwrap();
            has_ended |= entry.key == "machine.laptop" && entry.operation != Operation::Put;
            is_deleted |= entry.key == "task.b2" && entry.operation == Operation::Delete;
            seen.push(entry);
        }
        assert!(seen.iter().any(|entry| entry.revision == renewed));
        assert!(seen.is_sorted_by_key(|entry| entry.revision));
        assert_eq!(laptop.bucket.get("machine.laptop").await.unwrap(), None);
        let mut keys: Vec<String> =
            laptop.bucket.keys().await.unwrap().map(Result::unwrap).collect::<Vec<_>>().await;
        keys.sort();
        assert_eq!(keys, ["done.c3", "name.a1", "paths.d4", "probe.e5"]);
    });
}

#[test]
fn messages_are_sent_once_received_and_acknowledged() {
    let server = ConfigServer::start(&["laptop", "buildbox"]);
    run(async {
        let laptop = Layout::open(server.connect("laptop").await, "laptop", 1).await.unwrap();
        let buildbox = Layout::open(server.connect("buildbox").await, "buildbox", 1).await.unwrap();
        for text in ["one", "one again", "two"] {
            let mut headers = HeaderMap::new();
            headers.insert("Nats-Msg-Id", text.split(' ').next().unwrap());
            let subject = format!("mesh.{MESH}.inbox.buildbox.laptop");
            let ack = laptop.publish(&subject, headers, text).await.unwrap();
            assert_eq!(ack.duplicate, text == "one again");
        }
        let consumer = buildbox.inbox_consumer().await;
        let mut messages = consumer.messages().await.unwrap();
        for expected in ["one", "two"] {
            let message = messages.next().await.unwrap().unwrap();
            assert_eq!(message.subject.as_str(), format!("mesh.{MESH}.inbox.buildbox.laptop"));
            assert_eq!(message.payload, expected);
            message.double_ack().await.unwrap();
        }
        assert_eq!(buildbox.count(&buildbox.inbox).await, 0);
        // The same consumer again, as after a restart.
        let mut again = buildbox.inbox_consumer().await;
        assert_eq!(again.info().await.unwrap().num_pending, 0);
    });
}

#[test]
fn a_machine_reads_the_feed_and_what_it_has_given_up() {
    let server = ConfigServer::start(&["laptop", "buildbox"]);
    run(async {
        let laptop = Layout::open(server.connect("laptop").await, "laptop", 1).await.unwrap();
        let buildbox = Layout::open(server.connect("buildbox").await, "buildbox", 1).await.unwrap();
        for (machine, from) in [(&laptop, "laptop"), (&buildbox, "buildbox")] {
            machine.publish(&format!("mesh.{MESH}.feed.{from}"), HeaderMap::new(), from).await.unwrap();
            machine.publish(&format!("mesh.{MESH}.dead.{from}"), HeaderMap::new(), from).await.unwrap();
        }
        // One that the server names, and one that the client keeps in order.
        let ephemeral = laptop.feed.create_consumer(pull::Config::default()).await.unwrap();
        let ordered = laptop.feed.create_consumer(pull::OrderedConfig::default()).await.unwrap();
        let mut of_ephemeral = ephemeral.messages().await.unwrap();
        let mut of_ordered = ordered.messages().await.unwrap();
        for expected in ["laptop", "buildbox"] {
            let message = of_ephemeral.next().await.unwrap().unwrap();
            assert_eq!(message.payload, expected);
            message.double_ack().await.unwrap();
            assert_eq!(of_ordered.next().await.unwrap().unwrap().payload, expected);
        }
        let own = pull::Config {
            durable_name: Some("dead_laptop".to_string()),
            filter_subject: format!("mesh.{MESH}.dead.laptop"),
            ..Default::default()
        };
        let dead = laptop.dead.create_consumer(own).await.unwrap();
        let message = dead.messages().await.unwrap().next().await.unwrap().unwrap();
        assert_eq!(message.payload, "laptop");
    });
}

#[test]
fn machines_see_each_other() {
    let server = ConfigServer::start(&["laptop", "buildbox", "desk"]);
    run(async {
        let laptop = server.connect("laptop").await;
        let mut presence = laptop.subscribe(format!("mesh.{MESH}.presence.*")).await.unwrap();
        // The server has it when it answers.
        laptop.flush().await.unwrap();
        let context = async_nats::jetstream::new(laptop.clone());
        context.query_account().await.unwrap();
        for machine in ["buildbox", "desk"] {
            let client = server.connect(machine).await;
            client.publish(format!("mesh.{MESH}.presence.{machine}"), "here".into()).await.unwrap();
            client.flush().await.unwrap();
            let seen = tokio::time::timeout(Duration::from_secs(30), presence.next()).await.unwrap().unwrap();
            assert_eq!(seen.subject.as_str(), format!("mesh.{MESH}.presence.{machine}"));
        }
    });
}

#[test]
fn what_a_process_had_in_hand_when_it_died_comes_again_at_once_and_in_order() {
    let server = ConfigServer::start_roomy(&["laptop", "buildbox"]);
    run(async {
        let connect = async |machine: &str| {
            let url = format!("nats://127.0.0.1:{}", server.plan.listen.port);
            let file = server.dir.path().join(format!("{machine}.user"));
            let credentials = Credentials::UserFile(file);
            let nats = Nats::connect(ConnectOptions {
                credentials,
                ..ConnectOptions::new(vec![url], MESH, machine)
            });
            let nats = nats.await.unwrap();
            nats.prepare().await.unwrap();
            nats
        };
        let laptop = connect("laptop").await;
        let first = connect("buildbox").await;
        for text in ["one", "two"] {
            laptop.publish("buildbox", text, text.into()).await.unwrap();
        }
        let in_hand = first.next_messages(8, Duration::from_secs(20)).await.unwrap();
        assert!(!in_hand.is_empty());
        // Without an answer, as when it is killed.
        std::mem::forget(in_hand);
        drop(first);
        laptop.publish("buildbox", "three", "three".into()).await.unwrap();
        let second = connect("buildbox").await;
        let mut texts = Vec::new();
        // Less than the server would wait by itself.
        let limit = std::time::Instant::now() + Duration::from_secs(20);
        while texts.len() < 3 && std::time::Instant::now() < limit {
            for one in second.next_messages(8, Duration::from_secs(2)).await.unwrap() {
                texts.push(String::from_utf8(one.bytes.to_vec()).unwrap());
                one.done().await.unwrap();
            }
        }
        assert_eq!(texts, ["one", "two", "three"]);
    });
}
