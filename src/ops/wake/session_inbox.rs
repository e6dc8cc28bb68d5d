//! The inbox that a harness keeps for an agent's session, and whether a message would be taken up there.

use crate::domain::Agent;
use crate::domain::hook::PermissionMode;
use crate::harness::wake::{PostOrigin, SessionInbox, SessionInboxes};
use crate::harness::{self, HarnessSupport};
use crate::ops::context::Context;
use crate::store::Mesh;

/// The inboxes of the agent's harness, if it keeps any.
pub(super) fn of(agent: &Agent) -> Option<&'static dyn SessionInboxes> {
    agent.harness.and_then(harness::support).and_then(HarnessSupport::inboxes)
}

/// The agent's inbox, whether or not a message would be taken up there.
pub(super) fn find(ctx: &Context, agent: &Agent) -> Result<Box<dyn SessionInbox>, String> {
    of(agent).ok_or("its harness keeps no inbox for it")?.find(&ctx.home, agent)
}

/// The agent's inbox, if a message would be taken up there without asking the user. The error says why not.
pub(super) fn check(
    ctx: &Context,
    mesh: &Mesh,
    agent: &Agent,
    origin: PostOrigin,
) -> Result<Box<dyn SessionInbox>, String> {
    let inboxes = of(agent).ok_or("its harness keeps no inbox for it")?;
    let bypasses =
        mesh.session_states().bypasses_permissions(&agent.session).map_err(|error| error.to_string())?;
    let permissions = if bypasses { PermissionMode::Bypasses } else { PermissionMode::Asks };
    inboxes.check(&ctx.home, agent, permissions, origin)
}
