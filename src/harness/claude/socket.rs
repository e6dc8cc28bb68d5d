//! Wakes Claude Code through the inbox socket that it keeps for each session.
//!
//! A message posted there starts a turn, and is shown as another session's words, not as the user's. This route is for
//! a session without a waiter: the waiter was killed, or has waited for as long as a hook may run.
//!
//! Claude Code's own record of the session names the socket. The record must be of this very session, the socket must
//! be the user's in a directory where nobody else could have put it, and the agent's process must be the one that
//! listens (`SO_PEERCRED`; `sys::socket`). Connecting, writing and being heard have two seconds together. A text that
//! was written but not heard stays counted, so it is not sent twice.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::domain::Agent;
use crate::domain::hook::PermissionMode;
use crate::harness::wake::{PostOrigin, SessionInbox, SessionInboxes, WakeFailure};
use crate::sys::environment::Home;
use crate::sys::files::BoundedRead;
use crate::sys::socket::{self, SocketSendResult};
use crate::sys::{clock, files, process, program};

use super::inbound::{self, InboundContext};
use super::install::{self, DIRECTORY};

/// Time limit of posting, in all.
const LIMIT: Duration = Duration::from_secs(2);
/// Size limit of a session record, in bytes.
const MOST: u64 = 256 * 1024;
/// Variables that say where the agent's own Claude Code keeps its files.
const VARIABLES: [&str; 2] = [DIRECTORY, "HOME"];

/// The states, by Claude Code's own record, in which a session that is idle by its hooks takes a message. For a moment
/// after the last hook of a turn it is still busy, or the user's command runs in the background; it takes the message
/// as soon as it can.
const TAKES: [&str; 3] = ["idle", "busy", "shell"];

/// Claude Code's record of a running session.
#[derive(Debug)]
struct ClaudeSession {
    /// The directory of the user's settings.
    config: PathBuf,
    cwd: PathBuf,
    socket: PathBuf,
    status: String,
    /// Since when it has this status.
    since: Option<SystemTime>,
}

/// The inboxes of all sessions.
pub(super) struct Sockets;

impl SessionInboxes for Sockets {
    fn find(&self, home: &Home, agent: &Agent) -> Result<Box<dyn SessionInbox>, String> {
        Ok(Box::new(ClaudeSession::of(home, agent)?))
    }

    fn check(
        &self,
        home: &Home,
        agent: &Agent,
        permissions: PermissionMode,
        origin: PostOrigin,
    ) -> Result<Box<dyn SessionInbox>, String> {
        let session = ClaudeSession::of(home, agent)?;
        // At a dialog it waits for its user, and is left alone.
        if !TAKES.contains(&session.status.as_str()) {
            return Err(format!("Claude Code says that it is {}", said_of(&session.status)));
        }
        let args = process::details(agent.process.pid()).map(|details| details.look.args);
        let args = args.ok_or("its process can't be seen")?;
        inbound::check(&InboundContext {
            config: &session.config,
            cwd: &session.cwd,
            args: &args,
            unasked: permissions == PermissionMode::Bypasses,
            is_within: origin == PostOrigin::OwnProcess,
        })?;
        Ok(Box::new(session))
    }

    fn is_interrupted(&self, home: &Home, agent: &Agent, since: SystemTime) -> bool {
        let session = ClaudeSession::of(home, agent);
        let is_later = |idle: SystemTime| idle > since;
        session.is_ok_and(|session| session.status == "idle" && session.since.is_some_and(is_later))
    }
}

impl ClaudeSession {
    /// Reads the record of the agent's session.
    fn of(home: &Home, agent: &Agent) -> Result<Self, String> {
        let pid = agent.process.pid();
        let name = format!("sessions/{pid}.json");
        let mut dirs = vec![install::config_dir(home)];
        dirs.extend(config_of(&program::variables_of(pid, &VARIABLES)));
        for config in dirs {
            let read = files::read_at_most(&config.join(&name), MOST).map_err(|error| error.to_string())?;
            if matches!(read, BoundedRead::Absent) {
                continue;
            }
            let record = read.content().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
            let record = record.ok_or("Claude Code's record of it can't be read")?;
            return Self::from_record(agent, config, &record);
        }
        Err("Claude Code has no record of it".to_string())
    }

    fn from_record(agent: &Agent, config: PathBuf, record: &Value) -> Result<Self, String> {
        let text = |key: &str| record[key].as_str().unwrap_or_default();
        let is_its_own = record["pid"].as_i64() == Some(agent.process.pid().get().into())
            && text("sessionId") == agent.session.as_str();
        if !is_its_own || text("kind") != "interactive" {
            return Err("Claude Code's record is of another session".to_string());
        }
        let since = record["statusUpdatedAt"].as_u64();
        Ok(Self {
            config,
            cwd: text("cwd").into(),
            socket: text("messagingSocketPath").into(),
            status: text("status").to_string(),
            since: since.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(since))),
        })
    }

    fn connect(&self, agent: &Agent) -> Result<socket::Connection, String> {
        socket::connect(&self.socket, agent.process.pid(), LIMIT)
            .map_err(|reason| format!("the socket of its inbox: {reason}"))
    }
}

impl SessionInbox for ClaudeSession {
    /// Posts the text with the time appended: Claude Code drops a text that the same process posts twice within 30 s.
    fn post(&self, agent: &Agent, text: &str) -> Result<(), WakeFailure> {
        let text = format!("{text} ({})", clock::iso(clock::now()));
        let line = json!({ "type": "user", "message": { "role": "user", "content": text } });
        let connection = self.connect(agent).map_err(WakeFailure::Unsaid)?;
        let said = connection.say(&format!("{line}\n"));
        match said.map_err(|error| WakeFailure::Unsaid(error.to_string()))? {
            SocketSendResult::Heard => Ok(()),
            SocketSendResult::Unheard => {
                Err(WakeFailure::Unheard("it does not read what is sent to it".to_string()))
            }
        }
    }

    fn probe(&self, agent: &Agent) -> Result<(), String> {
        self.connect(agent).map(drop)
    }
}

fn config_of(variables: &[(String, String)]) -> Option<PathBuf> {
    let value = |name: &str| variables.iter().find(|(key, _)| key == name).map(|(_, value)| Path::new(value));
    let config = value(DIRECTORY).filter(|path| path.is_absolute()).map(Path::to_path_buf);
    config.or_else(|| value("HOME").filter(|path| path.is_absolute()).map(|home| home.join(".claude")))
}

fn said_of(status: &str) -> String {
    if status.is_empty() { "something unknown".to_string() } else { crate::domain::quote_code(status) }
}
