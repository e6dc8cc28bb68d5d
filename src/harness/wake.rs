//! Interfaces for waking an idle session from outside: a prompt queue, a session inbox, a channel. Each harness
//! implements those that it has.

use std::time::SystemTime;

use crate::domain::Agent;
use crate::domain::hook::PermissionMode;
use crate::sys::environment::Home;
use crate::sys::files::FileError;
use crate::sys::program::RunError;
use crate::sys::socket::SocketError;

/// Why an agent could not be woken.
#[derive(Debug)]
pub enum WakeFailure {
    /// It was told nothing.
    Unsaid(String),
    /// Our text is there and may still start a turn.
    Unheard(String),
}

/// Why a session could not be given a prompt.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    #[error("its process is gone")]
    ProcessGone,
    #[error("its process is not {0}")]
    AnotherProgram(&'static str),
    #[error("its program is unknown")]
    UnknownProgram,
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Why nothing can be posted to the inbox of a session.
#[derive(Debug, thiserror::Error)]
pub enum InboxError {
    #[error("{0} has no record of it")]
    NoRecord(&'static str),
    #[error("{0}'s record of it can't be read")]
    UnreadableRecord(&'static str),
    #[error("{0}'s record is of another session")]
    AnotherSession(&'static str),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("the socket of its inbox: {0}")]
    Socket(#[from] SocketError),
    /// What the harness itself would do with the message.
    #[error("{0}")]
    Refused(Box<dyn std::error::Error + Send + Sync>),
}

impl From<QueueError> for WakeFailure {
    fn from(error: QueueError) -> Self {
        Self::Unsaid(error.to_string())
    }
}

impl From<InboxError> for WakeFailure {
    fn from(error: InboxError) -> Self {
        Self::Unsaid(error.to_string())
    }
}

/// A command of the harness that gives a session a prompt.
pub trait PromptQueue: Sync {
    /// The command, as people know it.
    fn command(&self) -> &'static str;

    /// Gives the agent's session that prompt.
    fn prompt(&self, agent: &Agent, text: &str) -> Result<(), QueueError>;

    /// Whether the command can be run at all.
    fn probe(&self, agent: &Agent) -> Result<(), QueueError>;
}

/// The inboxes that a harness keeps for its sessions: what is posted there starts a turn.
pub trait SessionInboxes: Sync {
    /// The inbox of the agent's session.
    fn find(&self, home: &Home, agent: &Agent) -> Result<Box<dyn SessionInbox>, InboxError>;

    /// The same, if a message would be taken up there without asking the user.
    fn check(
        &self,
        home: &Home,
        agent: &Agent,
        permissions: PermissionMode,
        origin: PostOrigin,
    ) -> Result<Box<dyn SessionInbox>, InboxError>;

    /// Whether it became idle without a hook, as when its user interrupts it. `since` is when its turn began.
    fn is_interrupted(&self, home: &Home, agent: &Agent, since: SystemTime) -> bool;
}

/// One session's inbox.
pub trait SessionInbox: Send {
    fn post(&self, agent: &Agent, text: &str) -> Result<(), WakeFailure>;

    /// Whether somebody listens there. Nothing is posted.
    fn probe(&self, agent: &Agent) -> Result<(), InboxError>;
}

/// The sender of a post.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PostOrigin {
    Outside,
    /// One of the session's own processes.
    OwnProcess,
}

/// Notifications that an MCP server sends to a session unasked.
#[derive(Clone, Copy, Debug)]
pub struct ChannelSupport {
    /// The name that the harness gives as an MCP client.
    pub client: &'static str,
    pub capability: &'static str,
    pub method: &'static str,
    /// Whether the command line of the harness admits our server.
    pub is_admitted: fn(&[String]) -> bool,
}
