//! Which reservations an agent that returns gets back, and which are the same.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::domain::pattern::{Pattern, has_wildcard};
use crate::domain::{Agent, Reservation, TaskRef};
use crate::store::{Census, Mesh};

use super::conflicts::WantedReservations;
use super::covering::covers_all_of;
use crate::ops::agents::roster::Roster;

/// Gives the agent back what it held, as far as that would be granted now. Returns what would not.
pub(in crate::ops) fn restore_reservations(
    mesh: &Mesh,
    census: &Census,
    agent: &mut Agent,
    held: Vec<Reservation>,
    now: Timestamp,
) -> Vec<String> {
    // What was taken with a task ended with it; claims that can't be read prove nothing.
    let claims = mesh.tasks().claims().ok();
    let has = |task: &TaskRef| claims.as_ref().is_none_or(|claims| claims.has(agent, task));
    let is_held = |held: &Reservation| held.binds(now) && held.task.as_ref().is_none_or(has);
    let held: Vec<Reservation> = held.into_iter().filter(is_held).collect();
    let roster = Roster::of(mesh, Cow::Borrowed(census));
    let wanted = WantedReservations::new(mesh, held, &agent.cwd);
    let taken = wanted.conflicts(&roster, agent, now);
    // If something can't be read, take nothing back.
    let is_taken = |held: &&Reservation| {
        !roster.unknown().is_empty() || taken.iter().any(|(reservation, _)| reservation == held)
    };
    let (lost, back): (Vec<_>, Vec<_>) = wanted.reservations.iter().partition(is_taken);
    agent.reservations = back.into_iter().cloned().collect();
    lost.into_iter().map(|reservation| reservation.pattern.clone()).collect()
}

/// Removes the waits for paths that the agent now holds, and its contests of them.
pub(in crate::ops) fn drop_waits_for(agent: &mut Agent, held: &[Reservation]) {
    let patterns: Vec<Pattern> = held.iter().flat_map(|held| held.patterns(&agent.cwd)).collect();
    let Agent { cwd, waits_for, contests, .. } = agent;
    let has = |wanted: &Pattern| patterns.iter().any(|pattern| covers_all_of(pattern, wanted));
    waits_for.retain(|wait| !wait.patterns(cwd).iter().all(has));
    contests.retain(|contest| !contest.wanted.patterns(cwd).first().is_some_and(has));
}

/// Whether they are the same pattern at the same place, with the same reach. A path that has become a directory since
/// differs only by its slash.
pub(super) fn is_same_place(a: &Reservation, b: &Reservation) -> bool {
    let is_path = |one: &Reservation| one.is_literal || !has_wildcard(&one.pattern);
    let same = match is_path(a) && is_path(b) {
        true => a.pattern.trim_end_matches('/') == b.pattern.trim_end_matches('/'),
        false => a.pattern == b.pattern,
    };
    same && a.root == b.root && a.is_literal == b.is_literal && a.reach == b.reach
}
