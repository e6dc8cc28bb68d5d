//! Messages arrive once, in order, and none is lost.

use std::time::Duration;

use ravenry::sys::nats::{Incoming, Nats, NatsError};

use super::{A, B, bytes, machine, options, until};
use crate::support::server::{PATIENCE, Server};

const NOW: Duration = Duration::ZERO;

fn texts(messages: &[Incoming]) -> Vec<String> {
    messages.iter().map(|message| String::from_utf8_lossy(&message.bytes).into_owned()).collect()
}

async fn send(from: &Nats, to: &str, text: &str) -> u64 {
    from.publish(to, text, bytes(text)).await.unwrap().sequence
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_come_in_order_and_only_to_their_machine() {
    let server = Server::start();
    let (a, b) = (machine(&server, A).await, machine(&server, B).await);
    assert!(b.next_messages(10, NOW).await.unwrap().is_empty());
    let mut expected = Vec::new();
    for n in 0..600 {
        let text = format!("m{n}");
        send(&a, B, &text).await;
        send(&b, A, &text).await;
        expected.push(text);
    }
    let mut received = Vec::new();
    while received.len() < expected.len() {
        let messages = b.next_messages(50, PATIENCE).await.unwrap();
        assert!(!messages.is_empty() && messages.len() <= 50);
        received.extend(texts(&messages));
        for message in messages {
            assert_eq!((message.from_machine.as_str(), message.tries), (A, 1));
            message.done().await.unwrap();
        }
    }
    assert_eq!(received, expected);
    assert!(b.next_messages(10, NOW).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_reader_gets_a_message_at_once() {
    let server = Server::start();
    let (a, b) = (machine(&server, A).await, machine(&server, B).await);
    let waiting =
        tokio::spawn(async move { b.next_messages(10, PATIENCE).await.map(|messages| texts(&messages)) });
    send(&a, B, "hello").await;
    assert_eq!(waiting.await.unwrap().unwrap(), ["hello"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_is_stored_once() {
    let server = Server::start();
    let a = machine(&server, A).await;
    let first = a.publish(B, "id-1", bytes("1")).await.unwrap();
    let second = a.publish(B, "id-1", bytes("1")).await.unwrap();
    assert!(!first.is_duplicate && second.is_duplicate);
    assert_eq!(first.sequence, second.sequence);
    let b = machine(&server, B).await;
    let messages = b.next_messages(10, PATIENCE).await.unwrap();
    assert_eq!(texts(&messages), ["1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_stops_waiting_loses_nothing() {
    let server = Server::start();
    let (a, b) = (machine(&server, A).await, machine(&server, B).await);
    let mut received = Vec::new();
    for n in 0..40 {
        // Given up at a random point of a pull.
        let pause = Duration::from_micros(n * 300);
        let found = tokio::time::timeout(pause, b.next_messages(3, Duration::from_secs(1))).await;
        let mut messages = found.map(Result::unwrap).unwrap_or_default();
        send(&a, B, &format!("m{n}")).await;
        if n % 3 == 0 && messages.is_empty() {
            messages = b.next_messages(2, PATIENCE).await.unwrap();
        }
        for message in messages {
            received.extend(texts(std::slice::from_ref(&message)));
            message.done().await.unwrap();
        }
    }
    while received.len() < 40 {
        for message in b.next_messages(2, PATIENCE).await.unwrap() {
            received.extend(texts(std::slice::from_ref(&message)));
            message.done().await.unwrap();
        }
    }
    assert_eq!(received, (0..40).map(|n| format!("m{n}")).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_over_gets_what_the_dead_one_had_in_hand_first() {
    let server = Server::start();
    let a = machine(&server, A).await;
    for life in 1..=3 {
        if life == 1 {
            for n in 0..5 {
                send(&a, B, &format!("m{n}")).await;
            }
        }
        let b = machine(&server, B).await;
        let mut messages = Vec::new();
        while messages.len() < 3 {
            messages.extend(b.next_messages(3 - messages.len(), PATIENCE).await.unwrap());
        }
        assert_eq!(texts(&messages), ["m0", "m1", "m2"]);
        // Each life is counted for the message that it may have died of, and for no other.
        assert_eq!(messages.iter().map(|message| message.tries).collect::<Vec<_>>(), [life, 1, 1]);
        // It dies: nothing is answered, and nothing is closed.
        std::mem::forget(messages);
        std::mem::forget(b);
        send(&a, B, &format!("later{life}")).await;
    }
    let b = machine(&server, B).await;
    let mut received = Vec::new();
    while received.len() < 8 {
        for message in b.next_messages(10, PATIENCE).await.unwrap() {
            received.extend(texts(std::slice::from_ref(&message)));
            message.done().await.unwrap();
        }
    }
    assert_eq!(received, ["m0", "m1", "m2", "m3", "m4", "later1", "later2", "later3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_given_back_comes_again_before_what_is_newer() {
    let server = Server::start();
    let (a, b) = (machine(&server, A).await, machine(&server, B).await);
    for n in 0..3 {
        send(&a, B, &format!("m{n}")).await;
    }
    let mut messages = b.next_messages(1, PATIENCE).await.unwrap();
    messages.pop().unwrap().again(Duration::from_millis(700)).await.unwrap();
    let mut received = Vec::new();
    while received.len() < 3 {
        for message in b.next_messages(10, PATIENCE).await.unwrap() {
            let tries = message.tries;
            received.push((texts(std::slice::from_ref(&message)).remove(0), tries));
            message.done().await.unwrap();
        }
    }
    assert_eq!(received, [("m0".to_owned(), 2), ("m1".to_owned(), 1), ("m2".to_owned(), 1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_put_aside_is_not_lost_and_not_delivered() {
    let server = Server::start();
    let (a, b) = (machine(&server, A).await, machine(&server, B).await);
    send(&a, B, "bad").await;
    send(&a, B, "good").await;
    let mut messages = b.next_messages(10, PATIENCE).await.unwrap();
    while messages.len() < 2 {
        messages.extend(b.next_messages(10, PATIENCE).await.unwrap());
    }
    let good = messages.pop().unwrap();
    messages.pop().unwrap().dead_letter("it is not\nreadable").await.unwrap();
    good.done().await.unwrap();
    drop(b);
    let b = machine(&server, B).await;
    assert!(b.next_messages(10, NOW).await.unwrap().is_empty());
    let raw = async_nats::jetstream::new(async_nats::connect(server.url()).await.unwrap());
    let dead = raw.get_stream("MESH_m_DEAD").await.unwrap().get_raw_message(1).await.unwrap();
    assert_eq!((dead.subject.as_str(), &dead.payload[..]), ("mesh.m.dead.bbbbbbbb", &b"bad"[..]));
    assert_eq!(dead.headers.get("Ravenry-Why").unwrap().as_str(), "it is not?readable");
    assert_eq!(dead.headers.get("Ravenry-From").unwrap().as_str(), A);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_stream_refuses_and_loses_nothing() {
    let server = Server::start();
    let mut small = options(&server, A);
    small.inbox_bytes = 64 << 10;
    let a = Nats::connect(small).await.unwrap();
    a.prepare().await.unwrap();
    let payload = "x".repeat(4000);
    let mut stored = 0;
    let error = loop {
        match a.publish(B, &format!("id{stored}"), bytes(&format!("{stored} {payload}"))).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 100);
    };
    assert!(matches!(&error, NatsError::StreamFull { stream, .. } if stream == "MESH_m_INBOX"), "{error}");
    assert!(stored > 5);
    let b = machine(&server, B).await;
    let mut received = 0;
    while received < stored {
        for message in b.next_messages(10, PATIENCE).await.unwrap() {
            assert!(message.bytes.starts_with(format!("{received} ").as_bytes()));
            received += 1;
            message.done().await.unwrap();
        }
    }
    // There is space again, and what was refused can be sent.
    until("there is space", async || match a.publish(B, &format!("id{stored}"), bytes("late")).await {
        Ok(stored) => Ok((!stored.is_duplicate).then_some(())),
        Err(NatsError::StreamFull { .. }) => Ok(None),
        Err(error) => Err(error),
    })
    .await;
    assert_eq!(texts(&b.next_messages(10, PATIENCE).await.unwrap()), ["late"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_feed_is_read_from_where_one_was() {
    let server = Server::start();
    let (a, b) = (machine(&server, A).await, machine(&server, B).await);
    let short = Duration::from_millis(300);
    let mut reader = a.read_feed(0);
    assert_eq!(reader.next(10, short).await.unwrap().entries, []);
    for n in 0..5 {
        let from = if n % 2 == 0 { &a } else { &b };
        from.publish_feed(&format!("f{n}"), bytes(&n.to_string())).await.unwrap();
    }
    assert!(a.publish_feed("f4", bytes("again")).await.unwrap().is_duplicate);
    let mut all = Vec::new();
    while all.len() < 5 {
        let given = reader.next(2, PATIENCE).await.unwrap();
        assert!((1..=2).contains(&given.entries.len()) && given.removed == 0);
        all.extend(given.entries);
    }
    assert_eq!(all.iter().map(|entry| entry.machine.as_str()).collect::<Vec<_>>(), [A, B, A, B, A]);
    assert_eq!(reader.next(10, short).await.unwrap().entries, []);
    // Somebody who was there before goes on from there, also after a new connection and a new stream.
    let mut later = a.read_feed(all[2].sequence);
    let rest = later.next(10, PATIENCE).await.unwrap().entries;
    assert_eq!(rest[0].bytes, bytes("3"));
    let anew = a.read_feed(100).next(10, PATIENCE).await.unwrap();
    assert!(anew.is_anew && anew.entries[0].bytes == bytes("0"));
    assert_eq!(a.feed_range().await.unwrap().last, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn presence_is_heard_by_who_listens() {
    use futures_util::StreamExt;
    let server = Server::start();
    let (a, b) = (machine(&server, A).await, machine(&server, B).await);
    let mut heard = b.hear_presence().await.unwrap();
    a.say_presence(bytes("here")).await.unwrap();
    let message = tokio::time::timeout(PATIENCE, heard.next()).await.unwrap();
    assert_eq!(message, Some((A.to_owned(), bytes("here"))));
}
