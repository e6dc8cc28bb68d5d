//! The streams of a mesh: found, or created by whoever comes first; and the proof that keys really expire.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;

use super::client::Nats;
use super::error::{NatsError, codes};
use super::inbox_consumer::InboxConsumer;
use super::records::Cas;
use crate::sys::{clock, random};

/// Keys under this token are only written to see them expire. No watch shows them.
pub(super) const PROBE: &str = "probe";
const PROBE_TTL: Duration = Duration::from_secs(1);
/// How long a key may outlive its time.
const PROBE_LIMIT: Duration = Duration::from_secs(10);
const PROBE_PAUSE: Duration = Duration::from_millis(100);

/// The buckets whose keys this process has seen expire.
static PROVEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

#[derive(Debug, Deserialize)]
struct StreamInfo {
    config: StreamConfig,
    #[serde(default)]
    created: String,
    /// The time of the answer, by the server's clock.
    #[serde(default)]
    ts: String,
}

#[derive(Debug, Deserialize)]
struct StreamConfig {
    #[serde(default)]
    allow_msg_ttl: bool,
    #[serde(default)]
    subject_delete_marker_ttl: u64,
}

impl Nats {
    /// Looks up the streams and the consumer of this machine, and creates those that do not exist.
    ///
    /// What exists is left as it is, also with other limits, so that a user without the permission to create can use it.
    pub async fn prepare(&self) -> Result<(), NatsError> {
        for (name, config) in self.layout.streams(self.options.replicas, self.options.inbox_bytes) {
            let info = match self.stream_info(&name).await? {
                Some(info) => info,
                None => self.create_stream(&name, &config).await?,
            };
            if name == self.layout.records() {
                check_expires(&name, &info.config)?;
            }
        }
        InboxConsumer::new(&self.requests, &self.layout).ensure().await
    }

    /// Writes a key that lives for a second and waits until it is gone.
    ///
    /// Older servers ignore in silence that a key shall expire, and then no lease would ever end. Once per bucket and
    /// process.
    pub async fn probe_ttl(&self) -> Result<(), NatsError> {
        let records = self.layout.records();
        let Some(info) = self.stream_info(&records).await? else {
            return Err(NatsError::NotReady { what: format!("the stream {records} does not exist") });
        };
        check_expires(&records, &info.config)?;
        let bucket = format!("{records} {}", info.created);
        if PROVEN.lock().unwrap_or_else(PoisonError::into_inner).contains(&bucket) {
            return Ok(());
        }
        let key = format!("{PROBE}.{}.{}", self.layout.machine, random::uuid().simple());
        if self.create(&key, Bytes::new(), Some(PROBE_TTL)).await? == Cas::Conflict {
            return Err(NatsError::Client { why: "two random numbers are equal".to_owned() });
        }
        let start = Instant::now();
        while self.get(&key).await?.is_some() {
            if start.elapsed() > PROBE_LIMIT {
                return Err(NatsError::TtlNotHonoured {
                    why: format!("a key for {PROBE_TTL:?} is still there after {PROBE_LIMIT:?}"),
                });
            }
            tokio::time::sleep(PROBE_PAUSE).await;
        }
        PROVEN.lock().unwrap_or_else(PoisonError::into_inner).insert(bucket);
        Ok(())
    }

    async fn stream_info(&self, name: &str) -> Result<Option<StreamInfo>, NatsError> {
        let what = format!("look up the stream {name}");
        let start = clock::now();
        let answer =
            self.requests.read::<StreamInfo>(&format!("STREAM.INFO.{name}"), &Value::Null, &what).await?;
        match answer {
            Ok(info) => {
                self.note_clock(&info.ts, start, clock::now());
                Ok(Some(info))
            }
            Err(error) if error.err_code == codes::STREAM_NOT_FOUND => Ok(None),
            Err(error) => Err(error.explained(&what, name)),
        }
    }

    async fn create_stream(&self, name: &str, config: &Value) -> Result<StreamInfo, NatsError> {
        let what = format!("create the stream {name}");
        let start = clock::now();
        let created =
            self.requests.change::<StreamInfo>(&format!("STREAM.CREATE.{name}"), config, &what).await?;
        match created {
            Ok(info) => {
                self.note_clock(&info.ts, start, clock::now());
                Ok(info)
            }
            // Another machine was faster, and wants other limits.
            Err(error) if error.err_code == codes::STREAM_NAME_IN_USE => {
                let info = self.stream_info(name).await?;
                info.ok_or_else(|| NatsError::NotReady { what: format!("the stream {name} was deleted") })
            }
            Err(error) => Err(error.explained(&what, name)),
        }
    }

    /// Compares the server's clock with the middle of the time that its answer took.
    fn note_clock(&self, server: &str, start: Timestamp, end: Timestamp) {
        let Ok(server) = server.parse::<Timestamp>() else { return };
        let middle = start + start.duration_until(end) / 2;
        let offset: SignedDuration = middle.duration_until(server);
        self.facts.lock().unwrap_or_else(PoisonError::into_inner).clock_offset = Some(offset);
    }
}

/// Refuses a bucket whose keys never expire, or do so without a watch being told.
fn check_expires(name: &str, config: &StreamConfig) -> Result<(), NatsError> {
    let why = match config {
        StreamConfig { allow_msg_ttl: false, .. } => "allow_msg_ttl",
        StreamConfig { subject_delete_marker_ttl: 0, .. } => "subject_delete_marker_ttl",
        _ => return Ok(()),
    };
    Err(NatsError::TtlNotHonoured {
        why: format!("the stream {name} exists without {why}; delete it or use another mesh"),
    })
}
