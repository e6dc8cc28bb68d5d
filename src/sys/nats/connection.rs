//! The connection: made once, then kept by `async-nats`, whose events say what became of it.

use std::error::Error;
use std::sync::Mutex;
use std::time::Duration;

use async_nats::{ConnectError, ConnectErrorKind, Event, ServerAddr, ServerError};
use jiff::Timestamp;
use tokio::sync::{broadcast, watch};

use super::credentials::{self, Secret};
use super::error::{DeniedAction, NatsError};
use super::options::{ConnectOptions, Credentials};
use super::tls::{self, TlsProblem};
use crate::sys::{clock, random};

/// The longest pause between two attempts to reconnect.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Whether there is a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerConnection {
    /// `times` counts the connections of this client; it grows with each reconnection.
    Connected { times: u64 },
    /// `why` is what the last attempt to reconnect said, in the words of the client.
    Disconnected { since: Timestamp, why: String, times: u64 },
}

impl ServerConnection {
    pub(super) fn times(&self) -> u64 {
        match self {
            Self::Connected { times } | Self::Disconnected { times, .. } => *times,
        }
    }
}

/// A request that the server has refused: the answer never comes, only this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Denied {
    pub(super) action: DeniedAction,
    pub(super) subject: String,
}

impl Denied {
    pub(super) fn into_error(self) -> NatsError {
        NatsError::PermissionMissing { action: self.action, subject: self.subject }
    }
}

/// What the client reports beside answers.
#[derive(Debug)]
pub(super) struct Events {
    pub(super) connection: watch::Sender<ServerConnection>,
    pub(super) denied: broadcast::Sender<Denied>,
    /// Set while this user may not listen where answers arrive: then no request has an answer.
    pub(super) no_answers: Mutex<Option<Denied>>,
    /// Where answers arrive.
    reply_prefix: String,
}

impl Events {
    pub(super) fn new(reply_prefix: &str) -> Self {
        Self {
            connection: watch::Sender::new(ServerConnection::Connected { times: 1 }),
            denied: broadcast::Sender::new(64),
            no_answers: Mutex::new(None),
            reply_prefix: reply_prefix.to_owned(),
        }
    }

    fn handle(&self, event: &Event) {
        match event {
            Event::Connected => self.connected(),
            Event::Disconnected | Event::Closed => self.disconnected("the connection was lost"),
            Event::ClientError(error) => self.still_disconnected(&error.to_string()),
            Event::ServerError(error) => self.server_error(error),
            Event::LameDuckMode | Event::Draining | Event::SlowConsumer(_) => {}
        }
    }

    fn connected(&self) {
        // The new connection asks again whether it may listen.
        *self.no_answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
        self.connection.send_if_modified(|connection| {
            let ServerConnection::Disconnected { times, .. } = *connection else { return false };
            *connection = ServerConnection::Connected { times: times + 1 };
            true
        });
    }

    fn disconnected(&self, why: &str) {
        self.connection.send_if_modified(|connection| {
            let ServerConnection::Connected { times } = *connection else { return false };
            *connection = ServerConnection::Disconnected { since: clock::now(), why: why.to_owned(), times };
            true
        });
    }

    /// Replaces the reason by that of the last attempt.
    fn still_disconnected(&self, reason: &str) {
        let reason = reason.strip_prefix("nats: ").unwrap_or(reason);
        self.connection.send_if_modified(|connection| match connection {
            ServerConnection::Disconnected { why, .. } if why != reason => {
                reason.clone_into(why);
                true
            }
            _ => false,
        });
    }

    fn server_error(&self, error: &ServerError) {
        let text = error.to_string();
        let Some(denied) = parse_denied(&text) else {
            self.still_disconnected(&text);
            return;
        };
        if denied.action == DeniedAction::Subscribe && denied.subject.starts_with(&self.reply_prefix) {
            *self.no_answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(denied.clone());
        }
        // Without anybody who waits, nobody needs to know.
        drop(self.denied.send(denied));
    }
}

/// Reads `Permissions Violation for Publish to "subject"`.
fn parse_denied(text: &str) -> Option<Denied> {
    let (_, rest) = text.split_once("ermissions Violation for ")?;
    let (action, rest) = rest.split_once(" to \"")?;
    let action = match action {
        "Publish" => DeniedAction::Publish,
        "Subscription" => DeniedAction::Subscribe,
        _ => return None,
    };
    let (subject, _) = rest.split_once('"')?;
    Some(Denied { action, subject: subject.to_owned() })
}

/// Connects once; afterwards the client reconnects for ever by itself.
pub(super) async fn connect(
    options: &ConnectOptions,
    reply_prefix: &str,
    events: std::sync::Arc<Events>,
) -> Result<async_nats::Client, NatsError> {
    tls::install_provider();
    let servers = parse_servers(&options.servers)?;
    let all = options.servers.join(", ");
    let client =
        client_options(options, &servers)?.custom_inbox_prefix(reply_prefix).event_callback(move |event| {
            events.handle(&event);
            std::future::ready(())
        });
    client.connect(servers).await.map_err(|error| explained(&error, &all, options))
}

/// Whether every connection is made with TLS.
pub(super) fn requires_tls(options: &ConnectOptions) -> bool {
    options.must_use_tls || options.servers.iter().any(|server| server.starts_with("tls://"))
}

fn parse_servers(servers: &[String]) -> Result<Vec<ServerAddr>, NatsError> {
    let parsed = servers.iter().map(|text| {
        let malformed = |why: &str| NatsError::Malformed { what: format!("the server {text:?}: {why}") };
        let Ok(address) = text.parse::<ServerAddr>() else {
            return Err(malformed("expected nats://host:port"));
        };
        if address.has_user_pass() || address.password().is_some() {
            return Err(malformed("put the user and the password in a file"));
        }
        if !matches!(address.scheme(), "nats" | "tls") || address.host().is_empty() {
            return Err(malformed("expected nats://host:port or tls://host:port"));
        }
        Ok(address)
    });
    let parsed = parsed.collect::<Result<Vec<_>, _>>()?;
    if parsed.is_empty() {
        return Err(NatsError::Malformed { what: "no server is named".to_owned() });
    }
    Ok(parsed)
}

fn client_options(
    options: &ConnectOptions,
    servers: &[ServerAddr],
) -> Result<async_nats::ConnectOptions, NatsError> {
    let mut client = match credentials::read(&options.credentials)? {
        Secret::None => async_nats::ConnectOptions::new(),
        Secret::Creds(text) => async_nats::ConnectOptions::with_credentials(&text)
            .map_err(|error| refused_credentials(&options.credentials, &error.to_string()))?,
        Secret::UserAndPassword(user, password) => {
            async_nats::ConnectOptions::with_user_and_password(user, password)
        }
        Secret::Seed(seed) => async_nats::ConnectOptions::with_nkey(seed),
    };
    if requires_tls(options) {
        client = client.require_tls(true);
    }
    let server = || servers.first().map(|server| server.as_url_str().to_owned()).unwrap_or_default();
    if let Some(path) = &options.ca_file {
        check_readable(path, server)?;
        client = client.add_root_certificates(path.clone());
    }
    if let Some((certificate, key)) = &options.client_cert {
        check_readable(certificate, server)?;
        credentials::check_private(key)?;
        client = client.add_client_certificate(certificate.clone(), key.clone());
    }
    Ok(client
        .name(format!("ravenry {} {}", options.mesh, options.machine))
        .connection_timeout(options.timeout)
        .request_timeout(Some(options.timeout))
        .ping_interval(Duration::from_secs(10))
        .max_reconnects(None)
        .reconnect_delay_callback(pause_before))
}

/// Doubles up to the limit; the random part keeps the machines of a mesh from coming back all at once.
fn pause_before(attempt: usize) -> Duration {
    if attempt <= 1 {
        return Duration::ZERO;
    }
    let doubled = Duration::from_millis(50 << attempt.min(7));
    let pause = doubled.min(LONGEST_PAUSE * 3 / 4);
    pause + pause / 3 * (random::number() % 256) / 256
}

fn check_readable(path: &std::path::Path, server: impl Fn() -> String) -> Result<(), NatsError> {
    std::fs::File::open(path).map(drop).map_err(|error| NatsError::Tls {
        server: server(),
        problem: TlsProblem::FileUnreadable { path: path.to_path_buf(), why: error.to_string() },
    })
}

fn refused_credentials(credentials: &Credentials, why: &str) -> NatsError {
    match credentials {
        Credentials::CredsFile(path) | Credentials::UserFile(path) => {
            NatsError::CredentialsUnreadable { path: path.clone(), why: why.to_owned() }
        }
        Credentials::None => NatsError::Client { why: why.to_owned() },
    }
}

/// What a failed attempt to connect means.
fn explained(error: &ConnectError, servers: &str, options: &ConnectOptions) -> NatsError {
    let server = servers.to_owned();
    if let Some(problem) = tls::problem_in(error) {
        return NatsError::Tls { server, problem };
    }
    let cause = error.source().map_or_else(|| error.kind().to_string(), ToString::to_string);
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation => {
            let why = match options.credentials {
                Credentials::None => "it wants credentials, and none are set",
                _ => "authorization violation",
            };
            NatsError::WrongCredentials { server, why: why.to_owned() }
        }
        ConnectErrorKind::Authentication => {
            refused_credentials(&options.credentials, "the key in it cannot sign the server's challenge")
        }
        ConnectErrorKind::Dns => {
            NatsError::Unreachable { server, why: format!("the name cannot be resolved: {cause}") }
        }
        ConnectErrorKind::TimedOut => {
            NatsError::Unreachable { server, why: format!("no answer within {:?}", options.timeout) }
        }
        ConnectErrorKind::Tls => {
            let problem = match &options.client_cert {
                Some((path, _)) if cause.contains("certificate") || cause.contains("key") => {
                    TlsProblem::FileUnreadable { path: path.clone(), why: cause }
                }
                _ => TlsProblem::Other(cause),
            };
            NatsError::Tls { server, problem }
        }
        ConnectErrorKind::Io => match error.source().and_then(|cause| cause.downcast_ref::<ServerError>()) {
            Some(refusal) => {
                let text = refusal.to_string();
                let why = text.strip_prefix("nats: ").unwrap_or(&text).to_owned();
                let is_about_user =
                    ["uthentication", "uthorization", "ser "].iter().any(|part| why.contains(part));
                if is_about_user {
                    NatsError::WrongCredentials { server, why }
                } else {
                    NatsError::Unreachable { server, why }
                }
            }
            None => NatsError::Unreachable { server, why: cause },
        },
        ConnectErrorKind::ServerParse | ConnectErrorKind::MaxReconnects => {
            NatsError::Unreachable { server, why: error.to_string() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denied_subject_is_found_in_what_the_server_says() {
        let denied = parse_denied("nats: Permissions Violation for Publish to \"mesh.m.feed.a\"").unwrap();
        assert_eq!((denied.action, denied.subject.as_str()), (DeniedAction::Publish, "mesh.m.feed.a"));
        let denied = parse_denied("permissions violation: no");
        assert_eq!(denied, None);
        let denied =
            parse_denied("Permissions Violation for Subscription to \"a.*\" using queue \"q\"").unwrap();
        assert_eq!((denied.action, denied.subject.as_str()), (DeniedAction::Subscribe, "a.*"));
    }

    #[test]
    fn the_pause_grows_to_its_limit_and_no_further() {
        assert_eq!(pause_before(1), Duration::ZERO);
        for attempt in 2..100 {
            assert!(pause_before(attempt) <= LONGEST_PAUSE, "{attempt}");
        }
    }

    #[test]
    fn a_password_in_an_address_is_refused() {
        let refused = parse_servers(&[["nats://bob:", "secret@host:4222"].concat()]).unwrap_err();
        assert!(matches!(refused, NatsError::Malformed { .. }));
        for text in ["http://host", "ws://host", "nats://", ""] {
            assert!(parse_servers(&[text.to_owned()]).is_err(), "{text}");
        }
        assert!(parse_servers(&[]).is_err());
    }
}
