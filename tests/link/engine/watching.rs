//! A watch shows what is there, then that it has shown it, then every change in order.

use std::time::Duration;

use ravenry::sys::nats::{Cas, Change, Nats};

use super::{A, B, bytes, machine, next};
use crate::support::server::Server;

async fn put(nats: &Nats, key: &str, value: &str, ttl: Option<Duration>) -> u64 {
    match nats.create(key, bytes(value), ttl).await.unwrap() {
        Cas::Done(revision) => revision,
        Cas::Conflict => panic!("{key} exists"),
    }
}

fn shown(change: Change) -> String {
    match change {
        Change::Put(record) => format!("{}={}", record.key, String::from_utf8_lossy(&record.value)),
        Change::Gone { key, is_expired: true, .. } => format!("{key} expired"),
        Change::Gone { key, .. } => format!("{key} deleted"),
        Change::CaughtUp => "caught up".to_owned(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_bucket_is_caught_up_at_once() {
    let server = Server::start();
    let a = machine(&server, A).await;
    let mut changes = a.watch().await.unwrap();
    assert_eq!(next(&mut changes).await, Change::CaughtUp);
    put(&a, "name.x", "1", None).await;
    assert_eq!(shown(next(&mut changes).await), "name.x=1");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_there_comes_first_and_all_in_order() {
    let server = Server::start();
    let (a, b) = (machine(&server, A).await, machine(&server, B).await);
    let mut revisions = Vec::new();
    for n in 0..300 {
        revisions.push(put(&a, &format!("name.{n}"), "1", None).await);
    }
    // A key that was deleted is not there.
    let _ = a.delete("name.0", revisions[0]).await.unwrap();
    let mut changes = b.watch().await.unwrap();
    for n in 1..300 {
        assert_eq!(shown(next(&mut changes).await), format!("name.{n}=1"));
    }
    assert_eq!(next(&mut changes).await, Change::CaughtUp);

    let mut revision = revisions[7];
    for n in 0..100 {
        let Cas::Done(new) = a.update("name.7", bytes(&n.to_string()), revision, None).await.unwrap() else {
            panic!("conflict")
        };
        revision = new;
    }
    let _ = a.delete("name.7", revision).await.unwrap();
    // Values that were overwritten may be left out, but never the last, and never the order.
    let mut last = 0;
    loop {
        match next(&mut changes).await {
            Change::Put(record) => {
                assert!(record.revision > last, "{record:?}");
                last = record.revision;
            }
            Change::Gone { key, revision, is_expired } => {
                assert_eq!((key.as_str(), is_expired), ("name.7", false));
                assert!(revision > last);
                break;
            }
            Change::CaughtUp => panic!("caught up again"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_ends_is_seen_and_one_that_is_renewed_is_not() {
    let server = Server::start();
    let (a, b) = (machine(&server, A).await, machine(&server, B).await);
    // Much longer than the pause between two renewals, which a busy disk makes longer.
    let lease = Some(Duration::from_secs(8));
    let mut changes = b.watch().await.unwrap();
    assert_eq!(next(&mut changes).await, Change::CaughtUp);
    put(&a, "machine.bbbbbbbb", "short", lease).await;
    let mut revision = put(&a, "machine.aaaaaaaa", "long", lease).await;
    let mut seen = Vec::new();
    while seen.last().map(String::as_str) != Some("machine.bbbbbbbb expired") {
        tokio::select! {
            change = next(&mut changes) => seen.push(shown(change)),
            () = tokio::time::sleep(Duration::from_millis(300)) => {
                match a.update("machine.aaaaaaaa", bytes("long"), revision, lease).await.unwrap() {
                    Cas::Done(new) => revision = new,
                    Cas::Conflict => panic!("a lease that was renewed has ended: {seen:?}"),
                }
            }
        }
    }
    assert!(!seen.contains(&"machine.aaaaaaaa expired".to_owned()), "{seen:?}");
    assert!(a.get("machine.aaaaaaaa").await.unwrap().is_some());
    // Without renewal it ends as well.
    while shown(next(&mut changes).await) != "machine.aaaaaaaa expired" {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_marker_that_is_forgotten_is_not_a_second_end() {
    let server = Server::start();
    let a = machine(&server, A).await;
    let mut changes = a.watch().await.unwrap();
    assert_eq!(next(&mut changes).await, Change::CaughtUp);
    put(&a, "name.x", "1", None).await;
    assert_eq!(shown(next(&mut changes).await), "name.x=1");
    // As `delete` does it, but with a marker that goes at once.
    let raw = async_nats::connect(server.url()).await.unwrap();
    let mut headers = async_nats::HeaderMap::new();
    headers.insert("KV-Operation", "DEL");
    headers.insert("Nats-TTL", "1s");
    raw.request_with_headers("$KV.mesh_m.name.x", headers, bytes("")).await.unwrap();
    assert_eq!(shown(next(&mut changes).await), "name.x deleted");
    // A lease that is younger than the marker ends after it.
    put(&a, "machine.aaaaaaaa", "1", Some(Duration::from_secs(3))).await;
    assert_eq!(shown(next(&mut changes).await), "machine.aaaaaaaa=1");
    assert_eq!(shown(next(&mut changes).await), "machine.aaaaaaaa expired");
}
