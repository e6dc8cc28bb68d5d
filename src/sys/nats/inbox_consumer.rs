//! The durable consumer of this machine: what the engine remembers about its undelivered messages.
//!
//! A consumer redelivers what was not acknowledged only after a wait, and delivers newer messages meanwhile. So who takes
//! over from a process that has died, or from a connection that was lost, would get messages out of order. Therefore the
//! consumer is then replaced by a new one, which starts at the oldest message that was not acknowledged. Replacing forgets
//! how often a message was tried; the count for the oldest one, which is the one that may have killed the process, goes
//! into the metadata of the new consumer.

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::{NatsError, codes};
use super::layout::StreamLayout;
use super::requests::Requests;

/// Metadata: the oldest message when the consumer was replaced, and how many processes have left it so.
const OLDEST: &str = "ravenry_oldest";
const TAKEN_OVER: &str = "ravenry_taken_over";

#[derive(Debug, Deserialize)]
struct ConsumerInfo {
    #[serde(default)]
    num_ack_pending: u64,
    config: ConsumerConfig,
}

#[derive(Debug, Deserialize)]
struct ConsumerConfig {
    #[serde(default)]
    metadata: std::collections::BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct Found {
    message: FoundMessage,
}

#[derive(Debug, Deserialize)]
struct FoundMessage {
    seq: u64,
}

/// A message that earlier processes have left without an answer, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Suspect {
    pub(super) sequence: u64,
    pub(super) tries: u64,
}

/// Why messages may be without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// An earlier process, which may have died of a message.
    Process,
    /// The connection of this process, which says nothing about a message.
    ServerConnection,
}

/// What had to be done before messages come in order again.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Recovered {
    InOrder(Suspect),
    /// This user may not replace the consumer; the engine itself redelivers, after its wait.
    MustWait,
}

#[derive(Debug)]
pub(super) struct InboxConsumer<'a> {
    requests: &'a Requests,
    layout: &'a StreamLayout,
}

impl<'a> InboxConsumer<'a> {
    pub(super) fn new(requests: &'a Requests, layout: &'a StreamLayout) -> Self {
        Self { requests, layout }
    }

    /// Creates the consumer if there is none.
    pub(super) async fn ensure(&self) -> Result<(), NatsError> {
        match self.info().await? {
            Some(_) => Ok(()),
            None => self.create(&json!({})).await,
        }
    }

    /// Makes the next message that is delivered the oldest that has no answer.
    pub(super) async fn recover(&self, cause: Cause) -> Result<Recovered, NatsError> {
        let Some(info) = self.info().await? else {
            self.create(&json!({})).await?;
            return Ok(Recovered::InOrder(Suspect::default()));
        };
        let mut suspect = remembered(&info.config.metadata);
        if info.num_ack_pending == 0 {
            return Ok(Recovered::InOrder(suspect));
        }
        // Whoever may not read the stream does not learn which message it is, and gets all of them nevertheless.
        let oldest = match self.oldest().await {
            Err(error) if is_forbidden(&error) => 0,
            oldest => oldest?,
        };
        if suspect.sequence != oldest {
            suspect = Suspect { sequence: oldest, tries: 0 };
        }
        if cause == Cause::Process {
            suspect.tries += 1;
        }
        match self.remove().await {
            Ok(()) => {}
            Err(error) if is_forbidden(&error) => return Ok(Recovered::MustWait),
            Err(error) => return Err(error),
        }
        let metadata = json!({ OLDEST: suspect.sequence.to_string(), TAKEN_OVER: suspect.tries.to_string() });
        self.create(&metadata).await?;
        Ok(Recovered::InOrder(suspect))
    }

    async fn info(&self) -> Result<Option<ConsumerInfo>, NatsError> {
        let what = "look up the consumer of this machine";
        let stream = self.layout.inbox();
        let subject = format!("CONSUMER.INFO.{stream}.{}", self.layout.inbox_consumer());
        match self.requests.read::<ConsumerInfo>(&subject, &Value::Null, what).await? {
            Ok(info) => Ok(Some(info)),
            Err(error) if error.err_code == codes::CONSUMER_NOT_FOUND => Ok(None),
            Err(error) => Err(error.explained(what, &stream)),
        }
    }

    async fn create(&self, metadata: &Value) -> Result<(), NatsError> {
        let what = "create the consumer of this machine";
        let (stream, name) = (self.layout.inbox(), self.layout.inbox_consumer());
        let filter = self.layout.inbox_subject(&self.layout.machine, "*");
        let subject = format!("CONSUMER.CREATE.{stream}.{name}.{filter}");
        let request = json!({ "stream_name": stream, "config": self.layout.inbox_consumer_config(metadata) });
        let created = self.requests.change::<Value>(&subject, &request, what).await?;
        created.map(drop).map_err(|error| error.explained(what, &stream))
    }

    async fn remove(&self) -> Result<(), NatsError> {
        let what = "replace the consumer of this machine";
        let stream = self.layout.inbox();
        let subject = format!("CONSUMER.DELETE.{stream}.{}", self.layout.inbox_consumer());
        match self.requests.change::<Value>(&subject, &Value::Null, what).await? {
            Ok(_) => Ok(()),
            Err(error) if error.err_code == codes::CONSUMER_NOT_FOUND => Ok(()),
            Err(error) => Err(error.explained(what, &stream)),
        }
    }

    /// The number of the oldest message for this machine.
    async fn oldest(&self) -> Result<u64, NatsError> {
        let what = "find the oldest message";
        let stream = self.layout.inbox();
        let filter = self.layout.inbox_subject(&self.layout.machine, "*");
        let request = json!({ "seq": 1, "next_by_subj": filter });
        match self.requests.read::<Found>(&format!("STREAM.MSG.GET.{stream}"), &request, what).await? {
            Ok(found) => Ok(found.message.seq),
            Err(error) if error.err_code == codes::NO_MESSAGE_FOUND => Ok(0),
            Err(error) => Err(error.explained(what, &stream)),
        }
    }
}

/// Whether the user may not ask that. A server that imports what a user may do refuses nothing: nobody answers.
fn is_forbidden(error: &NatsError) -> bool {
    matches!(error, NatsError::PermissionMissing { .. } | NatsError::NotReady { .. })
}

fn remembered(metadata: &std::collections::BTreeMap<String, String>) -> Suspect {
    let number = |key: &str| metadata.get(key).and_then(|text| text.parse().ok()).unwrap_or(0);
    Suspect { sequence: number(OLDEST), tries: number(TAKEN_OVER) }
}
