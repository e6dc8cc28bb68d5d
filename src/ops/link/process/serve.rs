//! The socket of the link process: what commands ask goes to the loop that decides, one after the other.

use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};

use crate::store::link_protocol::{LinkAnswer, LinkRequest, MAX_LINE};

/// How long a client may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many clients are served at once.
const MOST: usize = 256;

/// A request, and where its answer goes.
pub(super) struct Asked {
    pub(super) request: LinkRequest,
    pub(super) answer: oneshot::Sender<LinkAnswer>,
    /// When it came.
    pub(super) since: Instant,
}

/// Accepts clients until the process ends.
pub(super) async fn serve(listener: UnixListener, asked: mpsc::Sender<Asked>) {
    let places = std::sync::Arc::new(tokio::sync::Semaphore::new(MOST));
    loop {
        let Ok(place) = std::sync::Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let asked = asked.clone();
                tokio::spawn(async move {
                    // A client that went away, or says nothing, needs no answer.
                    drop(tokio::time::timeout(PATIENCE * 4, answer(stream, asked)).await);
                    drop(place);
                });
            }
            // No descriptor is free: some client ends soon.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn answer(stream: UnixStream, asked: mpsc::Sender<Asked>) -> std::io::Result<()> {
    // The socket is closed to other users; this is said twice because everything depends on it.
    if stream.peer_cred()?.uid() != nix::unistd::geteuid().as_raw() {
        return Ok(());
    }
    let since = Instant::now();
    let (reading, mut writing) = stream.into_split();
    let mut line = Vec::new();
    let mut reader = BufReader::new(reading.take(MAX_LINE));
    let read = tokio::time::timeout(PATIENCE, reader.read_until(b'\n', &mut line)).await;
    if !matches!(read, Ok(Ok(_))) || line.last() != Some(&b'\n') {
        return Ok(());
    }
    let answer = match LinkRequest::parse(&line) {
        Ok(request) => {
            let (sender, receiver) = oneshot::channel();
            if asked.send(Asked { request, answer: sender, since }).await.is_err() {
                return Ok(());
            }
            receiver.await.ok()
        }
        Err(error) => Some(LinkAnswer::Refused { why: error.to_string() }),
    };
    match answer {
        Some(answer) => writing.write_all(&answer.line()).await,
        None => Ok(()),
    }
}
