//! How an idle session of a harness is woken from outside, apart from a waiter and a paste.

use std::time::SystemTime;

use crate::domain::Agent;
use crate::domain::hook::PermissionMode;
use crate::sys::environment::Home;

/// Why an agent could not be woken.
#[derive(Debug)]
pub enum WakeFailure {
    /// It was told nothing.
    Unsaid(String),
    /// Our text is there and may still start a turn.
    Unheard(String),
}

/// A command of the harness that gives a session a prompt.
pub trait PromptQueue: Sync {
    /// The command, as people know it.
    fn command(&self) -> &'static str;

    /// Gives the agent's session that prompt. The error says why that was not possible.
    fn prompt(&self, agent: &Agent, text: &str) -> Result<(), String>;

    /// Whether the command can be run at all.
    fn probe(&self, agent: &Agent) -> Result<(), String>;
}

/// The inboxes that a harness keeps for its sessions: what is posted there starts a turn.
pub trait SessionInboxes: Sync {
    /// The inbox of the agent's session. The error says why there is none.
    fn find(&self, home: &Home, agent: &Agent) -> Result<Box<dyn SessionInbox>, String>;

    /// The same, if a message would be taken up there without asking the user. The error says why not.
    fn check(
        &self,
        home: &Home,
        agent: &Agent,
        permissions: PermissionMode,
        origin: PostOrigin,
    ) -> Result<Box<dyn SessionInbox>, String>;

    /// Whether it became idle without a hook, as when its user interrupts it. `since` is when its turn began.
    fn is_interrupted(&self, home: &Home, agent: &Agent, since: SystemTime) -> bool;
}

/// One session's inbox.
pub trait SessionInbox: Send {
    fn post(&self, agent: &Agent, text: &str) -> Result<(), WakeFailure>;

    /// Whether somebody listens there. Nothing is posted.
    fn probe(&self, agent: &Agent) -> Result<(), String>;
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
