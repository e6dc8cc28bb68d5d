//! Three servers, one of which is killed.

use futures_util::StreamExt;
use ravenry::sys::nats::{Cas, Change, ConnectOptions, Nats, NatsError};

use super::{A, B, bytes, next, until};
use crate::support::server::{Cluster, PATIENCE};

async fn member(cluster: &Cluster, id: &str) -> Nats {
    let mut options = ConnectOptions::new(cluster.urls(), "m", id);
    options.replicas = 3;
    // Longer than a stall, and short enough to ask again what a server that was killed did not answer.
    options.timeout = PATIENCE / 4;
    let nats = until("a connection", async || Nats::connect(options.clone()).await.map(Some)).await;
    // A cluster that has just started has no leader.
    until("the streams", async || match nats.prepare().await {
        Ok(()) => Ok(Some(())),
        Err(error) if passes(&error) => Ok(None),
        Err(error) => Err(error),
    })
    .await;
    nats
}

/// Whether an error passes by itself once a cluster has a leader that knows the other servers.
fn passes(error: &NatsError) -> bool {
    error.is_transient() || error.to_string().contains("no suitable peers")
}

/// The name of the server that leads the bucket.
async fn leader(cluster: &Cluster) -> Option<String> {
    let client = async_nats::connect(cluster.urls()).await.ok()?;
    let stream = async_nats::jetstream::new(client).get_stream("KV_mesh_m").await.ok()?;
    stream.cached_info().cluster.as_ref()?.leader.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_is_a_conflict_and_writes_go_on_without_the_leader() {
    let mut cluster = Cluster::start();
    let (a, b) = (member(&cluster, A).await, member(&cluster, B).await);
    assert_eq!(a.server_facts().cluster.as_deref(), Some("c"));
    let mut changes = b.watch().await.unwrap();
    assert_eq!(next(&mut changes).await, Change::CaughtUp);
    let Cas::Done(mut revision) = a.create("name.x", bytes("0"), None).await.unwrap() else {
        panic!("conflict")
    };
    assert_eq!(b.create("name.x", bytes("1"), None).await, Ok(Cas::Conflict));
    assert_eq!(b.update("name.x", bytes("1"), revision + 1, None).await, Ok(Cas::Conflict));
    // Many at once: one wins each round, all others have a conflict and no other error.
    for round in 0..20 {
        let text = bytes(&round.to_string());
        let (x, y) = tokio::join!(
            a.update("name.x", text.clone(), revision, None),
            b.update("name.x", text, revision, None)
        );
        let winners: Vec<u64> = [x.unwrap(), y.unwrap()]
            .into_iter()
            .filter_map(|cas| match cas {
                Cas::Done(revision) => Some(revision),
                Cas::Conflict => None,
            })
            .collect();
        assert_eq!(winners.len(), 1, "round {round}");
        revision = winners[0];
    }
    for n in 0..10 {
        a.publish(B, &format!("m{n}"), bytes(&format!("m{n}"))).await.unwrap();
    }

    let leader = until("a leader", async || Ok(leader(&cluster).await)).await;
    let led = cluster.servers.iter_mut().find(|server| server.name() == leader);
    led.expect("the leader is not one of the servers").kill();

    // A write whose answer is missing is read again before it is decided.
    let revision = until("a write without the leader", async || {
        let record = a.get("name.x").await?.expect("the record is lost");
        if record.value == bytes("after") {
            return Ok(Some(record.revision));
        }
        assert_eq!(record.revision, revision, "a confirmed write is lost");
        match a.update("name.x", bytes("after"), record.revision, None).await? {
            Cas::Done(revision) => Ok(Some(revision)),
            Cas::Conflict => Ok(None),
        }
    })
    .await;
    until("a conflict without the leader", async || {
        Ok((b.update("name.x", bytes("no"), revision - 1, None).await? == Cas::Conflict).then_some(()))
    })
    .await;
    let watched = async {
        loop {
            match changes.next().await.expect("the watch ended") {
                Ok(Change::Put(record)) if record.value == bytes("after") => break,
                Ok(_) => {}
                // The watch has to begin anew, and does so by itself.
                Err(error) => assert!(passes(&error), "the watch failed: {error}"),
            }
        }
    };
    tokio::time::timeout(PATIENCE, watched).await.expect("no change in time");
    let mut received: Vec<String> = Vec::new();
    while received.len() < 10 {
        let Ok(messages) = b.next_messages(4, PATIENCE).await else { continue };
        for message in messages {
            let text = String::from_utf8_lossy(&message.bytes).into_owned();
            if !received.contains(&text) {
                received.push(text);
            }
            drop(message.done().await);
        }
    }
    assert_eq!(received, (0..10).map(|n| format!("m{n}")).collect::<Vec<_>>());
}
