//! What is needed to connect, and the check of everything that becomes part of a subject.

use std::path::PathBuf;
use std::time::Duration;

use super::error::NatsError;

/// The space that undelivered messages of a mesh may take, unless told otherwise.
const INBOX_BYTES: i64 = 1 << 30;
/// How long an answer of the server may take, unless told otherwise.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What is needed to connect one machine to one mesh.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// `nats://host:port` or `tls://host:port`, tried in random order.
    pub servers: Vec<String>,
    /// The name of the mesh: 1 to 40 of `a-z`, `0-9` and `-`.
    pub mesh: String,
    /// The id of this machine: 1 to 32 of `a-z`, `0-9` and `-`.
    pub machine: String,
    pub credentials: Credentials,
    /// Certificates to trust in place of those of the system.
    pub ca_file: Option<PathBuf>,
    /// The certificate of this machine and its key.
    pub client_cert: Option<(PathBuf, PathBuf)>,
    /// Whether to refuse a connection without TLS. One `tls://` server among `servers` is enough to switch it on.
    pub must_use_tls: bool,
    /// How many servers of a cluster keep each message. Used only for streams that do not exist yet.
    pub replicas: usize,
    /// The space for undelivered messages. Used only if the stream does not exist yet.
    pub inbox_bytes: i64,
    /// How long an answer of the server may take.
    pub timeout: Duration,
}

/// How this machine proves who it is. Secrets come from files only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    None,
    /// A credentials file of `nsc`: a signed user and its key.
    CredsFile(PathBuf),
    /// A user and a password on two lines or as `user:password`, or the seed of a user's key alone.
    UserFile(PathBuf),
}

impl ConnectOptions {
    /// Options with defaults for everything that is not named here.
    pub fn new(servers: Vec<String>, mesh: &str, machine: &str) -> Self {
        Self {
            servers,
            mesh: mesh.to_owned(),
            machine: machine.to_owned(),
            credentials: Credentials::None,
            ca_file: None,
            client_cert: None,
            must_use_tls: false,
            replicas: 1,
            inbox_bytes: INBOX_BYTES,
            timeout: TIMEOUT,
        }
    }
}

/// Refuses a name of a mesh that could change the meaning of a subject.
pub(super) fn check_mesh(name: &str) -> Result<(), NatsError> {
    let fits = (1..=40).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if fits { Ok(()) } else { Err(malformed("the name of the mesh", name)) }
}

/// Refuses an id of a machine that could change the meaning of a subject.
pub(super) fn check_machine(id: &str) -> Result<(), NatsError> {
    let fits = (1..=32).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if fits { Ok(()) } else { Err(malformed("the id of the machine", id)) }
}

/// Refuses a key that is not a list of safe tokens.
pub(super) fn check_key(key: &str) -> Result<(), NatsError> {
    let is_token = |token: &str| {
        !token.is_empty()
            && token
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'=' | b'/'))
    };
    if key.len() <= 512 && key.split('.').all(is_token) { Ok(()) } else { Err(malformed("the key", key)) }
}

/// Refuses an id that cannot be the value of a header.
pub(super) fn check_id(id: &str) -> Result<(), NatsError> {
    let fits = (1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    if fits { Ok(()) } else { Err(malformed("the id of the message", id)) }
}

fn malformed(what: &str, value: &str) -> NatsError {
    NatsError::Malformed { what: format!("{what} {value:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_change_a_subject_is_refused() {
        for mesh in ["", "a.b", "A", "a b", "*", &"a".repeat(41)] {
            assert!(check_mesh(mesh).is_err(), "{mesh:?}");
        }
        for machine in ["", "ABCDEFGH", "abcdefg.", "abcdefg>", &"a".repeat(33)] {
            assert!(check_machine(machine).is_err(), "{machine:?}");
        }
        for key in ["", ".", "a.", ".a", "a..b", "a b", "a.*", "a.>", "a\r\nb"] {
            assert!(check_key(key).is_err(), "{key:?}");
        }
        for id in ["", "a b", "a\r\nb", &"a".repeat(129)] {
            assert!(check_id(id).is_err(), "{id:?}");
        }
        assert!(check_mesh("team-1").is_ok() && check_machine("0a1b2c3d").is_ok());
        assert!(check_key("machine.0a1b2c3d").is_ok() && check_id("msg-1").is_ok());
    }
}
