//! Requests with an answer, a refusal or a reason why there is neither.
//!
//! A server that forbids a subject says so beside the request, which would only time out; a request whose connection breaks
//! waits in vain. Both are noticed here at once.

use std::sync::Arc;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, HeaderMap, Message, Request, RequestErrorKind};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::connection::{Denied, Events, ServerConnection};
use super::error::{ApiError, DeniedAction, NatsError};

/// How long a refusal may come after an answer that followed it.
const LATE_REFUSAL: Duration = Duration::from_millis(500);
/// Where the API of JetStream listens.
const API: &str = "$JS.API";

/// Sends requests over the connection. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Requests {
    pub(super) client: Client,
    pub(super) events: Arc<Events>,
    pub(super) timeout: Duration,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// It was not sent, or nobody has got it.
    NotDone(NatsError),
    /// It may have been carried out.
    NoAnswer,
}

/// What a stream says about a message that it was given.
#[derive(Debug, Clone, serde::Deserialize)]
pub(super) struct Acknowledgement {
    #[serde(default)]
    pub(super) seq: u64,
    #[serde(default)]
    #[serde(rename = "duplicate")]
    pub(super) is_duplicate: bool,
    #[serde(default)]
    error: Option<ApiError>,
}

impl Requests {
    pub(super) fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn request(
        &self,
        subject: &str,
        headers: Option<HeaderMap>,
        payload: Bytes,
    ) -> Result<Message, Failure> {
        let mut connection = self.events.connection.subscribe();
        let mut denied = self.events.denied.subscribe();
        if !self.is_connected() {
            return Err(Failure::NotDone(NatsError::Disconnected));
        }
        if let Some(denied) = self.no_answers() {
            return Err(Failure::NotDone(denied.into_error()));
        }
        let size = payload.len();
        let mut request = Request::new().payload(payload).timeout(Some(self.timeout));
        if let Some(headers) = headers {
            request = request.headers(headers);
        }
        let answer = self.client.send_request(subject.to_owned(), request);
        tokio::select! {
            // A refusal arrives before the time is over; an answer before both.
            biased;
            answer = answer => answer.map_err(|error| match error.kind() {
                RequestErrorKind::NoResponders => {
                    Failure::NotDone(NatsError::NotReady { what: format!("nobody answers on `{subject}`") })
                }
                RequestErrorKind::InvalidSubject => {
                    Failure::NotDone(NatsError::Malformed { what: format!("the subject {subject:?}") })
                }
                RequestErrorKind::MaxPayloadExceeded => {
                    Failure::NotDone(NatsError::TooLarge { size, limit: self.client.max_payload() })
                }
                RequestErrorKind::TimedOut | RequestErrorKind::Other => Failure::NoAnswer,
            }),
            denied = self.denial(&mut denied, subject) => Err(Failure::NotDone(denied.into_error())),
            () = interrupted(&mut connection) => Err(Failure::NoAnswer),
        }
    }

    /// Asks the API of JetStream something that changes nothing.
    pub(super) async fn read<T: DeserializeOwned>(
        &self,
        subject: &str,
        payload: &Value,
        what: &str,
    ) -> Result<Result<T, ApiError>, NatsError> {
        self.api(subject, payload, what).await.map_err(|failure| match failure {
            Failure::NotDone(error) => error,
            Failure::NoAnswer if self.is_connected() => NatsError::TimedOut { what: what.to_owned() },
            Failure::NoAnswer => NatsError::Disconnected,
        })
    }

    /// Asks the API of JetStream to change something.
    pub(super) async fn change<T: DeserializeOwned>(
        &self,
        subject: &str,
        payload: &Value,
        what: &str,
    ) -> Result<Result<T, ApiError>, NatsError> {
        self.api(subject, payload, what).await.map_err(|failure| unknown(failure, what))
    }

    /// Stores a message in a stream and returns when the stream has it.
    pub(super) async fn store(
        &self,
        subject: &str,
        headers: HeaderMap,
        payload: Bytes,
        what: &str,
    ) -> Result<Result<Acknowledgement, ApiError>, NatsError> {
        let answer =
            self.request(subject, Some(headers), payload).await.map_err(|failure| unknown(failure, what))?;
        let acknowledgement: Acknowledgement = parse(&answer.payload, what)?;
        match acknowledgement.error {
            Some(error) => Ok(Err(error)),
            None => Ok(Ok(acknowledgement)),
        }
    }

    /// Returns when the server has read everything sent before, or has refused this subject. `denied` was subscribed before.
    pub(super) async fn barrier(&self, subject: &str, mut denied: Receiver<Denied>) -> Result<(), NatsError> {
        let done = self.read::<Value>("INFO", &Value::Null, "ask about JetStream");
        tokio::select! {
            biased;
            denied = self.denial(&mut denied, subject) => return Err(denied.into_error()),
            answer = done => answer.map(drop)?,
        }
        // The server refused before it answered, but the client tells of that in a task of its own.
        match tokio::time::timeout(LATE_REFUSAL, self.denial(&mut denied, subject)).await {
            Ok(denied) => Err(denied.into_error()),
            Err(_) => Ok(()),
        }
    }

    async fn api<T: DeserializeOwned>(
        &self,
        subject: &str,
        payload: &Value,
        what: &str,
    ) -> Result<Result<T, ApiError>, Failure> {
        let payload = if payload.is_null() { Bytes::new() } else { Bytes::from(payload.to_string()) };
        let answer = self.request(&format!("{API}.{subject}"), None, payload).await?;
        parse_answer(&answer.payload, what).map_err(Failure::NotDone)
    }

    fn no_answers(&self) -> Option<Denied> {
        self.events.no_answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Waits until the server refuses this subject, or to let this user hear answers.
    async fn denial(&self, denied: &mut Receiver<Denied>, subject: &str) -> Denied {
        loop {
            match denied.recv().await {
                Ok(denied) if denied.subject == subject => return denied,
                Ok(denied) if denied.action == DeniedAction::Subscribe && self.no_answers().is_some() => {
                    return denied;
                }
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                // The sender lives as long as `self`.
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}

/// A write without an answer may have happened.
pub(super) fn unknown(failure: Failure, what: &str) -> NatsError {
    match failure {
        Failure::NotDone(error) => error,
        Failure::NoAnswer => NatsError::Unknown { what: what.to_owned() },
    }
}

/// Waits until the connection breaks.
async fn interrupted(connection: &mut tokio::sync::watch::Receiver<ServerConnection>) {
    let start = connection.borrow_and_update().times();
    let is_gone = |connection: &ServerConnection| {
        connection.times() != start || matches!(connection, ServerConnection::Disconnected { .. })
    };
    if connection.wait_for(is_gone).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Reads an answer of the API, which is an error or what was asked for.
fn parse_answer<T: DeserializeOwned>(payload: &[u8], what: &str) -> Result<Result<T, ApiError>, NatsError> {
    let mut value: Value = parse(payload, what)?;
    if let Some(error) = value.get_mut("error").map(Value::take) {
        return Ok(Err(from_value(error, what)?));
    }
    Ok(Ok(from_value(value, what)?))
}

fn parse<T: DeserializeOwned>(payload: &[u8], what: &str) -> Result<T, NatsError> {
    serde_json::from_slice(payload).map_err(|error| malformed_answer(what, &error))
}

fn from_value<T: DeserializeOwned>(value: Value, what: &str) -> Result<T, NatsError> {
    serde_json::from_value(value).map_err(|error| malformed_answer(what, &error))
}

fn malformed_answer(what: &str, error: &serde_json::Error) -> NatsError {
    NatsError::Malformed { what: format!("the answer of the server to: {what}: {error}") }
}
