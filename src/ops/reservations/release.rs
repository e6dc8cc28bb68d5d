//! `msg release`: gives up paths, and tells those who were refused.

use crate::domain::{AgentName, EventKind, PathWait, Reservation};
use crate::ops::reservations::reserve::BroadPatterns;
use crate::sys::clock;

use super::reserve::PatternBase;
use super::waiting;
use crate::ops::agents::identity;
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};

#[derive(Clone, Debug)]
pub struct ReleaseOutcome {
    pub holder: AgentName,
    pub reservations: Vec<Reservation>,
    /// Contests that it gave up.
    pub withdrawn: Vec<Reservation>,
}

/// Gives up the named reservations and contests, or all. If one of them is not the caller's, nothing changes.
pub fn release(op: &Op, patterns: &[String]) -> Result<ReleaseOutcome, CommandError> {
    let (mesh, caller) = identity::own_caller(op)?;
    let mut locked = mesh.lock()?;
    let me = locked.own_record(&caller)?.agent;
    let mut released: Vec<Reservation> = Vec::new();
    let mut withdrawn: Vec<Reservation> = Vec::new();
    let contested: Vec<Reservation> = me.contests.iter().map(|contest| contest.wanted.clone()).collect();
    for text in patterns {
        let mine = meant(op, &me.reservations, text);
        let wishes = meant(op, &contested, text);
        if mine.is_empty() && wishes.is_empty() {
            return Err(not_held(text, &me.reservations));
        }
        withdrawn.extend(wishes);
        released.extend(mine.into_iter().filter(|held| !released.contains(held)).collect::<Vec<_>>());
    }
    if patterns.is_empty() {
        released = me.reservations.clone();
        withdrawn = contested;
    }
    if !released.is_empty() || !withdrawn.is_empty() {
        let mut change = locked.change();
        change.edit(&me, |agent| {
            agent.reservations.retain(|held| !released.contains(held));
            agent.contests.retain(|contest| !withdrawn.contains(&contest.wanted));
            let is_of = |wait: &PathWait, wish: &Reservation| {
                (&wait.pattern, &wait.root) == (&wish.pattern, &wish.root)
            };
            agent.waits_for.retain(|wait| !withdrawn.iter().any(|wish| is_of(wait, wish)));
        })?;
        change.commit()?;
    }
    // Also if nothing was left to release: the process that released it may have died before it told anyone.
    waiting::notify_waiting_or_warn(op, &mesh, &mut locked);
    drop(locked);
    let now = clock::now();
    released.retain(|reservation| reservation.binds(now));
    for reservation in &released {
        op.feed(EventKind::Release, &me.name, Some(&reservation.pattern), None);
    }
    Ok(ReleaseOutcome { holder: me.name, reservations: released, withdrawn })
}

/// The caller's reservations that the text refers to: as listed, or as read from here.
fn meant(ctx: &Context, held: &[Reservation], text: &str) -> Vec<Reservation> {
    let drafted = PatternBase::here(ctx).draft(ctx, text, BroadPatterns::Accept).ok();
    let same = |text: &str, other: &str| text.trim_end_matches('/') == other.trim_end_matches('/');
    let is_here = |held: &&Reservation| {
        drafted.as_ref().is_some_and(|draft| draft.root == held.root && same(&draft.pattern, &held.pattern))
    };
    let here: Vec<Reservation> = held.iter().filter(is_here).cloned().collect();
    if !here.is_empty() {
        return here;
    }
    held.iter().filter(|held| same(&held.pattern, text)).cloned().collect()
}

fn not_held(text: &str, held: &[Reservation]) -> CommandError {
    let error = CommandError::new(
        CommandErrorKind::NotReserved,
        format!("you have not reserved `{}`", text.escape_debug()),
    );
    let list: Vec<String> = held.iter().map(|held| format!("`{}`", held.pattern)).collect();
    match list.as_slice() {
        [] => error.hint("you have reserved nothing; `msg reservations` lists what others hold"),
        list => error.hint(format!("you hold {}", list.join(", "))),
    }
}
