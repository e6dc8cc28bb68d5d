//! Messages between machines: stored until their machine has taken them.

use std::time::Duration;

use async_nats::HeaderMap;
use bytes::Bytes;

use super::client::Nats;
use super::error::{NatsError, codes};
use super::incoming::Incoming;
use super::options::{check_id, check_machine};

/// The receipt of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// The number of the message in the stream.
    pub sequence: u64,
    /// Whether a message with this id was stored before; then this one was not.
    pub is_duplicate: bool,
}

impl Nats {
    /// Stores a message for a machine; returns when it is safe. One with the same id within two minutes is stored once.
    pub async fn publish(&self, to_machine: &str, id: &str, bytes: Bytes) -> Result<Stored, NatsError> {
        check_machine(to_machine)?;
        let subject = self.layout.inbox_subject(to_machine, &self.layout.machine);
        self.store_with_id(&subject, id, bytes, &self.layout.inbox()).await
    }

    /// Up to `most` messages for this machine in the order in which they were stored: as soon as there is one, or none
    /// after `wait`.
    ///
    /// After an interruption, messages in hand come again; then their earlier answers may be reported as unknown.
    pub async fn next_messages(&self, most: usize, wait: Duration) -> Result<Vec<Incoming>, NatsError> {
        self.reader.lock().await.next(&self.requests, &self.layout, most, wait).await
    }

    pub(super) async fn store_with_id(
        &self,
        subject: &str,
        id: &str,
        bytes: Bytes,
        stream: &str,
    ) -> Result<Stored, NatsError> {
        check_id(id)?;
        let what = format!("store the message {id}");
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", id);
        headers.insert("Nats-Expected-Stream", stream);
        let size = bytes.len();
        let stored = self.requests.store(subject, headers, bytes, &what).await?;
        let stored = stored.map_err(|error| match error.err_code {
            // The stream says only that its limit is lower.
            codes::TOO_LARGE_FOR_STREAM => NatsError::TooLarge { size, limit: size.saturating_sub(1) },
            _ => error.explained(&what, stream),
        })?;
        Ok(Stored { sequence: stored.seq, is_duplicate: stored.is_duplicate })
    }
}
