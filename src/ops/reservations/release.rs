//! `msg release`: gives up paths, and tells those who were refused.

use crate::domain::pattern::NormalPath;
use crate::domain::{Agent, AgentName, EventKind, PathWait, Reservation};
use crate::ops::reservations::reserve::BroadPatterns;
use crate::store::{LockedMesh, Mesh, RepositoryPlaces};
use crate::sys::clock;

use super::reserve::PatternBase;
use super::waiting;
use crate::ops::agents::identity;
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::ask::poke;

#[derive(Clone, Debug)]
pub struct ReleaseOutcome {
    pub holder: AgentName,
    pub reservations: Vec<Reservation>,
    /// Contests that it gave up.
    pub withdrawn: Vec<Reservation>,
}

/// Which reservations are given up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ReleaseScope {
    /// Wherever they bind.
    All,
    /// Only those that bind in every work tree.
    Repository,
}

/// Gives up the named reservations and contests, or all. If one of them is not the caller's, nothing changes.
pub fn release(op: &Op, patterns: &[String], scope: ReleaseScope) -> Result<ReleaseOutcome, CommandError> {
    let (mesh, caller) = identity::own_caller(op)?;
    let locked = mesh.lock()?;
    let me = locked.own_record(&caller)?.agent;
    let mut released: Vec<Reservation> = Vec::new();
    let mut withdrawn: Vec<Reservation> = Vec::new();
    let is_meant = |held: &&Reservation| scope == ReleaseScope::All || held.reach.repository().is_some();
    let own: Vec<Reservation> = me.reservations.iter().filter(is_meant).cloned().collect();
    let contested: Vec<Reservation> = me.contests.iter().map(|contest| contest.wanted.clone()).collect();
    let contested: Vec<Reservation> = contested.into_iter().filter(|wish| is_meant(&wish)).collect();
    let places = RepositoryPlaces::quick(&mesh);
    for text in patterns {
        let mine = meant(op, &places, &own, text);
        let wishes = meant(op, &places, &contested, text);
        if mine.is_empty() && wishes.is_empty() {
            return Err(not_held(text, &own));
        }
        withdrawn.extend(wishes);
        released.extend(mine.into_iter().filter(|held| !released.contains(held)).collect::<Vec<_>>());
    }
    if patterns.is_empty() {
        released = own;
        withdrawn = contested;
    }
    give_up(
        op,
        &mesh,
        locked,
        ReleaseOutcome { holder: me.name.clone(), reservations: released, withdrawn },
        &me,
    )
}

/// Gives up the one reservation of the caller that has this pattern at this root.
pub fn release_listed(op: &Op, pattern: &str, root: Option<&str>) -> Result<ReleaseOutcome, CommandError> {
    let (mesh, caller) = identity::own_caller(op)?;
    let locked = mesh.lock()?;
    let me = locked.own_record(&caller)?.agent;
    let is_it = |held: &&Reservation| (held.pattern.as_str(), held.root.as_deref()) == (pattern, root);
    let Some(held) = me.reservations.iter().find(is_it).cloned() else {
        return Err(not_held(pattern, &me.reservations));
    };
    let released =
        ReleaseOutcome { holder: me.name.clone(), reservations: vec![held], withdrawn: Vec::new() };
    give_up(op, &mesh, locked, released, &me)
}

/// Takes these reservations and contests out of the record of their holder, and tells who waits for them.
fn give_up(
    op: &Op,
    mesh: &Mesh,
    mut locked: LockedMesh<'_>,
    outcome: ReleaseOutcome,
    me: &Agent,
) -> Result<ReleaseOutcome, CommandError> {
    let ReleaseOutcome { holder, reservations: mut released, withdrawn } = outcome;
    if !released.is_empty() || !withdrawn.is_empty() {
        let mut change = locked.change();
        change.edit(me, |agent| {
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
    waiting::notify_waiting_or_warn(op, mesh, &mut locked);
    drop(locked);
    poke(op, mesh);
    let now = clock::now();
    released.retain(|reservation| reservation.binds(now));
    for reservation in &released {
        op.feed(EventKind::Release, &holder, Some(&reservation.pattern), None);
    }
    Ok(ReleaseOutcome { holder, reservations: released, withdrawn })
}

/// The caller's reservations that the text refers to: as listed, or as read from here. One that binds in every work tree
/// is read from any of them.
fn meant(ctx: &Context, places: &RepositoryPlaces<'_>, held: &[Reservation], text: &str) -> Vec<Reservation> {
    let drafted = PatternBase::here(ctx).draft(ctx, text, BroadPatterns::Accept).ok();
    let same = |text: &str, other: &str| text.trim_end_matches('/') == other.trim_end_matches('/');
    let is_here = |held: &&Reservation| {
        drafted.as_ref().is_some_and(|draft| {
            let root = NormalPath::absolute(draft.root.as_deref().unwrap_or("/"));
            same(&draft.pattern, &held.pattern)
                && (draft.root == held.root || places.seen_from(&root, held).is_some())
        })
    };
    let here: Vec<Reservation> = held.iter().filter(is_here).cloned().collect();
    if !here.is_empty() {
        return here;
    }
    held.iter().filter(|held| same(&held.typed(), text)).cloned().collect()
}

fn not_held(text: &str, held: &[Reservation]) -> CommandError {
    let error = CommandError::new(
        CommandErrorKind::NotReserved,
        format!("you have not reserved `{}`", text.escape_debug()),
    );
    let list: Vec<String> = held.iter().map(|held| format!("`{}`", held.typed())).collect();
    match list.as_slice() {
        [] => error.hint("you have reserved nothing; `msg reservations` lists what others hold"),
        list => error.hint(format!("you hold {}", list.join(", "))),
    }
}
