//! Records under keys, changed only by who knows the last revision.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::RawMessage;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use super::client::Nats;
use super::error::{NatsError, codes};
use super::layout::MARKER_TTL;
use super::options::check_key;

const EXPECTED_REVISION: &str = "Nats-Expected-Last-Subject-Sequence";
const OPERATION: &str = "KV-Operation";
const MARKER_REASON: &str = "Nats-Marker-Reason";
const TTL: &str = "Nats-TTL";
/// How often `create` tries again when a key changes under its hands.
const CREATE_TRIES: usize = 4;

/// A key with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    pub key: String,
    /// Grows with each change of any key; it is the fencing token.
    pub revision: u64,
    pub value: Bytes,
}

/// What became of a change that depends on a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Cas {
    /// The key has this revision now.
    Done(u64),
    /// Somebody else has changed the key; nothing was done.
    Conflict,
}

/// Whether a message in the bucket is a value or says that there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Value { expires: bool },
    Deleted,
    Expired,
}

#[derive(Debug, Deserialize)]
struct Found {
    message: RawMessage,
}

impl Nats {
    /// The record, as the leader of the bucket has it.
    pub async fn get(&self, key: &str) -> Result<Option<KeyRecord>, NatsError> {
        check_key(key)?;
        let Some(message) = self.last_message(key).await? else { return Ok(None) };
        Ok(match content(Some(&message.headers)) {
            Content::Value { .. } => {
                Some(KeyRecord { key: key.to_owned(), revision: message.sequence, value: message.payload })
            }
            Content::Deleted | Content::Expired => None,
        })
    }

    /// Writes a key that has no value, because it never had one or because that was deleted or has expired.
    pub async fn create(&self, key: &str, value: Bytes, ttl: Option<Duration>) -> Result<Cas, NatsError> {
        check_key(key)?;
        let mut revision = 0;
        for _ in 0..CREATE_TRIES {
            if let Cas::Done(revision) = self.write(key, value.clone(), revision, ttl, None).await? {
                return Ok(Cas::Done(revision));
            }
            revision = match self.last_message(key).await? {
                None => 0,
                Some(last) => match content(Some(&last.headers)) {
                    Content::Value { .. } => return Ok(Cas::Conflict),
                    Content::Deleted | Content::Expired => last.sequence,
                },
            };
        }
        Ok(Cas::Conflict)
    }

    /// Writes a key whose last revision is `revision`. Without a `ttl` the value stays for ever, also if the last had one.
    pub async fn update(
        &self,
        key: &str,
        value: Bytes,
        revision: u64,
        ttl: Option<Duration>,
    ) -> Result<Cas, NatsError> {
        check_key(key)?;
        self.write(key, value, revision, ttl, None).await
    }

    /// Removes a key whose last revision is `revision`.
    pub async fn delete(&self, key: &str, revision: u64) -> Result<Cas, NatsError> {
        check_key(key)?;
        // The marker goes too, after the time for which those of expired keys are kept.
        self.write(key, Bytes::new(), revision, Some(MARKER_TTL), Some("DEL")).await
    }

    async fn write(
        &self,
        key: &str,
        value: Bytes,
        revision: u64,
        ttl: Option<Duration>,
        operation: Option<&str>,
    ) -> Result<Cas, NatsError> {
        let what = format!("write the key {key}");
        let mut headers = HeaderMap::new();
        headers.insert(EXPECTED_REVISION, revision.to_string());
        if let Some(ttl) = ttl {
            headers.insert(TTL, ttl_text(ttl));
        }
        if let Some(operation) = operation {
            headers.insert(OPERATION, operation);
        }
        match self.requests.store(&self.layout.record_subject(key), headers, value, &what).await? {
            Ok(stored) => Ok(Cas::Done(stored.seq)),
            Err(error) if error.is_conflict() => Ok(Cas::Conflict),
            Err(error) => Err(error.explained(&what, &self.layout.records())),
        }
    }

    async fn last_message(&self, key: &str) -> Result<Option<StreamMessage>, NatsError> {
        let what = format!("read the key {key}");
        let records = self.layout.records();
        let request = json!({ "last_by_subj": self.layout.record_subject(key) });
        match self.requests.read::<Found>(&format!("STREAM.MSG.GET.{records}"), &request, &what).await? {
            Ok(found) => StreamMessage::try_from(found.message)
                .map(Some)
                .map_err(|error| NatsError::Malformed { what: format!("the key {key}: {error}") }),
            Err(error) if error.err_code == codes::NO_MESSAGE_FOUND => Ok(None),
            Err(error) => Err(error.explained(&what, &records)),
        }
    }
}

/// What a message with these headers means for its key.
pub(super) fn content(headers: Option<&HeaderMap>) -> Content {
    let header =
        |name: &str| headers.and_then(|headers| headers.get(name)).map(|value| value.as_str().to_owned());
    if matches!(header(OPERATION).as_deref(), Some("DEL" | "PURGE")) {
        return Content::Deleted;
    }
    match header(MARKER_REASON).as_deref() {
        Some("MaxAge") => Content::Expired,
        Some(_) => Content::Deleted,
        None => Content::Value { expires: header(TTL).is_some() },
    }
}

/// Whole seconds, rounded up: the server takes no less than one.
fn ttl_text(ttl: Duration) -> String {
    let seconds = ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0);
    format!("{}s", seconds.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_to_live_is_never_shortened() {
        assert_eq!(ttl_text(Duration::ZERO), "1s");
        assert_eq!(ttl_text(Duration::from_millis(1001)), "2s");
        assert_eq!(ttl_text(Duration::from_secs(30)), "30s");
    }

    #[test]
    fn markers_are_told_from_values() {
        let with = |name: &str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value);
            content(Some(&headers))
        };
        assert_eq!(content(None), Content::Value { expires: false });
        assert_eq!(with("Nats-TTL", "30s"), Content::Value { expires: true });
        assert_eq!(with("KV-Operation", "DEL"), Content::Deleted);
        assert_eq!(with("KV-Operation", "PURGE"), Content::Deleted);
        assert_eq!(with("KV-Operation", "PUT"), Content::Value { expires: false });
        assert_eq!(with("Nats-Marker-Reason", "MaxAge"), Content::Expired);
        assert_eq!(with("Nats-Marker-Reason", "Remove"), Content::Deleted);
    }
}
