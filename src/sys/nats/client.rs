//! The client of one machine: its connection and what it has found out about the server.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use serde_json::Value;
use tokio::sync::watch;

use super::connection::{self, Events, ServerConnection};
use super::error::NatsError;
use super::inbox_order::PullReader;
use super::incoming::InHand;
use super::layout::StreamLayout;
use super::options::{ConnectOptions, check_machine, check_mesh};
use super::requests::Requests;

/// The first version whose keys can expire one by one.
const OLDEST: (u64, u64) = (2, 11);
/// How long closing may take.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

/// The connection of this machine to its mesh.
#[derive(Debug)]
pub struct Nats {
    pub(super) requests: Requests,
    pub(super) layout: StreamLayout,
    pub(super) options: ConnectOptions,
    pub(super) facts: Mutex<ServerFacts>,
    pub(super) reader: tokio::sync::Mutex<PullReader>,
}

/// What is known about the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFacts {
    pub version: String,
    /// The level of JetStream's API.
    pub api_level: u64,
    pub name: String,
    /// The cluster that the server belongs to.
    pub cluster: Option<String>,
    pub tls: bool,
    /// How long a request to JetStream took.
    pub round_trip: Duration,
    /// How far the server's clock is ahead of ours. Known after [`Nats::prepare`].
    pub clock_offset: Option<SignedDuration>,
}

impl Nats {
    /// Connects and checks that the server can do what a mesh needs. Fails at once if there is no server.
    pub async fn connect(options: ConnectOptions) -> Result<Self, NatsError> {
        check_mesh(&options.mesh)?;
        check_machine(&options.machine)?;
        let layout = StreamLayout { mesh: options.mesh.clone(), machine: options.machine.clone() };
        let reply_prefix = layout.reply_prefix();
        let events = Arc::new(Events::new(&reply_prefix));
        let client = connection::connect(&options, &reply_prefix, events.clone()).await?;
        let requests = Requests { client, events, timeout: options.timeout };
        let facts = match server_facts(&requests, &options).await {
            Ok(facts) => facts,
            Err(error) => {
                disconnect(&requests).await;
                return Err(error);
            }
        };
        Ok(Self {
            reader: tokio::sync::Mutex::new(PullReader::new(Arc::new(InHand::default()))),
            requests,
            layout,
            options,
            facts: Mutex::new(facts),
        })
    }

    pub fn server_facts(&self) -> ServerFacts {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn is_connected(&self) -> bool {
        self.requests.is_connected()
    }

    /// The state of the connection, and each change of it.
    pub fn connection_events(&self) -> watch::Receiver<ServerConnection> {
        self.requests.events.connection.subscribe()
    }

    /// Ends the connection after what was sent, within two seconds.
    pub async fn close(self) {
        disconnect(&self.requests).await;
    }
}

async fn disconnect(requests: &Requests) {
    let drained = async {
        // What is not sent within the limit is lost, as in a crash; callers wait for answers to what matters.
        drop(requests.client.flush().await);
        drop(requests.client.drain().await);
        let mut connection = requests.events.connection.subscribe();
        drop(connection.wait_for(|state| matches!(state, ServerConnection::Disconnected { .. })).await);
    };
    drop(tokio::time::timeout(CLOSE_LIMIT, drained).await);
}

async fn server_facts(requests: &Requests, options: &ConnectOptions) -> Result<ServerFacts, NatsError> {
    let info = requests.client.server_info();
    check_version(&info.version)?;
    if !info.jetstream {
        return Err(NatsError::NoJetStream { what: "the server".to_owned() });
    }
    let start = Instant::now();
    let what = "ask about JetStream";
    let account = match requests.read::<Value>("INFO", &Value::Null, what).await {
        // Nobody listens in an account without it.
        Err(NatsError::NotReady { .. }) => {
            return Err(NatsError::NoJetStream { what: "the account of this user".to_owned() });
        }
        answer => answer?.map_err(|error| error.explained(what, "JetStream"))?,
    };
    let round_trip = start.elapsed();
    let api_level = account.pointer("/api/level").and_then(Value::as_u64).unwrap_or(0);
    if api_level < 1 {
        return Err(NatsError::TooOld {
            found: format!("level {api_level} of JetStream's API"),
            needed: "level 1".to_owned(),
        });
    }
    Ok(ServerFacts {
        version: info.version,
        api_level,
        name: info.server_name,
        cluster: info.cluster.filter(|name| !name.is_empty()),
        tls: connection::requires_tls(options) || info.tls_required,
        round_trip,
        clock_offset: None,
    })
}

/// Refuses a server that would ignore in silence that keys must expire.
fn check_version(version: &str) -> Result<(), NatsError> {
    let mut numbers = version.split(['.', '-', '+']).map(str::parse::<u64>);
    let found = match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor),
        _ => return Err(NatsError::Malformed { what: format!("the version of the server: {version:?}") }),
    };
    if found >= OLDEST {
        return Ok(());
    }
    Err(NatsError::TooOld {
        found: format!("version {version}"),
        needed: format!("version {}.{}", OLDEST.0, OLDEST.1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for version in ["2.11.0", "2.12.0-RC.1", "2.100.3", "3.0.0", "2.15.1+build"] {
            assert_eq!(check_version(version), Ok(()), "{version}");
        }
        for version in ["2.9.10", "2.10.29", "1.99.0"] {
            assert!(matches!(check_version(version), Err(NatsError::TooOld { .. })), "{version}");
        }
        assert!(matches!(check_version("new"), Err(NatsError::Malformed { .. })));
    }
}
