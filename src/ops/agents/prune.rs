//! Forgets agents that are long gone. `join` does this in passing, once a day and within limits.
//!
//! It removes sessions and empty graves that are older than `graveDays`, at most 200 of each, and messages that were read
//! or sent more than 30 days ago, of everybody; `sessions/.pruned` has the time of the last pruning. A grave with unread
//! mail is kept.
//! `work_done::who_joins_forgets_those_who_are_long_gone_once_a_day` checks that.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::domain::Liveness;
use crate::store::{Grave, MESSAGES_KEPT, MESSAGES_KEPT_AT_MOST, Mesh, SessionRecord, StoreError};
use crate::sys::{clock, process};

use crate::ops::context::Context;
use crate::ops::effects::Op;

/// How often pruning happens.
const EVERY: Duration = Duration::from_hours(24);
/// The most sessions, and the most graves, removed at a time. If there are more, the next `join` goes on.
const MOST: usize = 200;

/// The age limit: `graveDays` ago.
pub(in crate::ops) fn too_old(ctx: &Context) -> Timestamp {
    clock::now() - SignedDuration::from_hours(24 * i64::from(ctx.settings.grave_days()))
}

/// Whether a grave can be removed. Unread mail stays, however old it is.
pub(in crate::ops) fn is_old_grave(grave: &Grave, too_old: Timestamp) -> bool {
    grave.unread == 0 && grave.at < too_old
}

/// Whether a session can be forgotten: it is old, its process is gone, it has no grave, and no mail of it is left under
/// a name that nobody has.
pub(in crate::ops) fn is_old_session(
    mesh: &Mesh,
    session: &SessionRecord,
    too_old: Timestamp,
) -> Result<bool, StoreError> {
    let agent = &session.last.agent;
    let is_gone = process::liveness(&agent.process) == Liveness::Gone;
    if !is_gone || agent.started_at >= too_old || !mesh.graves().of_session(&agent.session)?.is_empty() {
        return Ok(false);
    }
    // pi-messenger removes the registrations of dead agents and leaves their inboxes.
    for name in agent.all_names() {
        if mesh.inboxes().has_mail(name)? && mesh.registry().get(name)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Prunes if nobody has for a day. An error is only a warning.
pub(in crate::ops) fn in_passing(op: &Op, mesh: &Mesh) {
    if let Err(error) = prune(op, mesh) {
        op.warn(format!("old sessions and graves could not be removed: {error}"));
    }
}

fn prune(ctx: &Context, mesh: &Mesh) -> Result<(), StoreError> {
    if !mesh.upkeep().is_prune_due(EVERY)? {
        return Ok(());
    }
    let age = Duration::from_hours(24 * u64::from(ctx.settings.grave_days()));
    let too_old = too_old(ctx);
    let graves = mesh.graves().older_than(age, MOST, |grave| is_old_grave(grave, too_old))?;
    close(mesh, &graves)?;
    let is_old = |session: &SessionRecord| is_old_session(mesh, session, too_old).unwrap_or(false);
    let sessions = mesh.sessions().older_than(age, MOST, is_old)?;
    forget(mesh, &sessions, too_old)?;
    if graves.len() < MOST && sessions.len() < MOST {
        mesh.archive().prune_all(clock::now() - MESSAGES_KEPT, MESSAGES_KEPT_AT_MOST)?;
        mesh.upkeep().record_pruned()?;
    }
    Ok(())
}

fn close(mesh: &Mesh, graves: &[Grave]) -> Result<(), StoreError> {
    if graves.is_empty() {
        return Ok(());
    }
    let locked = mesh.lock()?;
    // A grave that got mail meanwhile stays: its inbox is not empty.
    graves.iter().try_for_each(|grave| locked.close_grave(&grave.id))
}

fn forget(mesh: &Mesh, sessions: &[SessionRecord], too_old: Timestamp) -> Result<(), StoreError> {
    if sessions.is_empty() {
        return Ok(());
    }
    let locked = mesh.lock()?;
    for session in sessions {
        // It may have come back since it was read.
        let Some(now) = mesh.sessions().get(&session.last.agent.session)? else { continue };
        if is_old_session(mesh, &now, too_old)? {
            locked.forget(&now.last.agent.session)?;
        }
    }
    Ok(())
}
