//! Writes down what follows from contests once the contested reservation is gone.
//!
//! The census already counts such a path as held by the first contester (`store::agents::registry`), so nothing here has
//! to happen in time: whoever has the lock next makes it a reservation like any other, and tells the contester.

use crate::domain::{Agent, Contest, Importance, Notice, PeerText, Reservation};
use crate::store::{Census, LockedMesh, Mesh, Registration};
use crate::sys::clock;

use super::rules::{drop_waits_for, is_same_place};
use crate::ops::error::CommandError;
use crate::ops::notices::post_owed;

/// Contests of an agent whose reservation nobody holds any more.
#[derive(Default)]
struct EndedContests {
    /// The agent has these paths now.
    won: Vec<Contest>,
    /// Somebody else has these, or the holder gave a sign before it let go.
    lost: Vec<Contest>,
}

/// Whether a contest of the agent has ended and that is not written down. `agent` is from the census.
pub(super) fn is_due(mesh: &Mesh, census: &Census, agent: &Agent) -> bool {
    let ended = ended(mesh, census, agent);
    !ended.won.is_empty() || !ended.lost.is_empty()
}

/// Returns the paths that the agent has now, and was told of.
pub(super) fn settle(
    locked: &mut LockedMesh<'_>,
    mesh: &Mesh,
    census: &Census,
    agent: &Agent,
) -> Result<Vec<Reservation>, CommandError> {
    let EndedContests { won, lost } = ended(mesh, census, agent);
    if won.is_empty() && lost.is_empty() {
        return Ok(Vec::new());
    }
    // The message first: after a crash, told twice is better than never.
    for contest in &won {
        post_owed(locked, mesh, &agent.name, &notice(contest), Importance::Normal)?;
    }
    let is_ended = |known: &Contest| won.contains(known) || lost.contains(known);
    let gained: Vec<Reservation> = won.iter().map(|contest| contest.wanted.clone()).collect();
    let mut change = locked.change();
    change.edit(agent, |agent| {
        agent.contests.retain(|known| !is_ended(known));
        for wanted in &gained {
            if !agent.reservations.iter().any(|held| is_same_place(held, wanted)) {
                agent.reservations.push(wanted.clone());
            }
        }
        drop_waits_for(agent, &gained);
    })?;
    change.commit()?;
    Ok(gained)
}

fn ended(mesh: &Mesh, census: &Census, agent: &Agent) -> EndedContests {
    let now = clock::now();
    let mut ended = EndedContests::default();
    if census.unreadable.iter().any(|file| file.told.is_none()) {
        return ended;
    }
    for contest in &agent.contests {
        let is_it = |held: &Reservation| {
            held.binds(now) && held.contest.as_ref().is_some_and(|mark| mark.id == contest.mark.id)
        };
        let mut holders = census.records.iter().filter(|record| record.agent.reservations.iter().any(is_it));
        if holders.any(Registration::is_live) {
            continue;
        }
        if agent.reservations.iter().any(|held| held.binds(now) && is_same_place(held, &contest.wanted)) {
            ended.won.push(contest.clone());
        } else if !mesh.contests().is_silent(&contest.mark).unwrap_or(true) {
            ended.lost.push(contest.clone());
        }
    }
    ended
}

fn notice(contest: &Contest) -> Notice {
    let pattern = contest.wanted.pattern.as_str();
    Notice::new()
        .code(&PeerText::new(pattern))
        .say(" is yours now: ")
        .names([&PeerText::new(contest.holder.as_str())])
        .say(" no longer holds it, and you contested it first. To let go: msg release ")
        .own_arguments([pattern], "PATTERN")
}
