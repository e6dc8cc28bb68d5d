//! The inbox socket that a harness keeps for a session, and the harness's own record that names it.
//!
//! The record must be of this very session, the socket must be the user's in a directory where nobody else could have
//! put it, and the agent's process must be the one that listens (`SO_PEERCRED`; `sys::socket`). Connecting, writing and
//! being heard have two seconds together. A text that was written but not heard stays counted, so it is not sent twice.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::domain::Agent;
use crate::sys::files::{self, BoundedRead};
use crate::sys::program;
use crate::sys::socket::{self, SocketSendResult};

use super::wake::{InboxError, WakeFailure};

/// Time limit of posting, in all.
const LIMIT: Duration = Duration::from_secs(2);
/// Size limit of a session record, in bytes.
const MOST: u64 = 256 * 1024;

/// Where a harness keeps its records of running sessions, and how it writes them.
pub(super) struct SessionRecordFormat {
    /// The name of the harness, for people.
    pub(super) title: &'static str,
    /// The variable that moves the directory of the user's settings.
    pub(super) variable: &'static str,
    /// That directory below the home directory.
    pub(super) folder: &'static str,
    /// The `kind` of a session that a person uses.
    pub(super) kind: &'static str,
    /// The member that names the socket.
    pub(super) socket: &'static str,
}

/// The record of one running session.
#[derive(Debug)]
pub(super) struct RecordedSession {
    /// The directory of the user's settings.
    pub(super) config: PathBuf,
    record: Value,
    socket: PathBuf,
}

impl SessionRecordFormat {
    /// Reads the record of the agent's session: in our own directory of settings, or in that of the agent's process.
    pub(super) fn find(&self, config: PathBuf, agent: &Agent) -> Result<RecordedSession, InboxError> {
        let (title, pid) = (self.title, agent.process.pid());
        let theirs = self.config_of(&program::variables_of(pid, &[self.variable, "HOME"]));
        for config in std::iter::once(config).chain(theirs) {
            let path = config.join(format!("sessions/{pid}.json"));
            let read = files::read_at_most(&path, MOST)?;
            if matches!(read, BoundedRead::Absent) {
                continue;
            }
            let record = read.content().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
            let record = record.ok_or(InboxError::UnreadableRecord(title))?;
            let text = |key: &str| record[key].as_str().unwrap_or_default();
            let is_its_own = record["pid"].as_i64() == Some(pid.get().into())
                && text("sessionId") == agent.session.as_str()
                && text("kind") == self.kind;
            let socket = PathBuf::from(text(self.socket));
            return match is_its_own {
                true => Ok(RecordedSession { config, record, socket }),
                false => Err(InboxError::AnotherSession(title)),
            };
        }
        Err(InboxError::NoRecord(title))
    }

    fn config_of(&self, variables: &[(String, String)]) -> Option<PathBuf> {
        let value = |name: &str| {
            let found = variables.iter().find(|(key, _)| key == name).map(|(_, value)| Path::new(value));
            found.filter(|path| path.is_absolute())
        };
        let config = value(self.variable).map(Path::to_path_buf);
        config.or_else(|| Some(value("HOME")?.join(self.folder)))
    }
}

impl RecordedSession {
    /// A text of the record; empty if there is none.
    pub(super) fn text(&self, key: &str) -> &str {
        self.record[key].as_str().unwrap_or_default()
    }

    /// A number of the record.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        self.record[key].as_u64()
    }

    /// Connects to the socket, and closes it again.
    pub(super) fn probe(&self, agent: &Agent) -> Result<(), InboxError> {
        self.connect(agent).map(drop)
    }

    /// Writes these lines to the socket, and waits until they are read.
    pub(super) fn post(&self, agent: &Agent, lines: &str) -> Result<(), WakeFailure> {
        let connection = self.connect(agent)?;
        match connection.say(lines).map_err(|error| WakeFailure::Unsaid(error.to_string()))? {
            SocketSendResult::Heard => Ok(()),
            SocketSendResult::Unheard => {
                Err(WakeFailure::Unheard("it does not read what is sent to it".to_string()))
            }
        }
    }

    fn connect(&self, agent: &Agent) -> Result<socket::Connection, InboxError> {
        Ok(socket::connect(&self.socket, agent.process.pid(), LIMIT)?)
    }
}
