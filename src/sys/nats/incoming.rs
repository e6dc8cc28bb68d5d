//! A message in hand, which must be answered, and the account of those that are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::json;

use super::error::NatsError;
use super::layout::{ACK_WAIT, StreamLayout, nanoseconds};
use super::requests::{Requests, unknown};

/// A message for this machine. Dropped without an answer, it comes again after the wait of the engine.
#[derive(Debug)]
pub struct Incoming {
    pub from_machine: String,
    pub bytes: Bytes,
    /// Its number among all messages of the mesh.
    pub sequence: u64,
    /// How often it was delivered, this time included.
    pub tries: u64,
    /// When it was stored, by the server's clock.
    pub stored_at: Timestamp,
    pub(super) answer: DeliveryAnswer,
}

/// Where to answer, and whether that was done.
#[derive(Debug)]
pub(super) struct DeliveryAnswer {
    pub(super) requests: Requests,
    pub(super) layout: StreamLayout,
    pub(super) subject: String,
    pub(super) sequence: u64,
    pub(super) in_hand: Arc<InHand>,
    pub(super) is_given: bool,
}

impl Incoming {
    /// Removes the message from the stream; returns when the engine has confirmed it.
    ///
    /// After [`NatsError::Unknown`] it may be removed or come again.
    pub async fn done(mut self) -> Result<(), NatsError> {
        self.answer.give(Bytes::from_static(b"+ACK"), "acknowledge a message").await?;
        self.answer.settle(None);
        Ok(())
    }

    /// Asks for the message again, not before `delay` has passed. Later messages wait for it.
    ///
    /// To keep the order, call it for each later message in hand as well.
    pub async fn again(mut self, delay: Duration) -> Result<(), NatsError> {
        let request = format!("-NAK {}", json!({ "delay": nanoseconds(delay) }));
        self.answer.give(Bytes::from(request), "ask for a message again").await?;
        self.answer.settle(Some(delay));
        Ok(())
    }

    /// Puts the message aside with a reason and removes it from the inbox. It is in both for a moment, and never in none.
    pub async fn dead_letter(self, why: &str) -> Result<(), NatsError> {
        let what = "put a message aside";
        let DeliveryAnswer { requests, layout, .. } = &self.answer;
        let why: String =
            why.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).take(512).collect();
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", format!("dead-{}-{}", self.sequence, self.stored_at.as_nanosecond()));
        headers.insert("Ravenry-Why", why);
        headers.insert("Ravenry-From", self.from_machine.as_str());
        headers.insert("Ravenry-Sequence", self.sequence.to_string());
        let stored = requests.store(&layout.dead_subject(), headers, self.bytes.clone(), what).await?;
        stored.map_err(|error| error.explained(what, &layout.dead()))?;
        self.done().await
    }
}

impl DeliveryAnswer {
    async fn give(&self, answer: Bytes, what: &str) -> Result<(), NatsError> {
        let answered = self.requests.request(&self.subject, None, answer).await;
        answered.map(drop).map_err(|failure| {
            // Nobody knows now what the engine counts as delivered.
            self.in_hand.lock().is_doubtful = true;
            unknown(failure, what)
        })
    }

    fn settle(&mut self, delay: Option<Duration>) {
        self.is_given = true;
        let mut state = self.in_hand.lock();
        state.held.remove(&self.sequence);
        if let Some(delay) = delay {
            state.returned.insert(self.sequence, Instant::now() + delay);
        }
    }
}

impl Drop for DeliveryAnswer {
    fn drop(&mut self) {
        if self.is_given {
            return;
        }
        let mut state = self.in_hand.lock();
        // After the consumer was replaced, this delivery is no longer counted.
        if state.held.remove(&self.sequence) {
            state.returned.insert(self.sequence, Instant::now() + ACK_WAIT);
        }
    }
}

/// Which messages this process has, or has given back.
#[derive(Debug, Default)]
pub(super) struct InHand(Mutex<Account>);

#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) held: BTreeSet<u64>,
    /// Given back, with when they come again. Nothing that is newer is handed out before.
    pub(super) returned: BTreeMap<u64, Instant>,
    /// Whether an answer may have been lost.
    pub(super) is_doubtful: bool,
}

impl InHand {
    pub(super) fn lock(&self) -> MutexGuard<'_, Account> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
