//! The client of the engine (`sys::nats`), against real servers.

mod cluster;
mod connecting;
mod inbox;
mod interruptions;
mod records;
mod watching;

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use ravenry::sys::nats::{Change, Changes, ConnectOptions, Nats, NatsError};

use crate::support::server::{PATIENCE, Server};

/// A machine, and another one.
const A: &str = "aaaaaaaa";
const B: &str = "bbbbbbbb";

fn options(server: &Server, machine: &str) -> ConnectOptions {
    // A stall of a busy machine is no answer that is missing.
    ConnectOptions { timeout: PATIENCE / 2, ..ConnectOptions::new(vec![server.url()], "m", machine) }
}

/// A machine that is ready to work.
async fn machine(server: &Server, id: &str) -> Nats {
    let nats = Nats::connect(options(server, id)).await.unwrap();
    nats.prepare().await.unwrap();
    nats
}

fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

/// The next change of the bucket.
async fn next(changes: &mut Changes) -> Change {
    let change = tokio::time::timeout(PATIENCE, changes.next()).await;
    change.expect("no change in time").expect("the watch ended").expect("the watch failed")
}

/// Tries until it succeeds. Errors that pass by themselves are tried again, others end the test.
async fn until<T>(what: &str, mut attempt: impl AsyncFnMut() -> Result<Option<T>, NatsError>) -> T {
    let start = Instant::now();
    loop {
        match attempt().await {
            Ok(Some(value)) => return value,
            Ok(None) => {}
            Err(error) if error.is_transient() => {}
            Err(error) => panic!("{what}: {error}"),
        }
        assert!(start.elapsed() < PATIENCE, "{what}: not in time");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
