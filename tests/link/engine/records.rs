//! Records change only by who knows the last revision.

use std::time::Duration;

use ravenry::sys::nats::Cas;

use super::{A, B, bytes, machine, until};
use crate::support::server::Server;

#[tokio::test(flavor = "multi_thread")]
async fn only_the_last_revision_can_be_changed() {
    let server = Server::start();
    let (a, b) = (machine(&server, A).await, machine(&server, B).await);
    assert_eq!(a.get("name.x").await, Ok(None));

    let Ok(Cas::Done(first)) = a.create("name.x", bytes("1"), None).await else { panic!("not created") };
    assert_eq!(b.create("name.x", bytes("2"), None).await, Ok(Cas::Conflict));
    let record = b.get("name.x").await.unwrap().unwrap();
    assert_eq!((record.revision, record.value), (first, bytes("1")));

    let Ok(Cas::Done(second)) = b.update("name.x", bytes("2"), first, None).await else {
        panic!("not updated")
    };
    assert!(second > first);
    assert_eq!(a.update("name.x", bytes("3"), first, None).await, Ok(Cas::Conflict));
    assert_eq!(a.delete("name.x", first).await, Ok(Cas::Conflict));
    assert_eq!(a.get("name.x").await.unwrap().unwrap().value, bytes("2"));

    assert!(matches!(a.delete("name.x", second).await, Ok(Cas::Done(_))));
    assert_eq!(b.get("name.x").await, Ok(None));
    assert_eq!(b.update("name.x", bytes("4"), second, None).await, Ok(Cas::Conflict));
    assert!(matches!(b.create("name.x", bytes("5"), None).await, Ok(Cas::Done(_))));
    assert_eq!(a.get("name.x").await.unwrap().unwrap().value, bytes("5"));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_that_create_a_key_one_does() {
    let server = Server::start();
    let a = std::sync::Arc::new(machine(&server, A).await);
    for round in 0..20 {
        let tasks: Vec<_> = (0..8)
            .map(|n| {
                let a = a.clone();
                tokio::spawn(
                    async move { a.create(&format!("task.{round}"), bytes(&n.to_string()), None).await },
                )
            })
            .collect();
        let mut winners = 0;
        for task in tasks {
            winners += usize::from(matches!(task.await.unwrap().unwrap(), Cas::Done(_)));
        }
        assert_eq!(winners, 1, "round {round}");
        // The next round is about a key that was deleted.
        let record = a.get(&format!("task.{round}")).await.unwrap().unwrap();
        assert!(matches!(a.delete(&record.key, record.revision).await, Ok(Cas::Done(_))));
        let again =
            tokio::join!(a.create(&record.key, bytes("x"), None), a.create(&record.key, bytes("y"), None));
        let done =
            [again.0.unwrap(), again.1.unwrap()].iter().filter(|cas| matches!(cas, Cas::Done(_))).count();
        assert_eq!(done, 1, "round {round}, after the deletion");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_key_is_gone_and_can_be_created() {
    let server = Server::start();
    let a = machine(&server, A).await;
    a.probe_ttl().await.unwrap();
    // The second time nothing is written.
    a.probe_ttl().await.unwrap();

    let second = Some(Duration::from_secs(1));
    let Ok(Cas::Done(revision)) = a.create("machine.aaaaaaaa", bytes("1"), second).await else {
        panic!("not created")
    };
    until("the key expires", async || Ok(a.get("machine.aaaaaaaa").await?.is_none().then_some(()))).await;
    assert_eq!(a.update("machine.aaaaaaaa", bytes("2"), revision, second).await, Ok(Cas::Conflict));
    assert!(matches!(a.create("machine.aaaaaaaa", bytes("3"), None).await, Ok(Cas::Done(_))));
    assert_eq!(a.get("machine.aaaaaaaa").await.unwrap().unwrap().value, bytes("3"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_key_is_refused() {
    let server = Server::start();
    let a = machine(&server, A).await;
    for key in ["", "a b", "a.*", ">", "a..b"] {
        assert!(a.get(key).await.is_err(), "{key:?}");
        assert!(a.create(key, bytes(""), None).await.is_err(), "{key:?}");
    }
}
