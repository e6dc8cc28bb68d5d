//! Passes a contested path on when its holder lets go of it, dies or loses it: to the first who contested it.
//!
//! Nobody has to write that down in time: while no live agent holds the contested reservation, the contest itself counts
//! as a reservation of its contester in every census. So a path that a holder loses has its next holder in the same
//! step, and whoever reserves under the lock can't be faster. `ops::reservations::settle_contests` writes it down.
//!
//! The index (`registry_index`) reads only some of the registrations, so hooks that use it see it when it is written.

use crate::domain::pattern::{Pattern, SearchBudget};
use crate::domain::{Conflict, Contest, ContestId, Reservation};
use crate::store::agents::repository_places::RepositoryPlaces;
use crate::store::agents::resolved_patterns::resolved_patterns;
use crate::store::mesh::Mesh;
use crate::sys::clock;

use super::{Census, Registration};

/// Comparison steps for all contests of a census. What can't be compared stays as it is.
const STEPS: usize = 200_000;

/// Adds the reservations that follow from contests.
pub(super) fn pass_on(mesh: &Mesh, census: &mut Census) {
    let has_contests = |record: &Registration| !record.agent.contests.is_empty();
    if !census.records.iter().any(has_contests) {
        return;
    }
    // A registration that can't be read may hold anything.
    if census.unreadable.iter().any(|file| file.told.is_none()) {
        return;
    }
    let mut free: Vec<(usize, Contest)> = Vec::new();
    for (number, record) in census.records.iter().enumerate().filter(|(_, record)| has_contests(record)) {
        let is_open = |contest: &&Contest| {
            !is_held(census, &contest.mark.id) && mesh.contests().is_silent(&contest.mark).unwrap_or(false)
        };
        free.extend(record.agent.contests.iter().filter(is_open).map(|contest| (number, contest.clone())));
    }
    free.sort_by_key(|(_, contest)| contest.order);
    let budget = SearchBudget::new(STEPS);
    for (number, contest) in free {
        let record = &census.records[number];
        let wanted = Reservation { contest: None, ..contest.wanted };
        let has_place = |held: &Reservation| {
            (&held.pattern, &held.root, &held.reach) == (&wanted.pattern, &wanted.root, &wanted.reach)
        };
        let is_own = record.agent.reservations.iter().any(has_place);
        if !is_own && record.is_live() && is_free(mesh, census, number, &wanted, &budget) {
            census.records[number].agent.reservations.push(wanted);
        }
    }
}

/// Whether a live agent holds the reservation that was contested under this id.
fn is_held(census: &Census, id: &ContestId) -> bool {
    let now = clock::now();
    let is_it =
        |held: &Reservation| held.binds(now) && held.contest.as_ref().is_some_and(|mark| mark.id == *id);
    let mut holders = census.records.iter().filter(|record| record.agent.reservations.iter().any(is_it));
    holders.any(Registration::is_live)
}

/// Whether no other live agent holds a part of it.
fn is_free(mesh: &Mesh, census: &Census, number: usize, wanted: &Reservation, budget: &SearchBudget) -> bool {
    let now = clock::now();
    let mut own = wanted.patterns(&census.records[number].agent.cwd);
    if census.has_repository_reservation() {
        own.extend(RepositoryPlaces::quick(mesh).patterns(&own));
    }
    let meets = |theirs: &[Pattern]| Conflict::of(&own, theirs, budget) != Conflict::None;
    let is_in_the_way = |record: &Registration| {
        let mut binding = record.agent.reservations.iter().filter(|held| held.binds(now));
        binding.any(|held| meets(&resolved_patterns(&record.agent, held))) && record.is_live()
    };
    let others = census.records.iter().enumerate().filter(|(other, _)| *other != number);
    !others.map(|(_, record)| record).chain(census.odd()).any(is_in_the_way)
}
