//! Wakes Qwen Code through the inbox socket that it keeps for each session in a terminal.
//!
//! It takes up what its own processes post, which have a token from it in their environment; what others post it may
//! hold until its user has looked at it. So only our MCP server posts there. Qwen Code calls no hook at the start of
//! the turn that this begins: the mail comes with the first tool call or at the stop.
//!
//! Its own record of the session names the socket; `harness::inbox_socket` reads it and posts.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::json;
use uuid::Uuid;

use crate::domain::Agent;
use crate::domain::hook::PermissionMode;
use crate::domain::text_edit::json::{Dialect, Document, NodeKind};
use crate::harness::inbox_socket::{RecordedSession, SessionRecordFormat};
use crate::harness::wake::{InboxError, PostOrigin, SessionInbox, SessionInboxes, WakeFailure};
use crate::sys::environment::{Home, variable};
use crate::sys::files;

use super::install;

const RECORDS: SessionRecordFormat = SessionRecordFormat {
    title: "Qwen Code",
    variable: install::DIRECTORY,
    folder: ".qwen",
    kind: "tui",
    socket: "ipcPath",
};
/// What a process that Qwen Code started shows, so that its messages are taken up.
const TOKEN: &str = "QWEN_CODE_MESSAGING_TOKEN";
/// Settings by which its user keeps messages away, and the values that don't.
const INBOUND: [&str; 2] = ["agents", "crossSessionInbound"];
const MESSAGING: [&str; 2] = ["agents", "crossSessionMessaging"];
const ACCEPT: &str = "accept";

/// Why Qwen Code would not take up a message.
#[derive(Debug, thiserror::Error)]
enum QwenRefusal {
    #[error("Qwen Code may hold what other processes than its own post")]
    FromOutside,
    #[error("`{}` can't be read: {reason}", path.display())]
    UnreadableSettings { path: PathBuf, reason: Box<dyn Error + Send + Sync> },
    #[error("`{}` does not accept messages from other processes", .0.display())]
    NotAccepted(PathBuf),
}

impl From<QwenRefusal> for InboxError {
    fn from(refusal: QwenRefusal) -> Self {
        Self::Refused(refusal.into())
    }
}

/// A running session, by Qwen Code's record of it.
#[derive(Debug)]
struct QwenSession(RecordedSession);

/// The inboxes of all sessions.
pub(super) struct QwenInboxes;

impl SessionInboxes for QwenInboxes {
    fn find(&self, home: &Home, agent: &Agent) -> Result<Box<dyn SessionInbox>, InboxError> {
        Ok(Box::new(QwenSession::of(home, agent)?))
    }

    fn check(
        &self,
        home: &Home,
        agent: &Agent,
        _: PermissionMode,
        origin: PostOrigin,
    ) -> Result<Box<dyn SessionInbox>, InboxError> {
        let session = QwenSession::of(home, agent)?;
        if origin == PostOrigin::Outside {
            return Err(QwenRefusal::FromOutside.into());
        }
        let project = Path::new(&agent.cwd).join(".qwen/settings.json");
        for settings in [session.0.config.join("settings.json"), project] {
            is_accepted(&settings)?;
        }
        Ok(Box::new(session))
    }

    /// Its record does not say what the session is doing.
    fn is_interrupted(&self, _: &Home, _: &Agent, _: SystemTime) -> bool {
        false
    }
}

impl QwenSession {
    fn of(home: &Home, agent: &Agent) -> Result<Self, InboxError> {
        Ok(Self(RECORDS.find(install::config_dir(home), agent)?))
    }
}

impl SessionInbox for QwenSession {
    /// Posts the text. This must be a process that Qwen Code started.
    fn post(&self, agent: &Agent, text: &str) -> Result<(), WakeFailure> {
        let no_token = || WakeFailure::Unsaid("Qwen Code gave this process no token".to_string());
        let token = variable(TOKEN).ok_or_else(no_token)?;
        let auth = json!({ "msgV": 1, "type": "auth", "token": token });
        let message = json!({
            "msgV": 1, "msgId": Uuid::new_v4().to_string(), "type": "user", "fromName": "msg", "priority": "next",
            "toSessionId": agent.session.as_str(), "message": { "role": "user", "content": text },
        });
        self.0.post(agent, &format!("{auth}\n{message}\n"))
    }

    fn probe(&self, agent: &Agent) -> Result<(), InboxError> {
        self.0.probe(agent)
    }
}

/// Whether these settings let messages in. A file that is not there does.
fn is_accepted(path: &Path) -> Result<(), QwenRefusal> {
    let unreadable = |reason| QwenRefusal::UnreadableSettings { path: path.to_path_buf(), reason };
    let Some(bytes) = files::read(path).map_err(|error| unreadable(error.into()))? else {
        return Ok(());
    };
    let settings = Document::parse(&bytes, Dialect::Comments).map_err(|error| unreadable(error.into()))?;
    let value = |path: [&str; 2]| {
        let node = settings.get(&path.map(str::to_string)).map_err(|error| unreadable(error.into()));
        Ok::<_, QwenRefusal>(node?.map(|node| node.kind.clone()))
    };
    let is_open = match value(INBOUND)? {
        None => true,
        Some(NodeKind::Text(text)) => text == ACCEPT,
        Some(_) => false,
    };
    let is_on = !matches!(value(MESSAGING)?, Some(NodeKind::Bool(false)));
    match is_open && is_on {
        true => Ok(()),
        false => Err(QwenRefusal::NotAccepted(path.to_path_buf())),
    }
}
