//! `msg leave`: frees the agent's tasks and paths; unread mail waits for the session to come back.
//!
//! The session's record says that the agent left, before any mail is moved (`store::agents::burial`). So an agent whose
//! registration merely vanished is registered again by its next command, and one that left or was evicted is not.

use crate::domain::{Agent, AgentName, EventKind};
use crate::ops::link::elsewhere;
use crate::store::{Claim, GoneReason, Mesh, StoreError};
use crate::sys::clock;

use super::identity;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::link::ask::poke;
use crate::ops::person_required;
use crate::ops::reservations::waiting;
use crate::ops::tasks::claim_upkeep;

#[derive(Clone, Debug)]
pub struct LeaveOutcome {
    pub name: AgentName,
    pub unclaimed: Vec<Claim>,
    pub released: usize,
    /// Unread messages; they come back with the session.
    pub unread: usize,
}

pub fn leave(op: &Op) -> Result<LeaveOutcome, CommandError> {
    let (mesh, caller) = identity::caller(op)?;
    person_required::required_for_another(op, &caller.agent, || {
        person_required::with_mesh(op, &format!("msg leave --as {}", caller.agent.name))
    })?;
    leave_as(op, &mesh, &caller.agent)
}

/// Makes that agent leave.
pub(in crate::ops) fn leave_as(op: &Op, mesh: &Mesh, agent: &Agent) -> Result<LeaveOutcome, CommandError> {
    if agent.is_foreign() {
        return Err(StoreError::Foreign(agent.name.to_string()).into());
    }
    elsewhere::refuse(agent, "leave")?;
    let mut locked = mesh.lock_for(agent)?;
    let record = locked.own_record(agent)?;
    let mut change = locked.change();
    let unclaimed = claim_upkeep::give_up(&mut change, &record.agent)?;
    let unread = mesh.inboxes().unread_count(&record.agent)?;
    change.commit_and_bury(&record, GoneReason::Left, clock::now(), None)?;
    waiting::notify_waiting_or_warn(op, mesh, &mut locked);
    op.feed(EventKind::Leave, &record.agent.name, None, None);
    drop(locked);
    poke(op, mesh);
    let now = clock::now();
    let released = record.agent.reservations.iter().filter(|reservation| reservation.binds(now)).count();
    Ok(LeaveOutcome { name: record.agent.name, unclaimed, released, unread })
}
