//! Three nodes with the generated configurations are one cluster.

use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::{Consumer, pull};
use futures_util::StreamExt;

use crate::support::config_server::{ConfigServer, MESH, run, speak};
use crate::support::layout::{Layout, key_subject};

/// Tries until a state has come: a cluster elects a leader for each stream.
async fn until<T>(mut attempt: impl AsyncFnMut() -> Result<T, String>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        match attempt().await {
            Ok(value) => return value,
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The next message, asked for again until it comes: what was asked of a node that is killed is never answered.
async fn next_message(consumer: &Consumer<pull::Config>) -> Message {
    until(async || {
        let asked = consumer.fetch().max_messages(1).expires(Duration::from_secs(2)).messages();
        let mut messages = asked.await.map_err(|error| error.to_string())?;
        let message = messages.next().await.ok_or("no message yet")?;
        message.map_err(|error| error.to_string())
    })
    .await
}

#[test]
fn three_nodes_keep_three_copies_and_serve_without_one() {
    let mut server = ConfigServer::start_cluster(&["laptop", "buildbox"]);
    run(async {
        // The nodes are healthy before their leader knows that it has two others.
        let (one, other) = (server.connect_to(0, "laptop").await, server.connect_to(1, "buildbox").await);
        let laptop = until(async || Layout::open(one.clone(), "laptop", 3).await).await;
        let buildbox = until(async || Layout::open(other.clone(), "buildbox", 3).await).await;
        for stream in [&laptop.inbox, &laptop.dead, &laptop.feed] {
            let info = stream.get_info().await.unwrap();
            assert_eq!(info.config.num_replicas, 3);
            assert_eq!(info.cluster.unwrap().replicas.len(), 2);
        }
        // From one node to another, over the border of two accounts.
        let mut watch = buildbox.bucket.watch_with_history(">").await.unwrap();
        let lease = laptop.write("machine.laptop", "here", 0, "600s").await.unwrap();
        assert_eq!(watch.next().await.unwrap().unwrap().revision, lease);
        let consumer = buildbox.inbox_consumer().await;
        laptop.send("buildbox", "laptop", "hello").await.unwrap();
        let message = next_message(&consumer).await;
        assert_eq!(message.payload, "hello");
        message.double_ack().await.unwrap();
        // The borders hold here, too.
        laptop.write("machine.buildbox", "forged", 0, "600s").await.unwrap_err();
        laptop.send("laptop", "buildbox", "forged").await.unwrap_err();
        let reply = format!("mesh.{MESH}.inbox.buildbox.buildbox");
        laptop.client.publish_with_reply(key_subject("task.t"), reply, "x".into()).await.unwrap();
        laptop.bucket.put("probe.after", "x".into()).await.unwrap();
        assert_eq!(laptop.inbox.get_info().await.unwrap().state.last_sequence, 1);

        server.nodes[2].kill();
        until(async || {
            laptop.write("machine.laptop", "still here", lease, "600s").await.or_else(|error| {
                // A write whose answer was lost is there nevertheless.
                if error.contains("wrong last sequence") { Ok(0) } else { Err(error) }
            })
        })
        .await;
        until(async || {
            laptop.publish(&format!("mesh.{MESH}.inbox.buildbox.laptop"), HeaderMap::new(), "again").await
        })
        .await;
        assert_eq!(next_message(&consumer).await.payload, "again");
    });
}

#[test]
fn a_node_with_another_password_of_routes_stays_outside() {
    let server = ConfigServer::start_cluster(&["laptop"]);
    let stranger = server.start_stranger("something-else");
    let end = Instant::now() + Duration::from_secs(60);
    while !server.nodes.iter().any(|node| node.log().contains("authentication error")) {
        assert!(Instant::now() < end, "{}", server.nodes[0].log());
        std::thread::sleep(Duration::from_millis(20));
    }
    let routes = server.nodes[0].monitor("/routez").unwrap();
    assert!(!routes.contains("\"stranger\""), "{routes}");
    assert!(!stranger.monitor("/healthz").unwrap().contains("\"status\":\"ok\""));
    let said = speak(server.nodes[0].cluster_port, "CONNECT {}\r\n");
    assert!(said.starts_with("INFO ") && said.contains("Authorization Violation"), "{said}");
}
