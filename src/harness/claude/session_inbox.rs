//! Wakes Claude Code through the inbox socket that it keeps for each session.
//!
//! A message posted there starts a turn, and is shown as another session's words, not as the user's. This route is for
//! a session without a waiter: the waiter was killed, or has waited for as long as a hook may run.
//!
//! Claude Code's own record of the session names the socket; `harness::inbox_socket` reads it and posts.

use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::domain::Agent;
use crate::domain::hook::PermissionMode;
use crate::harness::inbox_socket::{RecordedSession, SessionRecordFormat};
use crate::harness::wake::{InboxError, PostOrigin, SessionInbox, SessionInboxes, WakeFailure};
use crate::sys::environment::Home;
use crate::sys::{clock, process};

use super::inbox_permission::{self, ClaudeRefusal, InboundContext};
use super::install::{self, DIRECTORY};

const RECORDS: SessionRecordFormat = SessionRecordFormat {
    title: "Claude Code",
    variable: DIRECTORY,
    folder: ".claude",
    kind: "interactive",
    socket: "messagingSocketPath",
};

/// The states, by Claude Code's own record, in which a session that is idle by its hooks takes a message. For a moment
/// after the last hook of a turn it is still busy, or the user's command runs in the background; it takes the message
/// as soon as it can.
const TAKES: [&str; 3] = ["idle", "busy", "shell"];

/// A running session, by Claude Code's record of it.
#[derive(Debug)]
struct ClaudeSession(RecordedSession);

/// The inboxes of all sessions.
pub(super) struct ClaudeInboxes;

impl SessionInboxes for ClaudeInboxes {
    fn find(&self, home: &Home, agent: &Agent) -> Result<Box<dyn SessionInbox>, InboxError> {
        Ok(Box::new(ClaudeSession::of(home, agent)?))
    }

    fn check(
        &self,
        home: &Home,
        agent: &Agent,
        permissions: PermissionMode,
        origin: PostOrigin,
    ) -> Result<Box<dyn SessionInbox>, InboxError> {
        let session = ClaudeSession::of(home, agent)?;
        // At a dialog it waits for its user, and is left alone.
        let status = session.0.text("status");
        if !TAKES.contains(&status) {
            return Err(ClaudeRefusal::Status(status.to_string()).into());
        }
        let args = process::details(agent.process.pid()).map(|details| details.look.args);
        let args = args.ok_or(ClaudeRefusal::UnseenProcess)?;
        inbox_permission::check(&InboundContext {
            config: &session.0.config,
            cwd: Path::new(session.0.text("cwd")),
            args: &args,
            permissions,
            origin,
        })?;
        Ok(Box::new(session))
    }

    fn is_interrupted(&self, home: &Home, agent: &Agent, since: SystemTime) -> bool {
        let session = ClaudeSession::of(home, agent);
        let is_later = |idle: SystemTime| idle > since;
        session.is_ok_and(|it| it.0.text("status") == "idle" && it.has_status_since().is_some_and(is_later))
    }
}

impl ClaudeSession {
    fn of(home: &Home, agent: &Agent) -> Result<Self, InboxError> {
        Ok(Self(RECORDS.find(install::config_dir(home), agent)?))
    }

    /// Since when it has its status.
    fn has_status_since(&self) -> Option<SystemTime> {
        let millis = self.0.number("statusUpdatedAt")?;
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(millis))
    }
}

impl SessionInbox for ClaudeSession {
    /// Posts the text with the time appended: Claude Code drops a text that the same process posts twice within 30 s.
    fn post(&self, agent: &Agent, text: &str) -> Result<(), WakeFailure> {
        let text = format!("{text} ({})", clock::iso(clock::now()));
        let line = json!({ "type": "user", "message": { "role": "user", "content": text } });
        self.0.post(agent, &format!("{line}\n"))
    }

    fn probe(&self, agent: &Agent) -> Result<(), InboxError> {
        self.0.probe(agent)
    }
}
