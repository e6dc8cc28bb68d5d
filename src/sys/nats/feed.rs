//! The feed: what has happened, for everybody, for a while.

use std::time::Duration;

use async_nats::{Message, Subscriber};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::client::Nats;
use super::error::NatsError;
use super::inbox::Stored;
use super::layout::{StreamLayout, nanoseconds};
use super::place::Place;
use super::requests::Requests;
use crate::sys::random;

/// How long the engine keeps a consumer that nobody asks for entries.
const FORGOTTEN: Duration = Duration::from_secs(60);
/// How much later than promised the engine may end a pull.
const GRACE: Duration = Duration::from_secs(5);
/// How long an entry that follows another may be on its way.
const TOGETHER: Duration = Duration::from_millis(20);

/// An entry of the feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedEntry {
    pub machine: String,
    pub sequence: u64,
    pub bytes: Bytes,
    /// When it was stored, by the server's clock.
    pub at: Timestamp,
}

/// What a [`FeedReader`] was given.
#[derive(Debug, Default)]
pub struct FeedEntries {
    pub entries: Vec<FeedEntry>,
    /// How many entries before these the server has removed.
    pub removed: u64,
    /// The stream was made anew since: its numbers have begun again.
    pub is_anew: bool,
}

/// The entries that the stream has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct FeedRange {
    #[serde(rename = "first_seq")]
    pub first: u64,
    #[serde(rename = "last_seq")]
    pub last: u64,
}

#[derive(Debug, Deserialize)]
struct FeedInfo {
    state: FeedRange,
}

/// Reads the feed in its order, each entry once, also across interruptions.
#[derive(Debug)]
pub struct FeedReader {
    requests: Requests,
    layout: StreamLayout,
    /// The number of the last entry that was given.
    last: u64,
    consumer: Option<FeedConsumer>,
}

/// A consumer that the engine forgets by itself.
#[derive(Debug)]
struct FeedConsumer {
    name: String,
    prefix: String,
    messages: Subscriber,
    /// The connection that it was made on.
    connection: u64,
    /// The number of the last delivery.
    delivered: u64,
    pulls: u64,
    pull: Option<Pull>,
}

/// A request for entries that is not answered in full yet.
#[derive(Debug)]
struct Pull {
    left: usize,
    until: Instant,
}

impl Nats {
    /// Adds an entry to the feed; returns when it is stored.
    pub async fn publish_feed(&self, id: &str, bytes: Bytes) -> Result<Stored, NatsError> {
        let subject = self.layout.feed_subject(&self.layout.machine);
        self.store_with_id(&subject, id, bytes, &self.layout.feed()).await
    }

    /// Which entries the server has.
    pub async fn feed_range(&self) -> Result<FeedRange, NatsError> {
        range(&self.requests, &self.layout).await
    }

    /// A reader of the entries after the one with that number. 0 is before all.
    pub fn read_feed(&self, after: u64) -> FeedReader {
        FeedReader {
            requests: self.requests.clone(),
            layout: self.layout.clone(),
            last: after,
            consumer: None,
        }
    }
}

impl FeedReader {
    /// The number of the last entry that was given.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Up to `most` entries: as soon as there is one, or none after `wait`.
    pub async fn next(&mut self, most: usize, wait: Duration) -> Result<FeedEntries, NatsError> {
        let mut given = FeedEntries::default();
        let deadline = Instant::now() + wait;
        let mut events = self.requests.events.connection.subscribe();
        let connection = events.borrow_and_update().times();
        if !self.requests.is_connected() {
            return Err(NatsError::Disconnected);
        }
        if self.consumer.as_ref().is_none_or(|consumer| consumer.connection != connection) {
            self.consumer = None;
            let range = range(&self.requests, &self.layout).await?;
            if range.last < self.last {
                given.is_anew = true;
                self.last = 0;
            }
            self.consumer = Some(self.create(connection).await?);
        }
        let Some(consumer) = &mut self.consumer else { return Ok(given) };
        let mut is_sound = true;
        while given.entries.len() < most {
            let now = Instant::now();
            if consumer.pull.as_ref().is_some_and(|pull| now > pull.until + GRACE) {
                // The end of the pull was not told.
                is_sound = false;
                break;
            }
            if consumer.pull.is_none() {
                if !given.entries.is_empty() || now >= deadline {
                    break;
                }
                consumer.pull(&self.requests, &self.layout.feed(), most, deadline - now).await?;
            }
            let pause = if given.entries.is_empty() { deadline + GRACE - now } else { TOGETHER };
            let message = tokio::select! {
                message = tokio::time::timeout(pause, consumer.messages.next()) => message,
                // What was on its way is lost.
                _ = events.changed() => {
                    is_sound = false;
                    break;
                }
            };
            let Ok(message) = message else {
                is_sound = !given.entries.is_empty();
                break;
            };
            let Some(message) = message else {
                self.consumer = None;
                return if given.entries.is_empty() { Err(NatsError::Disconnected) } else { Ok(given) };
            };
            match consumer.receive(&message) {
                Received::Entry(place) => {
                    if given.entries.is_empty() {
                        given.removed = place.sequence.saturating_sub(self.last + 1);
                    }
                    let is_next = place.sequence > self.last;
                    self.last = self.last.max(place.sequence);
                    given.entries.extend(entry(&message, place).filter(|_| is_next));
                }
                Received::End => {}
                Received::Unsound => {
                    is_sound = false;
                    break;
                }
            }
        }
        if !is_sound {
            self.consumer = None;
        }
        Ok(given)
    }

    async fn create(&self, connection: u64) -> Result<FeedConsumer, NatsError> {
        let what = "read the feed";
        let stream = self.layout.feed();
        let name = format!("feed_{}_{}", self.layout.machine, random::uuid().simple());
        let filter = self.layout.feed_subject("*");
        let prefix = self.requests.client.new_inbox();
        let messages = self.requests.client.subscribe(format!("{prefix}.*")).await;
        let messages = messages.map_err(|error| NatsError::Client { why: error.to_string() })?;
        let request = json!({
            "stream_name": stream,
            "config": {
                "name": name,
                "filter_subject": filter,
                "deliver_policy": "by_start_sequence",
                "opt_start_seq": self.last.saturating_add(1),
                "ack_policy": "none",
                "replay_policy": "instant",
                "inactive_threshold": nanoseconds(FORGOTTEN),
                "mem_storage": true,
                "num_replicas": 1,
            },
            "action": "create",
        });
        let subject = format!("CONSUMER.CREATE.{stream}.{name}.{filter}");
        let created = self.requests.read::<Value>(&subject, &request, what).await?;
        created.map_err(|error| error.explained(what, &stream))?;
        Ok(FeedConsumer { name, prefix, messages, connection, delivered: 0, pulls: 0, pull: None })
    }
}

/// What a message to the reader is.
enum Received {
    Entry(Place),
    /// The end of a pull.
    End,
    /// Something may be missing.
    Unsound,
}

impl FeedConsumer {
    async fn pull(
        &mut self,
        requests: &Requests,
        stream: &str,
        most: usize,
        wait: Duration,
    ) -> Result<(), NatsError> {
        // What the earlier pull still said is of no interest.
        while self.messages.next().now_or_never().flatten().is_some() {}
        self.pulls += 1;
        let reply = format!("{}.{}", self.prefix, self.pulls);
        let request = json!({ "batch": most, "expires": nanoseconds(wait) }).to_string();
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{stream}.{}", self.name);
        let sent = requests.client.publish_with_reply(subject, reply, Bytes::from(request)).await;
        sent.map_err(|error| NatsError::Client { why: error.to_string() })?;
        self.pull = Some(Pull { left: most, until: Instant::now() + wait });
        Ok(())
    }

    fn receive(&mut self, message: &Message) -> Received {
        if let Some(status) = message.status {
            let number = message.subject.rsplit('.').next().and_then(|token| token.parse::<u64>().ok());
            return match status.as_u16() {
                100 => Received::End,
                _ if number != Some(self.pulls) => Received::End,
                404 | 408 => {
                    self.pull = None;
                    Received::End
                }
                _ => Received::Unsound,
            };
        }
        let Some(place) = message.reply.as_ref().and_then(|reply| Place::parse(reply)) else {
            return Received::End;
        };
        if place.delivery != self.delivered + 1 {
            return Received::Unsound;
        }
        self.delivered = place.delivery;
        if let Some(pull) = &mut self.pull {
            pull.left = pull.left.saturating_sub(1);
            if pull.left == 0 {
                self.pull = None;
            }
        }
        Received::Entry(place)
    }
}

async fn range(requests: &Requests, layout: &StreamLayout) -> Result<FeedRange, NatsError> {
    let (what, stream) = ("look up the feed", layout.feed());
    let info = requests.read::<FeedInfo>(&format!("STREAM.INFO.{stream}"), &Value::Null, what).await?;
    Ok(info.map_err(|error| error.explained(what, &stream))?.state)
}

fn entry(message: &Message, place: Place) -> Option<FeedEntry> {
    Some(FeedEntry {
        machine: message.subject.rsplit('.').next()?.to_owned(),
        sequence: place.sequence,
        bytes: message.payload.clone(),
        at: place.stored_at,
    })
}
