//! Presence: said to whoever listens at this moment, kept nowhere.

use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};

use super::client::Nats;
use super::error::NatsError;

/// What machines say, with who says it. Ends when the connection is closed.
pub type PresenceMessages = Pin<Box<dyn Stream<Item = (String, Bytes)> + Send>>;

impl Nats {
    /// The largest message that the server takes, in bytes.
    pub fn largest_message(&self) -> usize {
        self.requests.client.max_payload()
    }

    /// Tells the other machines something. It may be lost.
    pub async fn say_presence(&self, bytes: Bytes) -> Result<(), NatsError> {
        if !self.is_connected() {
            return Err(NatsError::Disconnected);
        }
        let (size, limit) = (bytes.len(), self.requests.client.max_payload());
        if size > limit {
            return Err(NatsError::TooLarge { size, limit });
        }
        let subject = self.layout.presence_subject(&self.layout.machine);
        let said = self.requests.client.publish(subject, bytes).await;
        said.map_err(|error| NatsError::Client { why: error.to_string() })
    }

    /// What machines say from now on, this one included.
    pub async fn hear_presence(&self) -> Result<PresenceMessages, NatsError> {
        let subject = self.layout.presence_subject("*");
        let denied = self.requests.events.denied.subscribe();
        let heard = self.requests.client.subscribe(subject.clone()).await;
        let heard = heard.map_err(|error| NatsError::Client { why: error.to_string() })?;
        // The server says nothing when it has heard this; it answers the next question after that.
        self.requests.barrier(&subject, denied).await?;
        Ok(Box::pin(heard.map(|message| {
            let machine = message.subject.rsplit('.').next().unwrap_or_default().to_owned();
            (machine, message.payload)
        })))
    }
}
