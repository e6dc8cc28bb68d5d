//! The streams of a mesh, as its machines create them.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, Consumer, pull};
use async_nats::jetstream::kv::{self, Store};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, Stream};
use async_nats::jetstream::{Context, publish::PublishAck};
use async_nats::{Client, HeaderMap, HeaderValue, header};

use super::config_server::MESH;

/// The streams, through the eyes of one machine.
pub struct Layout {
    pub machine: String,
    pub client: Client,
    pub context: Context,
    pub bucket: Store,
    pub inbox: Stream,
    pub dead: Stream,
    pub feed: Stream,
}

impl Layout {
    /// Creates what is not there. In a cluster that has just started that may fail for a moment.
    pub async fn open(client: Client, machine: &str, replicas: usize) -> Result<Self, String> {
        let context = async_nats::jetstream::new(client.clone());
        let bucket = kv::Config {
            bucket: format!("mesh_{MESH}"),
            history: 1,
            num_replicas: replicas,
            limit_markers: Some(Duration::from_secs(10)),
            ..Default::default()
        };
        let bucket = context.create_key_value(bucket).await.map_err(|error| error.to_string())?;
        let stream = |name: &str, subjects: &str| Config {
            name: format!("MESH_{MESH}_{name}"),
            subjects: vec![format!("mesh.{MESH}.{subjects}")],
            num_replicas: replicas,
            discard: DiscardPolicy::New,
            deny_delete: true,
            deny_purge: true,
            ..Default::default()
        };
        let inbox = Config { retention: RetentionPolicy::WorkQueue, ..stream("INBOX", "inbox.*.*") };
        let feed = Config { discard: DiscardPolicy::Old, ..stream("FEED", "feed.*") };
        let create =
            async |config| context.get_or_create_stream(config).await.map_err(|error| error.to_string());
        let inbox = create(inbox).await?;
        let dead = create(stream("DEAD", "dead.*")).await?;
        let feed = create(feed).await?;
        Ok(Self { machine: machine.to_string(), client, context, bucket, inbox, dead, feed })
    }

    /// The durable consumer of this machine.
    pub async fn inbox_consumer(&self) -> Consumer<pull::Config> {
        let config = pull::Config {
            durable_name: Some(format!("inbox_{}", self.machine)),
            filter_subject: format!("mesh.{MESH}.inbox.{}.*", self.machine),
            ack_policy: AckPolicy::Explicit,
            ..Default::default()
        };
        self.inbox.create_consumer(config).await.unwrap()
    }

    /// Sends in the name of `from`.
    pub async fn send(&self, to: &str, from: &str, text: &str) -> Result<PublishAck, String> {
        self.publish(&format!("mesh.{MESH}.inbox.{to}.{from}"), HeaderMap::new(), text).await
    }

    /// Writes a key of the bucket with a TTL, if its revision is the expected one.
    pub async fn write(&self, key: &str, text: &str, revision: u64, ttl: &str) -> Result<u64, String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, HeaderValue::from(revision));
        headers.insert(header::NATS_MESSAGE_TTL, ttl);
        self.publish(&key_subject(key), headers, text).await.map(|ack| ack.sequence)
    }

    pub async fn publish(&self, subject: &str, headers: HeaderMap, text: &str) -> Result<PublishAck, String> {
        let sent = self.context.publish_with_headers(subject.to_string(), headers, text.to_string().into());
        sent.await.map_err(|error| error.to_string())?.await.map_err(|error| error.to_string())
    }

    pub async fn count(&self, stream: &Stream) -> u64 {
        stream.get_info().await.unwrap().state.messages
    }
}

pub fn key_subject(key: &str) -> String {
    format!("$KV.mesh_{MESH}.{key}")
}
