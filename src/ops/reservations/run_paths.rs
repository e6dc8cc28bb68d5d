//! The paths that a run reserves for its worker, as paths of the repository: they bind in every work tree of it.

use std::path::Path;

use jiff::Timestamp;

use crate::domain::{Agent, EventKind, Reservation, SessionId};
use crate::store::Mesh;
use crate::sys::clock;

use super::conflicts::WantedReservations;
use super::linked_paths;
use super::refusal::refusal;
use super::repository_reach::{ReachWords, RequestedReach, in_repository};
use super::reserve::{self, BroadPatterns, GrantedReservations, MAX_RESERVATIONS, PatternBase};
use super::waiting;
use crate::ops::agents::names;
use crate::ops::agents::roster::Roster;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::ask::{LinkGrant, poke};

const RUN_WORDS: ReachWords = ReachWords {
    flag: "--reserve",
    without_repository: "a run reserves paths of a repository: run `git init` and commit first, or leave out `--reserve`",
    outside: "name a path in the repository",
};

/// The reservations that the patterns stand for, read from `dir`.
pub(in crate::ops) fn run_drafts(
    op: &Op,
    mesh: &Mesh,
    dir: &Path,
    patterns: &[String],
) -> Result<Vec<Reservation>, CommandError> {
    if patterns.len() > MAX_RESERVATIONS {
        let text = format!("that would be {} reservations; {MAX_RESERVATIONS} is the most", patterns.len());
        return Err(
            CommandError::new(CommandErrorKind::TooMany, text).hint("reserve a directory, or use a wildcard")
        );
    }
    let base = PatternBase::at(dir);
    let mut drafts: Vec<Reservation> = Vec::new();
    for text in patterns {
        // What leaves the repository is refused below.
        let draft = base.draft(op, text, BroadPatterns::Accept)?;
        if !drafts.iter().any(|other| other.is_written_alike(&draft)) {
            drafts.push(draft);
        }
    }
    in_repository(op, mesh, drafts, dir, RUN_WORDS)
}

/// Why they can't be reserved by one who will have this session: the refusal of `msg reserve`.
pub(in crate::ops) fn newcomer_refusal(
    wanted: &WantedReservations<'_>,
    roster: &Roster<'_>,
    own: &SessionId,
    now: Timestamp,
) -> Option<CommandError> {
    let conflicts = wanted.conflicts_of_newcomer(roster, own, now);
    if !conflicts.is_empty() {
        return Some(refusal(&conflicts, now));
    }
    roster.unknown().first().map(names::unknown_reservations)
}

/// Asks the server of a linked mesh for all of them, if it has to be asked.
pub(in crate::ops) fn decide_for_run<'a>(
    op: &'a Op,
    mesh: &'a Mesh,
    agent: &Agent,
    wanted: &WantedReservations<'_>,
) -> Result<Option<LinkGrant<'a>>, CommandError> {
    linked_paths::decide(op, mesh, agent, wanted, RequestedReach::Repository)
}

/// Gives the agent all of them, or none.
pub(in crate::ops) fn take_for_run(
    op: &Op,
    mesh: &Mesh,
    agent: &Agent,
    wanted: &WantedReservations<'_>,
) -> Result<Agent, CommandError> {
    let granted = decide_for_run(op, mesh, agent, wanted)?;
    let mut locked = mesh.lock()?;
    let me = locked.own_record(agent)?.agent;
    let mut change = locked.change();
    let GrantedReservations { agent, .. } = reserve::take(op, mesh, &mut change, &me, wanted, clock::now())?;
    change.commit()?;
    granted.into_iter().for_each(LinkGrant::keep);
    drop(locked);
    for reservation in &wanted.reservations {
        op.feed(EventKind::Reserve, &agent.name, Some(&reservation.pattern), reservation.reason.as_deref());
    }
    Ok(agent)
}

/// Gives up all that the agent holds; it stays an agent.
pub(in crate::ops) fn release_for_run(op: &Op, mesh: &Mesh, agent: &Agent) -> Result<Agent, CommandError> {
    let mut locked = mesh.lock()?;
    let mut released = Vec::new();
    let mut change = locked.change();
    let agent = change.edit(agent, |agent| released = std::mem::take(&mut agent.reservations))?;
    change.commit()?;
    waiting::notify_waiting_or_warn(op, mesh, &mut locked);
    drop(locked);
    poke(op, mesh);
    for reservation in &released {
        op.feed(EventKind::Release, &agent.name, Some(&reservation.pattern), None);
    }
    Ok(agent)
}
