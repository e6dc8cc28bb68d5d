//! Takes messages from the engine in the order of the stream, whatever happens to requests and connections.
//!
//! A pull request stays open when the caller stops waiting, so that nothing is delivered to nobody. When that may have
//! happened anyway, the consumer is replaced before the next pull ([`super::inbox_consumer`]).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::{Message, Subscriber};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use serde_json::json;

use super::connection::ServerConnection;
use super::error::NatsError;
use super::inbox_consumer::{Cause, InboxConsumer, Recovered, Suspect};
use super::incoming::{DeliveryAnswer, InHand, Incoming};
use super::layout::{ACK_WAIT, MOST_IN_HAND, StreamLayout, nanoseconds};
use super::place::Place;
use super::requests::Requests;

/// Shorter waits ask only for what is there.
const SHORT: Duration = Duration::from_millis(100);
/// How much later than promised the engine may end a pull, or deliver what was given back.
const GRACE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct PullReader {
    in_hand: Arc<InHand>,
    subscription: Option<Subscription>,
    pull: Option<Pull>,
    pulls: u64,
    /// Messages that wait for older ones, or for the next call.
    buffer: BTreeMap<u64, Delivered>,
    /// Why messages may have been lost on their way.
    doubt: Option<Cause>,
    /// The connection that the subscription was made on.
    connection: u64,
    suspect: Suspect,
    not_before: Option<Instant>,
}

#[derive(Debug)]
struct Subscription {
    prefix: String,
    messages: Subscriber,
}

/// A request for messages that is not answered in full yet.
#[derive(Debug)]
struct Pull {
    number: u64,
    left: usize,
    until: Instant,
}

#[derive(Debug)]
struct Delivered {
    message: Message,
    place: Place,
    subject: String,
}

impl PullReader {
    pub(super) fn new(in_hand: Arc<InHand>) -> Self {
        Self {
            in_hand,
            subscription: None,
            pull: None,
            pulls: 0,
            buffer: BTreeMap::new(),
            doubt: Some(Cause::Process),
            connection: 1,
            suspect: Suspect::default(),
            not_before: None,
        }
    }

    /// Up to `most` messages, as soon as there is one.
    pub(super) async fn next(
        &mut self,
        requests: &Requests,
        layout: &StreamLayout,
        most: usize,
        wait: Duration,
    ) -> Result<Vec<Incoming>, NatsError> {
        let only_present = wait < SHORT;
        let deadline = Instant::now() + if only_present { requests.timeout } else { wait };
        let mut connection = requests.events.connection.subscribe();
        let mut has_pulled = false;
        loop {
            self.notice_interruption(connection.borrow_and_update().times());
            if !requests.is_connected() {
                if only_present || !wait_for_connection(&mut connection, deadline).await {
                    return Err(NatsError::Disconnected);
                }
                // The event comes before the client itself is ready.
                tokio::time::sleep(PAUSE.min(deadline.saturating_duration_since(Instant::now()))).await;
                continue;
            }
            self.subscribe(requests).await?;
            self.settle_doubt(requests, layout).await?;
            self.receive_present();
            let ready = self.take_ready(requests, layout, most);
            let now = Instant::now();
            if !ready.is_empty() || now >= deadline || (only_present && has_pulled && self.pull.is_none()) {
                return Ok(ready);
            }
            if let Some(moment) = self.not_before.filter(|moment| *moment > now) {
                if only_present {
                    return Ok(ready);
                }
                tokio::time::sleep(deadline.min(moment).saturating_duration_since(now)).await;
                continue;
            }
            if self.doubt.is_some() {
                continue;
            }
            if self.pull.is_none() {
                self.send_pull(requests, layout, most, (!only_present).then_some(deadline - now)).await?;
                has_pulled = true;
            }
            self.wait_for_message(&mut connection, deadline).await;
        }
    }

    /// After a new connection, what was on its way is lost.
    fn notice_interruption(&mut self, connection: u64) {
        if connection != self.connection {
            self.connection = connection;
            self.doubt.get_or_insert(Cause::ServerConnection);
        }
    }

    async fn subscribe(&mut self, requests: &Requests) -> Result<(), NatsError> {
        if self.subscription.is_none() {
            let prefix = requests.client.new_inbox();
            let messages = requests.client.subscribe(format!("{prefix}.*")).await;
            let messages = messages.map_err(|error| NatsError::Client { why: error.to_string() })?;
            self.subscription = Some(Subscription { prefix, messages });
        }
        Ok(())
    }

    async fn settle_doubt(&mut self, requests: &Requests, layout: &StreamLayout) -> Result<(), NatsError> {
        if std::mem::take(&mut self.in_hand.lock().is_doubtful) {
            self.doubt.get_or_insert(Cause::ServerConnection);
        }
        let Some(cause) = self.doubt else { return Ok(()) };
        self.pull = None;
        match InboxConsumer::new(requests, layout).recover(cause).await? {
            Recovered::InOrder(suspect) => {
                self.suspect = suspect;
                self.not_before = None;
            }
            Recovered::MustWait => self.not_before = Some(Instant::now() + ACK_WAIT + PAUSE),
        }
        // Whatever had no answer comes again, from the oldest on.
        self.discard_present();
        self.buffer.clear();
        let mut account = self.in_hand.lock();
        account.held.clear();
        account.returned.clear();
        self.doubt = None;
        Ok(())
    }

    fn discard_present(&mut self) {
        let Some(subscription) = &mut self.subscription else { return };
        while subscription.messages.next().now_or_never().flatten().is_some() {}
    }

    fn receive_present(&mut self) {
        while let Some(message) = self
            .subscription
            .as_mut()
            .and_then(|subscription| subscription.messages.next().now_or_never().flatten())
        {
            self.receive(message);
        }
        let now = Instant::now();
        if self.pull.as_ref().is_some_and(|pull| now > pull.until + GRACE) {
            // The end of the pull was not told, so a message may be lost as well.
            self.pull = None;
            self.doubt.get_or_insert(Cause::ServerConnection);
        }
        let overdue = |moment: &Instant| now > *moment + GRACE + ACK_WAIT;
        if self.in_hand.lock().returned.values().any(overdue) {
            self.doubt.get_or_insert(Cause::ServerConnection);
        }
    }

    fn receive(&mut self, message: Message) {
        if let Some(status) = message.status {
            self.receive_status(&message, status.as_u16());
            return;
        }
        let subject = message.reply.as_ref().map(ToString::to_string).unwrap_or_default();
        let Some(place) = Place::parse(&subject) else { return };
        if let Some(pull) = &mut self.pull {
            pull.left = pull.left.saturating_sub(1);
            if pull.left == 0 {
                self.pull = None;
            }
        }
        self.in_hand.lock().returned.remove(&place.sequence);
        self.buffer.insert(place.sequence, Delivered { message, place, subject });
    }

    fn receive_status(&mut self, message: &Message, status: u16) {
        let number = message.subject.rsplit('.').next().and_then(|token| token.parse::<u64>().ok());
        let is_current = self.pull.as_ref().is_some_and(|pull| Some(pull.number) == number);
        if !is_current || status == 100 {
            return;
        }
        self.pull = None;
        // 404: nothing there. 408: the time is over. Anything else ends a pull early, perhaps with messages on their way.
        let is_regular = matches!(status, 404 | 408)
            || message.description.as_deref().is_some_and(|text| text.contains("Batch Completed"));
        if !is_regular {
            self.doubt.get_or_insert(Cause::ServerConnection);
        }
    }

    /// Hands out messages that no older one is missing before.
    fn take_ready(&mut self, requests: &Requests, layout: &StreamLayout, most: usize) -> Vec<Incoming> {
        let mut ready = Vec::new();
        let mut account = self.in_hand.lock();
        while ready.len() < most {
            let Some((&sequence, _)) = self.buffer.first_key_value() else { break };
            if account.returned.first_key_value().is_some_and(|(&returned, _)| returned < sequence) {
                break;
            }
            let Some((_, delivered)) = self.buffer.pop_first() else { break };
            account.held.insert(sequence);
            let from_earlier = if sequence == self.suspect.sequence { self.suspect.tries } else { 0 };
            let answer = DeliveryAnswer {
                requests: requests.clone(),
                layout: layout.clone(),
                subject: delivered.subject,
                sequence,
                in_hand: self.in_hand.clone(),
                is_given: false,
            };
            ready.push(Incoming {
                from_machine: delivered.message.subject.rsplit('.').next().unwrap_or_default().to_owned(),
                bytes: delivered.message.payload,
                sequence,
                tries: delivered.place.tries + from_earlier,
                stored_at: delivered.place.stored_at,
                answer,
            });
        }
        ready
    }

    /// Asks for messages: for those that come within `wait`, or only for those that are there.
    async fn send_pull(
        &mut self,
        requests: &Requests,
        layout: &StreamLayout,
        most: usize,
        wait: Option<Duration>,
    ) -> Result<(), NatsError> {
        let Some(subscription) = &self.subscription else { return Ok(()) };
        let batch = most.clamp(1, MOST_IN_HAND);
        let request = match wait {
            Some(wait) => json!({ "batch": batch, "expires": nanoseconds(wait.max(SHORT)) }),
            None => json!({ "batch": batch, "no_wait": true }),
        };
        self.pulls += 1;
        let reply = format!("{}.{}", subscription.prefix, self.pulls);
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{}.{}", layout.inbox(), layout.inbox_consumer());
        let sent = requests.client.publish_with_reply(subject, reply, Bytes::from(request.to_string())).await;
        sent.map_err(|error| NatsError::Client { why: error.to_string() })?;
        let until = Instant::now() + wait.unwrap_or(Duration::ZERO).max(SHORT);
        self.pull = Some(Pull { number: self.pulls, left: batch, until });
        Ok(())
    }

    async fn wait_for_message(
        &mut self,
        connection: &mut tokio::sync::watch::Receiver<ServerConnection>,
        deadline: Instant,
    ) {
        let Some(subscription) = &mut self.subscription else { return };
        let overdue = self.pull.as_ref().map_or(deadline, |pull| pull.until + GRACE);
        let moment = deadline.min(overdue + PAUSE);
        let message = tokio::select! {
            message = subscription.messages.next() => message,
            _ = connection.changed() => None,
            () = tokio::time::sleep_until(moment.into()) => None,
        };
        if let Some(message) = message {
            self.receive(message);
        }
    }
}

/// Whether there is a connection before the deadline.
async fn wait_for_connection(
    connection: &mut tokio::sync::watch::Receiver<ServerConnection>,
    deadline: Instant,
) -> bool {
    let is_there = |state: &ServerConnection| matches!(state, ServerConnection::Connected { .. });
    let found = tokio::time::timeout_at(deadline.into(), connection.wait_for(is_there)).await;
    matches!(found, Ok(Ok(_)))
}
