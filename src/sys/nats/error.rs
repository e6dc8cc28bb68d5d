//! What can go wrong between this machine and the engine, told apart as far as the protocol allows.

use std::path::PathBuf;

use super::tls::TlsProblem;

/// Why the engine did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NatsError {
    #[error("cannot reach {server}: {why}")]
    Unreachable { server: String, why: String },
    #[error("{server} refuses the credentials: {why}")]
    WrongCredentials { server: String, why: String },
    #[error("cannot use the credentials in `{}`: {why}", path.display())]
    CredentialsUnreadable { path: PathBuf, why: String },
    #[error("others can read the credentials in `{}` (mode {mode:03o}): run chmod 600 {}", path.display(), shell(path))]
    CredentialsOpen { path: PathBuf, mode: u32 },
    #[error("cannot set up TLS with {server}: {problem}")]
    Tls { server: String, problem: TlsProblem },
    #[error("the server has {found}, but {needed} is needed")]
    TooOld { found: String, needed: String },
    #[error("{what} has no JetStream")]
    NoJetStream { what: String },
    #[error("the server does not let keys expire, so leases cannot be trusted: {why}")]
    TtlNotHonoured { why: String },
    #[error("the stream {stream} on the server is not one that `msg` has made: `{key}` differs")]
    OtherStream { stream: String, key: String },
    #[error("this user has no permission to {action} `{subject}`")]
    PermissionMissing { action: DeniedAction, subject: String },
    #[error("the stream {stream} is full: {why}")]
    StreamFull { stream: String, why: String },
    #[error("the server has no space left: {why}")]
    DiskFull { why: String },
    #[error("{size} bytes are too many for the server, which takes {limit}")]
    TooLarge { size: usize, limit: usize },
    /// Nothing was sent, or what was sent changes nothing.
    #[error("the connection to the server is interrupted")]
    Disconnected,
    /// Of reads only; a write without an answer is [`Self::Unknown`].
    #[error("no answer from the server in time: {what}")]
    TimedOut { what: String },
    /// The answer to a write is missing, so it may or may not have happened: read again before deciding.
    #[error("no answer from the server, so whether this happened is unknown: {what}")]
    Unknown { what: String },
    /// Nobody answers for it: a cluster without a leader at the moment, or something that was deleted. Nothing was done.
    #[error("the server is not ready: {what}")]
    NotReady { what: String },
    #[error("the server refuses to {what}: {why} (error {code})")]
    Refused { what: String, why: String, code: u64 },
    #[error("malformed: {what}")]
    Malformed { what: String },
    #[error("the client has failed: {why}")]
    Client { why: String },
}

/// What a user was not allowed to do with a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeniedAction {
    Publish,
    Subscribe,
}

impl std::fmt::Display for DeniedAction {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Publish => "publish to",
            Self::Subscribe => "subscribe to",
        })
    }
}

impl NatsError {
    /// Whether the same call may succeed later without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Disconnected
                | Self::TimedOut { .. }
                | Self::Unknown { .. }
                | Self::NotReady { .. }
        )
    }
}

/// The codes of JetStream that mean something to us. Others stay a number and a sentence.
pub(super) mod codes {
    pub(crate) const ACCOUNT_RESOURCES: u64 = 10002;
    pub(crate) const CLUSTER_NOT_AVAILABLE: u64 = 10008;
    pub(crate) const CLUSTER_NOT_LEADER: u64 = 10009;
    pub(crate) const CONSUMER_NOT_FOUND: u64 = 10014;
    pub(crate) const INSUFFICIENT_RESOURCES: u64 = 10023;
    pub(crate) const NO_MESSAGE_FOUND: u64 = 10037;
    pub(crate) const SEQUENCE_NOT_FOUND: u64 = 10043;
    pub(crate) const NOT_ENABLED_FOR_ACCOUNT: u64 = 10039;
    pub(crate) const STORAGE_RESOURCES: u64 = 10047;
    /// The stream takes no message of that size, whatever the server does.
    pub(crate) const TOO_LARGE_FOR_STREAM: u64 = 10054;
    /// With the reason in words.
    pub(crate) const DELETE_FAILED: u64 = 10057;
    pub(crate) const STREAM_NAME_IN_USE: u64 = 10058;
    pub(crate) const STREAM_NOT_FOUND: u64 = 10059;
    pub(crate) const WRONG_LAST_SEQUENCE: u64 = 10071;
    pub(crate) const NOT_ENABLED: u64 = 10076;
    pub(crate) const STORE_FAILED: u64 = 10077;
    /// What a cluster says instead of [`WRONG_LAST_SEQUENCE`].
    pub(crate) const WRONG_LAST_SEQUENCE_CONSTANT: u64 = 10164;
}

/// An answer of JetStream that says no.
#[derive(Debug, Clone, serde::Deserialize)]
pub(super) struct ApiError {
    #[serde(default)]
    pub(super) err_code: u64,
    #[serde(default)]
    pub(super) description: String,
}

impl ApiError {
    /// Whether a write came too late: somebody else has changed the key.
    pub(super) fn is_conflict(&self) -> bool {
        matches!(self.err_code, codes::WRONG_LAST_SEQUENCE | codes::WRONG_LAST_SEQUENCE_CONSTANT)
    }

    /// The error for a user. `what` was asked for, of `stream`.
    pub(super) fn explained(self, what: &str, stream: &str) -> NatsError {
        let Self { err_code: code, description: why } = self;
        match code {
            codes::NOT_ENABLED => NatsError::NoJetStream { what: "the server".to_owned() },
            codes::NOT_ENABLED_FOR_ACCOUNT => {
                NatsError::NoJetStream { what: "the account of this user".to_owned() }
            }
            codes::INSUFFICIENT_RESOURCES | codes::STORAGE_RESOURCES | codes::ACCOUNT_RESOURCES => {
                NatsError::DiskFull { why }
            }
            codes::STORE_FAILED if why.contains("maximum") => {
                NatsError::StreamFull { stream: stream.to_owned(), why }
            }
            codes::STORE_FAILED if why.contains("no space") || why.contains("insufficient") => {
                NatsError::DiskFull { why }
            }
            codes::CLUSTER_NOT_AVAILABLE | codes::CLUSTER_NOT_LEADER => NatsError::NotReady { what: why },
            codes::STREAM_NOT_FOUND => {
                NatsError::NotReady { what: format!("the stream {stream} does not exist") }
            }
            codes::CONSUMER_NOT_FOUND => {
                NatsError::NotReady { what: format!("a consumer of {stream} does not exist") }
            }
            _ => NatsError::Refused { what: what.to_owned(), why, code },
        }
    }
}

fn shell(path: &std::path::Path) -> String {
    crate::domain::shell_word(&path.to_string_lossy()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_that_a_user_can_act_on_are_told_apart() {
        let explained = |code, why: &str| {
            ApiError { err_code: code, description: why.to_owned() }
                .explained("store a message", "MESH_m_INBOX")
        };
        assert!(matches!(explained(10077, "maximum bytes exceeded"), NatsError::StreamFull { .. }));
        assert!(matches!(explained(10077, "no space left on device"), NatsError::DiskFull { .. }));
        assert!(matches!(explained(10047, "insufficient storage"), NatsError::DiskFull { .. }));
        assert!(matches!(explained(10023, "insufficient resources"), NatsError::DiskFull { .. }));
        assert!(matches!(explained(10039, ""), NatsError::NoJetStream { .. }));
        assert!(matches!(explained(10008, ""), NatsError::NotReady { .. }));
        assert_eq!(
            explained(1, "because").to_string(),
            "the server refuses to store a message: because (error 1)"
        );
    }

    #[test]
    fn both_codes_of_a_conflict_are_one() {
        for code in [10071, 10164] {
            assert!(ApiError { err_code: code, description: String::new() }.is_conflict());
        }
    }

    #[test]
    fn an_open_file_is_refused_with_the_command_that_closes_it() {
        let error = NatsError::CredentialsOpen { path: "/a b/nats.user".into(), mode: 0o644 };
        assert_eq!(
            error.to_string(),
            "others can read the credentials in `/a b/nats.user` (mode 644): run chmod 600 '/a b/nats.user'"
        );
    }
}
