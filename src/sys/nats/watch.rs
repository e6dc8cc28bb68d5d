//! Every change of a bucket, in order, also across interruptions.
//!
//! A consumer of the engine pushes the last message of each key and then what comes. When something may be missing (a
//! number is skipped, the heartbeat stops, the connection was lost) a new consumer starts from the beginning, and what is
//! known already is left out. A key that has vanished in between without leaving a marker is reported then.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::Pin;
use std::time::Duration;

use async_nats::{Message, Subscriber};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch as state;
use tokio::time::Instant;

use super::client::Nats;
use super::connection::ServerConnection;
use super::error::NatsError;
use super::layout::{StreamLayout, nanoseconds};
use super::place::Place;
use super::prepare::PROBE;
use super::records::{Content, KeyRecord, content};
use super::requests::Requests;
use crate::sys::random;

const HEARTBEAT: Duration = Duration::from_secs(2);
/// A consumer that is silent for so long is lost.
const SILENCE: Duration = Duration::from_secs(5);
/// How long the engine keeps a consumer that nobody listens to.
const FORGOTTEN: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(250);

/// A change of the bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Put(KeyRecord),
    /// The key has no value any more. `is_expired` if its time was over; if the marker was missed, if its value had a time.
    Gone {
        key: String,
        revision: u64,
        is_expired: bool,
    },
    /// Everything that was there has been reported. Comes again after an interruption.
    CaughtUp,
}

/// All changes. An error does not end it: polled again, it tries again.
pub type Changes = Pin<Box<dyn Stream<Item = Result<Change, NatsError>> + Send>>;

impl Nats {
    /// Watches the whole bucket: first all present records, then [`Change::CaughtUp`], then what changes.
    ///
    /// While the connection is interrupted it is silent.
    pub async fn watch(&self) -> Result<Changes, NatsError> {
        let mut watcher = Watcher {
            requests: self.requests.clone(),
            layout: self.layout.clone(),
            connection: self.connection_events(),
            feed: None,
            known: BTreeMap::new(),
            last: 0,
            replay: Replay::default(),
            was_caught_up: false,
            ready: VecDeque::new(),
        };
        watcher.start().await?;
        let changes = futures_util::stream::unfold(watcher, |mut watcher| async move {
            let change = watcher.next().await;
            Some((change, watcher))
        });
        Ok(Box::pin(changes))
    }
}

/// What is known about a key that has a value.
#[derive(Debug, Clone, Copy)]
struct Known {
    revision: u64,
    expires: bool,
}

/// A consumer and what has come of it.
struct Feed {
    messages: Subscriber,
    /// The number of the last message.
    received: u64,
    heard: Instant,
}

/// A pass over everything that is there.
#[derive(Debug, Default)]
struct Replay {
    is_over: bool,
    /// The keys that were seen to have a value.
    present: BTreeSet<String>,
}

struct Watcher {
    requests: Requests,
    layout: StreamLayout,
    connection: state::Receiver<ServerConnection>,
    feed: Option<Feed>,
    known: BTreeMap<String, Known>,
    /// The last revision that was reported.
    last: u64,
    replay: Replay,
    was_caught_up: bool,
    ready: VecDeque<Change>,
}

#[derive(Debug, Deserialize)]
struct Created {
    #[serde(default)]
    num_pending: u64,
}

impl Watcher {
    async fn next(&mut self) -> Result<Change, NatsError> {
        loop {
            if let Some(change) = self.ready.pop_front() {
                return Ok(change);
            }
            let Some(feed) = &mut self.feed else {
                self.connected().await;
                if let Err(error) = self.start().await
                    && error != NatsError::Disconnected
                {
                    tokio::time::sleep(PAUSE).await;
                    return Err(error);
                }
                continue;
            };
            let silent = feed.heard + SILENCE;
            tokio::select! {
                biased;
                message = feed.messages.next() => match message {
                    Some(message) => self.receive(message).await,
                    None => return Err(NatsError::Client { why: "the connection was closed".to_owned() }),
                },
                _ = self.connection.changed() => self.feed = None,
                () = tokio::time::sleep_until(silent) => self.feed = None,
            }
        }
    }

    async fn connected(&mut self) {
        let is_there =
            |connection: &ServerConnection| matches!(connection, ServerConnection::Connected { .. });
        if self.connection.wait_for(is_there).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Starts a consumer at the beginning.
    async fn start(&mut self) -> Result<(), NatsError> {
        self.connection.mark_unchanged();
        let inbox = self.requests.client.new_inbox();
        let subscribed = self.requests.client.subscribe(inbox.clone()).await;
        let messages = subscribed.map_err(|error| NatsError::Client { why: error.to_string() })?;
        let stream = self.layout.records();
        let all = self.layout.record_subject(">");
        let name = format!("watch_{}_{}", self.layout.machine, random::uuid().simple());
        let request = json!({
            "stream_name": stream,
            "config": {
                "name": name,
                "deliver_subject": inbox,
                "deliver_policy": "last_per_subject",
                "filter_subject": all,
                "ack_policy": "none",
                "replay_policy": "instant",
                "flow_control": true,
                "idle_heartbeat": nanoseconds(HEARTBEAT),
                "inactive_threshold": nanoseconds(FORGOTTEN),
                "mem_storage": true,
                "num_replicas": 1,
            },
            "action": "create",
        });
        let what = "watch the records";
        let subject = format!("CONSUMER.CREATE.{stream}.{name}.{all}");
        let created = self.requests.read::<Created>(&subject, &request, what).await?;
        let created = created.map_err(|error| error.explained(what, &stream))?;
        self.feed = Some(Feed { messages, received: 0, heard: Instant::now() });
        self.replay = Replay::default();
        if created.num_pending == 0 {
            self.finish_replay();
        }
        Ok(())
    }

    async fn receive(&mut self, message: Message) {
        let Some(feed) = &mut self.feed else { return };
        feed.heard = Instant::now();
        if message.status.is_some() {
            let received = feed.received;
            if self.receive_status(message, received).await {
                self.feed = None;
            }
            return;
        }
        let Some(place) = message.reply.as_ref().and_then(|reply| Place::parse(reply)) else {
            self.feed = None;
            return;
        };
        if place.delivery != feed.received + 1 {
            self.feed = None;
            return;
        }
        feed.received = place.delivery;
        self.take(&message, &place);
        if place.pending == 0 && !self.replay.is_over {
            self.finish_replay();
        }
    }

    /// Answers a message about the consumer itself. Whether something is missing.
    async fn receive_status(&mut self, message: Message, received: u64) -> bool {
        let header = |name: &str| {
            message
                .headers
                .as_ref()
                .and_then(|headers| headers.get(name))
                .map(|value| value.as_str().to_owned())
        };
        // Flow control: the engine goes on when it hears that this was read.
        let stalled = header("Nats-Consumer-Stalled");
        if let Some(subject) = message.reply.as_ref().map(ToString::to_string).or(stalled) {
            drop(self.requests.client.publish(subject, Bytes::new()).await);
            return false;
        }
        let Some(sent) = header("Nats-Last-Consumer").and_then(|text| text.parse::<u64>().ok()) else {
            // Anything but a heartbeat says that the consumer is gone.
            return message.status.is_some_and(|status| status.as_u16() != 100);
        };
        // A consumer with something to deliver sends no heartbeats.
        if sent == received && !self.replay.is_over {
            self.finish_replay();
        }
        sent != received
    }

    fn take(&mut self, message: &Message, place: &Place) {
        let prefix_length = self.layout.record_subject("").len();
        let Some(key) = message.subject.as_str().get(prefix_length..) else { return };
        if key.split('.').next() == Some(PROBE) {
            return;
        }
        let (key, revision) = (key.to_owned(), place.sequence);
        let found = content(message.headers.as_ref());
        if let Content::Value { expires } = found {
            if !self.replay.is_over {
                self.replay.present.insert(key.clone());
            }
            let before = self.known.insert(key.clone(), Known { revision, expires });
            if before.is_none_or(|before| before.revision != revision) {
                self.ready.push_back(Change::Put(KeyRecord {
                    key,
                    revision,
                    value: message.payload.clone(),
                }));
            }
        } else {
            self.replay.present.remove(&key);
            let was_known = self.known.remove(&key).is_some();
            let is_expired = found == Content::Expired;
            // Before the first pass is over, a key without a value is nothing to tell. Nor is it that one has expired which
            // had none: when the marker of a deletion is too old, the engine replaces it by one of its own.
            if was_known || (self.was_caught_up && revision > self.last && !is_expired) {
                self.ready.push_back(Change::Gone { key, revision, is_expired });
            }
        }
        self.last = self.last.max(revision);
    }

    fn finish_replay(&mut self) {
        let present = std::mem::take(&mut self.replay.present);
        self.known.retain(|key, known| {
            let is_present = present.contains(key);
            if !is_present {
                let (key, revision, is_expired) = (key.clone(), known.revision, known.expires);
                self.ready.push_back(Change::Gone { key, revision, is_expired });
            }
            is_present
        });
        self.ready.push_back(Change::CaughtUp);
        self.replay.is_over = true;
        self.was_caught_up = true;
    }
}
