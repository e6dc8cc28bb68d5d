//! Sends the copies that need `mesh.lock`: to a session that is gone, to an agent without an inbox, or to one whose
//! registration disappeared meanwhile. The lock is taken after the sender's own was released, and before it is taken
//! again.

use super::{AcceptedCopy, CopyOutcome, CopyResult, Post, Postponed};
use crate::domain::{Agent, AgentName};
use crate::ops::agents::list;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::messages::post_to_agent::{self, just_left, not_running};
use crate::ops::wake::WakeRoute;
use crate::store::{LockedMesh, Posted};
use crate::sys::clock;

impl Post<'_> {
    /// Sends the postponed copies. Nothing ends this early: a copy that is in an inbox must be reported, or its sender
    /// would send it again.
    pub(super) fn send_postponed(&mut self) -> Result<(), CommandError> {
        let is_postponed = |copy: &CopyResult| matches!(copy.outcome, CopyOutcome::Postponed(_));
        if !self.copies.iter().any(is_postponed) {
            return Ok(());
        }
        let locked = self.mesh.lock().map_err(CommandError::from);
        for copy in std::mem::take(&mut self.copies) {
            let outcome = match (copy.outcome, &locked) {
                (CopyOutcome::Postponed(what), Ok(locked)) => self.send_locked(locked, what),
                (CopyOutcome::Postponed(Postponed::Unsure(agent, posted, route)), Err(error)) => {
                    self.settle(Err(error), &agent, *posted, route)
                }
                (CopyOutcome::Postponed(_), Err(error)) => Err(error.clone()),
                (outcome, _) => Ok(outcome),
            };
            let outcome = outcome.unwrap_or_else(CopyOutcome::Refused);
            self.copies.push(CopyResult { to: copy.to, outcome });
        }
        let is_full = |copy: &CopyResult| match &copy.outcome {
            CopyOutcome::Refused(error) if error.kind == CommandErrorKind::DiskFull => Some(error.clone()),
            _ => None,
        };
        match self.copies.iter().find_map(is_full) {
            Some(error) if !self.has_sent() => Err(error),
            _ => Ok(()),
        }
    }

    /// Sends one postponed copy. While `mesh.lock` is held, nobody is buried or comes back.
    fn send_locked(&self, locked: &LockedMesh<'_>, what: Postponed) -> Result<CopyOutcome, CommandError> {
        match what {
            Postponed::Hold(name) => self.hold(&name),
            Postponed::NoInbox(agent, route) => {
                let just_left = || just_left(&agent.name);
                // A pi-messenger agent may have renamed itself and removed its old inbox.
                let agent = locked.own_record(&agent).map_err(|_| just_left())?.agent;
                self.note_owner(&agent);
                locked.make_inbox(&agent.name)?;
                let mut outbox = self.mesh.outboxes().lock(&self.from.name)?;
                let expires_at = self.draft.expires_at_for(&agent);
                let (stamp, message) = self.message(&mut outbox, &agent.name, expires_at)?;
                let posted = outbox.post(stamp, &agent.name, message)?.ok_or_else(just_left)?;
                Ok(self.sent(&agent, posted, route))
            }
            Postponed::Unsure(agent, posted, route) => self.settle(Ok(locked), &agent, *posted, route),
        }
    }

    fn settle(
        &self,
        locked: Result<&LockedMesh<'_>, &CommandError>,
        agent: &Agent,
        posted: Posted,
        route: WakeRoute,
    ) -> Result<CopyOutcome, CommandError> {
        post_to_agent::settle(self.op, self.mesh, locked, &self.from.name, agent, &posted)?;
        Ok(self.sent(agent, posted, route))
    }

    fn hold(&self, name: &AgentName) -> Result<CopyOutcome, CommandError> {
        let came_back = || not_running(name, "it has just come back", clock::now());
        let (_, grave) = list::grave_of(self.mesh, name)?.ok_or_else(came_back)?;
        let mut outbox = self.mesh.outboxes().lock(&self.from.name)?;
        let (stamp, message) = self.message(&mut outbox, name, self.draft.expires_at())?;
        let posted = outbox.hold(&grave.id, stamp, name, message)?.ok_or_else(came_back)?;
        let (to, id, stem) = (name.clone(), posted.message.id, posted.stem);
        Ok(CopyOutcome::Sent(
            AcceptedCopy { to, id, stem, is_held: true, route: WakeRoute::None, elsewhere: None },
            None,
        ))
    }
}
