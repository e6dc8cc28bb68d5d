//! Servers end and come back; what was confirmed is still there, and everything goes on by itself.

use std::time::Duration;

use ravenry::sys::nats::{Cas, Change, Nats, NatsError, ServerConnection};

use super::{A, B, bytes, machine, next, until};
use crate::support::server::{PATIENCE, Server};

/// Waits until the machine is in this state.
async fn wait_for(nats: &Nats, connected: bool) {
    let mut events = nats.connection_events();
    let wanted = |state: &ServerConnection| matches!(state, ServerConnection::Connected { .. }) == connected;
    tokio::time::timeout(PATIENCE, events.wait_for(wanted)).await.expect("not in time").unwrap();
    until("the client agrees", async || Ok((nats.is_connected() == connected).then_some(()))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_goes_on_after_a_restart_of_the_server() {
    let mut server = Server::start();
    let (a, b) = (machine(&server, A).await, machine(&server, B).await);
    let lease = Some(Duration::from_secs(3));
    let mut changes = b.watch().await.unwrap();
    assert_eq!(next(&mut changes).await, Change::CaughtUp);
    let _ = a.create("name.stays", bytes("1"), None).await.unwrap();
    let _ = a.create("machine.aaaaaaaa", bytes("1"), lease).await.unwrap();
    let mut expected: Vec<String> = Vec::new();
    for n in 0..20 {
        a.publish(B, &format!("m{n}"), bytes(&format!("m{n}"))).await.unwrap();
        expected.push(format!("m{n}"));
    }
    // Some are in hand when the server ends.
    let in_hand = b.next_messages(5, PATIENCE).await.unwrap();
    assert!(!in_hand.is_empty());

    server.kill();
    wait_for(&a, false).await;
    wait_for(&b, false).await;
    assert_eq!(a.create("name.y", bytes("1"), None).await, Err(NatsError::Disconnected));
    assert_eq!(a.get("name.stays").await, Err(NatsError::Disconnected));
    assert_eq!(a.publish(B, "x", bytes("x")).await, Err(NatsError::Disconnected));
    assert_eq!(b.next_messages(5, Duration::from_millis(200)).await.map(drop), Err(NatsError::Disconnected));
    server.restart();
    wait_for(&a, true).await;
    wait_for(&b, true).await;
    assert!(matches!(*a.connection_events().borrow(), ServerConnection::Connected { times: 2 }));

    // Records: nothing is lost, and the watch goes on where it was.
    let record = until("the record is there", async || a.get("name.stays").await).await;
    assert_eq!(record.value, bytes("1"));
    until("a record can be written", async || {
        Ok(matches!(a.create("name.new", bytes("1"), None).await?, Cas::Done(_)).then_some(()))
    })
    .await;
    let mut seen = Vec::new();
    loop {
        match next(&mut changes).await {
            Change::Put(record) => seen.push(record.key),
            Change::Gone { key, is_expired, .. } => {
                assert_eq!((key.as_str(), is_expired), ("machine.aaaaaaaa", true));
                seen.push("expired".to_owned());
            }
            Change::CaughtUp => {}
        }
        if seen.contains(&"expired".to_owned()) && seen.contains(&"name.new".to_owned()) {
            break;
        }
    }
    assert_eq!(seen.iter().filter(|key| *key == "name.stays").count(), 1, "{seen:?}");

    // Messages: all that were confirmed, in order; those in hand come again.
    drop(in_hand);
    let mut received = Vec::new();
    while received.len() < expected.len() {
        let Ok(messages) = b.next_messages(7, Duration::from_secs(5)).await else { continue };
        for message in messages {
            let text = String::from_utf8_lossy(&message.bytes).into_owned();
            match message.done().await {
                Ok(()) | Err(NatsError::Unknown { .. }) if !received.contains(&text) => received.push(text),
                Ok(()) | Err(_) => {}
            }
        }
    }
    assert_eq!(received, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_vanishes_while_nobody_watches_is_reported() {
    let mut server = Server::start();
    let (a, b) = (machine(&server, A).await, machine(&server, B).await);
    let Cas::Done(revision) = a.create("name.x", bytes("1"), None).await.unwrap() else { panic!("conflict") };
    let mut changes = b.watch().await.unwrap();
    assert!(matches!(next(&mut changes).await, Change::Put(_)));
    assert_eq!(next(&mut changes).await, Change::CaughtUp);
    let _ = a.delete("name.x", revision).await.unwrap();
    // Without its marker, as if it had been away for longer than markers are kept.
    let raw = async_nats::jetstream::new(async_nats::connect(server.url()).await.unwrap());
    raw.get_stream("KV_mesh_m").await.unwrap().purge().await.unwrap();
    server.restart();
    loop {
        match next(&mut changes).await {
            Change::Gone { key, .. } => {
                assert_eq!(key, "name.x");
                break;
            }
            Change::CaughtUp => {}
            change @ Change::Put(_) => panic!("{change:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_confirmed_message_is_lost_by_kills() {
    let mut server = Server::with("");
    let (a, b) = (machine(&server, A).await, machine(&server, B).await);
    let sender = async {
        let mut confirmed = Vec::new();
        for n in 0..300 {
            let id = format!("m{n}");
            // The same id again until it is confirmed: that is what the outbox does.
            until("a message is sent", async || a.publish(B, &id, bytes(&id)).await.map(Some)).await;
            confirmed.push(id);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        confirmed
    };
    let reader = async {
        let mut received: Vec<String> = Vec::new();
        while received.len() < 300 {
            let Ok(messages) = b.next_messages(10, Duration::from_secs(2)).await else { continue };
            for message in messages {
                let text = String::from_utf8_lossy(&message.bytes).into_owned();
                // Seen ones come again when their answer was lost.
                if !received.contains(&text) {
                    received.push(text);
                }
                drop(message.done().await);
            }
        }
        received
    };
    let nemesis = async {
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(400)).await;
            server.restart();
        }
    };
    let all = async { tokio::join!(sender, reader, nemesis) };
    let (confirmed, received, ()) = tokio::time::timeout(PATIENCE, all).await.expect("messages are missing");
    assert_eq!(received, confirmed);
}
