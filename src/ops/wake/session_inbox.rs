//! The inbox that a harness keeps for an agent's session, and whether a message would be taken up there.

use crate::domain::Agent;
use crate::harness::wake::{InboxError, PostOrigin, SessionInbox, SessionInboxes, WakeFailure};
use crate::harness::{self, HarnessSupport};
use crate::ops::context::Context;
use crate::store::{Mesh, StoreError};

/// Why nothing can be posted to an agent's inbox.
#[derive(Debug, thiserror::Error)]
pub(in crate::ops) enum SessionInboxError {
    #[error("its harness keeps no inbox for it")]
    NoInbox,
    #[error(transparent)]
    Inbox(#[from] InboxError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<SessionInboxError> for WakeFailure {
    fn from(error: SessionInboxError) -> Self {
        Self::Unsaid(error.to_string())
    }
}

/// The inboxes of the agent's harness, if it keeps any.
pub(super) fn of(agent: &Agent) -> Option<&'static dyn SessionInboxes> {
    agent.harness.and_then(harness::support).and_then(HarnessSupport::inboxes)
}

/// The agent's inbox, whether or not a message would be taken up there.
pub(super) fn find(ctx: &Context, agent: &Agent) -> Result<Box<dyn SessionInbox>, SessionInboxError> {
    Ok(of(agent).ok_or(SessionInboxError::NoInbox)?.find(&ctx.home, agent)?)
}

/// The agent's inbox, if a message would be taken up there without asking the user.
pub(super) fn check(
    ctx: &Context,
    mesh: &Mesh,
    agent: &Agent,
    origin: PostOrigin,
) -> Result<Box<dyn SessionInbox>, SessionInboxError> {
    let inboxes = of(agent).ok_or(SessionInboxError::NoInbox)?;
    let permissions = mesh.session_states().permission_mode(&agent.session)?;
    Ok(inboxes.check(&ctx.home, agent, permissions, origin)?)
}
