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
    config: Value,
    #[serde(default)]
    created: String,
    /// The time of the answer, by the server's clock.
    #[serde(default)]
    ts: String,
}

/// What decides where messages go and whether they stay. Other limits of a stream may be other ones.
const DECISIVE: [&str; 6] =
    ["subjects", "retention", "discard", "max_age", "max_msgs", "max_msgs_per_subject"];
/// The same of streams that may lose what is old.
const DECISIVE_FOR_LOSSY: [&str; 2] = ["subjects", "retention"];
/// What ours don't have: with it messages go elsewhere too, come from elsewhere, or are not confirmed.
const FOREIGN: [&str; 6] = ["mirror", "sources", "republish", "subject_transform", "sealed", "no_ack"];

impl Nats {
    /// Looks up the streams and the consumer of this machine, and creates those that do not exist.
    ///
    /// What exists is left as it is, also with other limits, so that a user without the permission to create can use it.
    /// One that would lose messages or give them to others is refused: any machine may have created it.
    pub async fn prepare(&self) -> Result<(), NatsError> {
        for (name, config) in self.layout.streams(self.options.replicas, self.options.inbox_bytes) {
            let info = match self.stream_info(&name).await? {
                Some(info) => info,
                None => self.create_stream(&name, &config).await?,
            };
            check_stream(&name, &config, &info.config)?;
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

/// Refuses a stream that does something else than `ours`.
fn check_stream(name: &str, ours: &Value, there: &Value) -> Result<(), NatsError> {
    let decisive: &[&str] = match ours["discard"] == "old" {
        true => &DECISIVE_FOR_LOSSY,
        false => &DECISIVE,
    };
    let differs = |key: &&&str| there[**key] != ours[**key];
    let is_set = |key: &&&str| !matches!(&there[**key], Value::Null | Value::Bool(false));
    match decisive.iter().find(differs).or_else(|| FOREIGN.iter().find(is_set)) {
        Some(key) => Err(NatsError::OtherStream { stream: name.to_owned(), key: (*key).to_owned() }),
        None => Ok(()),
    }
}

/// Refuses a bucket whose keys never expire, or do so without a watch being told.
fn check_expires(name: &str, config: &Value) -> Result<(), NatsError> {
    let why = if config["allow_msg_ttl"] != true {
        "allow_msg_ttl"
    } else if config["subject_delete_marker_ttl"].as_u64().unwrap_or(0) == 0 {
        "subject_delete_marker_ttl"
    } else {
        return Ok(());
    };
    Err(NatsError::TtlNotHonoured {
        why: format!("the stream {name} exists without {why}; delete it or use another mesh"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::layout::StreamLayout;
    use super::*;

    #[test]
    fn a_stream_that_loses_messages_or_gives_them_away_is_refused() {
        let layout = StreamLayout { mesh: "team".to_owned(), machine: "laptop".to_owned() };
        let [_, (name, inbox), _, (feed_name, feed)] = layout.streams(1, 1 << 30);
        let with = |ours: &Value, key: &str, value: Value| {
            let mut there = ours.clone();
            there[key] = value;
            there
        };
        assert_eq!(check_stream(&name, &inbox, &inbox), Ok(()));
        assert_eq!(check_stream(&name, &inbox, &with(&inbox, "max_bytes", json!(7))), Ok(()));
        assert_eq!(check_stream(&feed_name, &feed, &with(&feed, "max_age", json!(7))), Ok(()));
        for (key, value) in [
            ("republish", json!({ "src": ">", "dest": "_INBOX_other.>" })),
            ("discard", json!("old")),
            ("max_msgs", json!(1)),
            ("max_age", json!(1)),
            ("retention", json!("limits")),
            ("subjects", json!(["mesh.team.inbox.*.laptop"])),
            ("sources", json!([{ "name": "X" }])),
            ("no_ack", json!(true)),
        ] {
            let refused = check_stream(&name, &inbox, &with(&inbox, key, value)).unwrap_err();
            assert_eq!(refused, NatsError::OtherStream { stream: name.clone(), key: key.to_owned() });
        }
    }
}
