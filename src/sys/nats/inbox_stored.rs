//! Messages that another machine has not taken yet, for an admin who gives that machine up.

use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::RawMessage;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::Nats;
use super::error::{NatsError, codes};
use super::options::check_machine;

/// A message that waits for a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredForMachine {
    pub sequence: u64,
    pub from_machine: String,
    pub bytes: Bytes,
}

#[derive(Debug, Deserialize)]
struct StreamInfo {
    #[serde(default)]
    state: StreamState,
}

#[derive(Debug, Default, Deserialize)]
struct StreamState {
    #[serde(default)]
    subjects: Option<std::collections::BTreeMap<String, usize>>,
}

#[derive(Debug, Deserialize)]
struct Found {
    message: RawMessage,
}

impl Nats {
    /// How much waits for that machine: messages and receipts.
    pub async fn count_stored(&self, machine: &str) -> Result<usize, NatsError> {
        check_machine(machine)?;
        let what = "count what waits for a machine";
        let stream = self.layout.inbox();
        let request = json!({ "subjects_filter": self.layout.inbox_subject(machine, "*") });
        let info = self.requests.read::<StreamInfo>(&format!("STREAM.INFO.{stream}"), &request, what).await?;
        let info = info.map_err(|error| error.explained(what, &stream))?;
        Ok(info.state.subjects.unwrap_or_default().values().sum())
    }

    /// The first one that waits for that machine, with that number or a later one.
    pub async fn next_stored(
        &self,
        machine: &str,
        sequence: u64,
    ) -> Result<Option<StoredForMachine>, NatsError> {
        check_machine(machine)?;
        let what = "read what waits for a machine";
        let stream = self.layout.inbox();
        let filter = self.layout.inbox_subject(machine, "*");
        let request = json!({ "seq": sequence.max(1), "next_by_subj": filter });
        match self.requests.read::<Found>(&format!("STREAM.MSG.GET.{stream}"), &request, what).await? {
            Ok(found) => {
                let message = StreamMessage::try_from(found.message)
                    .map_err(|error| NatsError::Malformed { what: format!("a stored message: {error}") })?;
                Ok(Some(StoredForMachine {
                    sequence: message.sequence,
                    from_machine: message.subject.rsplit('.').next().unwrap_or_default().to_owned(),
                    bytes: message.payload,
                }))
            }
            Err(error) if error.err_code == codes::NO_MESSAGE_FOUND => Ok(None),
            Err(error) => Err(error.explained(what, &stream)),
        }
    }

    /// Removes the message with that number, unless it is gone already.
    pub async fn remove_stored(&self, sequence: u64) -> Result<(), NatsError> {
        let what = "remove what waits for a machine";
        let stream = self.layout.inbox();
        let request = json!({ "seq": sequence, "no_erase": true });
        match self.requests.change::<Value>(&format!("STREAM.MSG.DELETE.{stream}"), &request, what).await? {
            Ok(_) => Ok(()),
            Err(error) if is_gone(error.err_code, &error.description) => Ok(()),
            Err(error) => Err(error.explained(what, &stream)),
        }
    }
}

/// Whether a refusal says that the message is not there.
fn is_gone(code: u64, why: &str) -> bool {
    match code {
        codes::NO_MESSAGE_FOUND | codes::SEQUENCE_NOT_FOUND => true,
        codes::DELETE_FAILED => ["EOF", "not found", "deleted"].iter().any(|word| why.contains(word)),
        _ => false,
    }
}
