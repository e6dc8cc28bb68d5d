//! Wakes Qwen Code through the inbox socket that it keeps for each session in a terminal.
//!
//! It takes up what its own processes post, which have a token from it in their environment; what others post it may
//! hold until its user has looked at it. So only our MCP server posts there. Qwen Code calls no hook at the start of the
//! turn that this begins: the mail comes with the first tool call or at the stop.
//!
//! Its own record of the session names the socket. The record must be of this very session, and the agent's process
//! must be the one that listens (`sys::socket`).

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use uuid::Uuid;

use crate::domain::Agent;
use crate::domain::hook::PermissionMode;
use crate::domain::text_edit::json::{Dialect, Document, NodeKind};
use crate::harness::wake::{PostOrigin, SessionInbox, SessionInboxes, WakeFailure};
use crate::sys::environment::{Home, variable};
use crate::sys::files::BoundedRead;
use crate::sys::socket::{self, SocketSendResult};
use crate::sys::{files, program};

use super::install;

/// Time limit of posting, in all.
const LIMIT: Duration = Duration::from_secs(2);
/// Size limit of a session record, in bytes.
const MOST: u64 = 256 * 1024;
/// What a process that Qwen Code started shows, so that its messages are taken up.
const TOKEN: &str = "QWEN_CODE_MESSAGING_TOKEN";
/// Variables that say where the agent's own Qwen Code keeps its files.
const VARIABLES: [&str; 2] = [install::DIRECTORY, "HOME"];
/// Settings by which its user keeps messages away, and the values that don't.
const INBOUND: [&str; 2] = ["agents", "crossSessionInbound"];
const MESSAGING: [&str; 2] = ["agents", "crossSessionMessaging"];
const ACCEPT: &str = "accept";

/// Qwen Code's record of a running session.
#[derive(Debug)]
struct QwenSession {
    /// The directory of the user's settings.
    config: PathBuf,
    socket: PathBuf,
}

/// The inboxes of all sessions.
pub(super) struct Inboxes;

impl SessionInboxes for Inboxes {
    fn find(&self, home: &Home, agent: &Agent) -> Result<Box<dyn SessionInbox>, String> {
        Ok(Box::new(QwenSession::of(home, agent)?))
    }

    fn check(
        &self,
        home: &Home,
        agent: &Agent,
        _: PermissionMode,
        origin: PostOrigin,
    ) -> Result<Box<dyn SessionInbox>, String> {
        let session = QwenSession::of(home, agent)?;
        if origin == PostOrigin::Outside {
            return Err("Qwen Code may hold what other processes than its own post".to_string());
        }
        let project = Path::new(&agent.cwd).join(".qwen/settings.json");
        for settings in [session.config.join("settings.json"), project] {
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
    /// Reads the record of the agent's session. The error says why there is none.
    fn of(home: &Home, agent: &Agent) -> Result<Self, String> {
        let pid = agent.process.pid();
        let mut dirs = vec![install::config_dir(home)];
        dirs.extend(config_of(&program::variables_of(pid, &VARIABLES)));
        for config in dirs {
            let path = config.join(format!("sessions/{pid}.json"));
            let record = match files::read_at_most(&path, MOST).map_err(|error| error.to_string())? {
                BoundedRead::Absent => continue,
                BoundedRead::Content(bytes) => serde_json::from_slice::<Value>(&bytes).ok(),
                BoundedRead::TooLarge => None,
            };
            let record = record.ok_or("Qwen Code's record of it can't be read")?;
            return Self::from_record(agent, config, &record);
        }
        Err("Qwen Code has no record of it".to_string())
    }

    fn from_record(agent: &Agent, config: PathBuf, record: &Value) -> Result<Self, String> {
        let text = |key: &str| record[key].as_str().unwrap_or_default();
        let is_its_own = record["pid"].as_i64() == Some(agent.process.pid().get().into())
            && text("sessionId") == agent.session.as_str();
        match is_its_own && text("kind") == "tui" {
            true => Ok(Self { config, socket: text("ipcPath").into() }),
            false => Err("Qwen Code's record is of another session".to_string()),
        }
    }

    fn connect(&self, agent: &Agent) -> Result<socket::Connection, String> {
        socket::connect(&self.socket, agent.process.pid(), LIMIT)
            .map_err(|reason| format!("the socket of its inbox: {reason}"))
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
        let connection = self.connect(agent).map_err(WakeFailure::Unsaid)?;
        let said = connection.say(&format!("{auth}\n{message}\n"));
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

/// Whether these settings let messages in. A file that is not there does.
fn is_accepted(path: &Path) -> Result<(), String> {
    let unreadable = |reason: String| format!("`{}` can't be read: {reason}", path.display());
    let Some(bytes) = files::read(path).map_err(|error| unreadable(error.to_string()))? else {
        return Ok(());
    };
    let settings =
        Document::parse(&bytes, Dialect::Comments).map_err(|error| unreadable(error.to_string()))?;
    let value = |path: [&str; 2]| {
        let node = settings.get(&path.map(str::to_string)).map_err(|error| unreadable(error.to_string()));
        Ok::<_, String>(node?.map(|node| node.kind.clone()))
    };
    let is_open = match value(INBOUND)? {
        None => true,
        Some(NodeKind::Text(text)) => text == ACCEPT,
        Some(_) => false,
    };
    let is_on = !matches!(value(MESSAGING)?, Some(NodeKind::Bool(false)));
    match is_open && is_on {
        true => Ok(()),
        false => Err(format!("`{}` does not accept messages from other processes", path.display())),
    }
}

fn config_of(variables: &[(String, String)]) -> Option<PathBuf> {
    let value = |name: &str| variables.iter().find(|(key, _)| key == name).map(|(_, value)| Path::new(value));
    let config = value(install::DIRECTORY).filter(|path| path.is_absolute()).map(Path::to_path_buf);
    config.or_else(|| value("HOME").filter(|path| path.is_absolute()).map(|home| home.join(".qwen")))
}
