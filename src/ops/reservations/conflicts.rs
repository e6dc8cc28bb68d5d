//! Compares the patterns that an agent wants with what others hold.
//!
//! Comparing patterns may take long, so it is done before `mesh.lock` is taken. Under the lock, only reservations that
//! were not there before are compared.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use jiff::Timestamp;

use crate::domain::pattern::{LetterCase, Pattern, SearchBudget};
use crate::domain::{Agent, Conflict, Reservation, ReservationReach, SessionId, TaskRef};
use crate::store::{Mesh, Registration, RepositoryPlaces, resolved_patterns};

use super::holdings::Holding;
use super::passed::{has_all_of, is_passed_by};
use crate::ops::agents::roster::Roster;

/// Comparison steps that one command may take without a lock: a second at most.
const STEPS: usize = 20_000_000;
/// The same with `mesh.lock` held.
pub(in crate::ops) const STEPS_UNDER_LOCK: usize = 1_000_000;

/// What an agent wants, and the comparisons made so far.
#[derive(Debug)]
pub(in crate::ops) struct WantedReservations<'m> {
    pub(in crate::ops) reservations: Vec<Reservation>,
    patterns: Vec<Vec<Pattern>>,
    /// How the patterns are called in their repositories, for comparing them with what others hold there.
    in_repositories: OnceCell<Vec<Vec<Pattern>>>,
    places: RepositoryPlaces<'m>,
    known: RefCell<HashMap<ReservationKey, Hits>>,
    /// Whether the server of a linked mesh has granted what binds on other machines, or need not be asked. From then on
    /// what the mirror says of them does not count: it may be behind.
    is_decided: Cell<bool>,
}

/// The indexes of the wanted reservations that a reservation conflicts with.
type Hits = Rc<[(usize, Conflict)]>;

/// What the patterns of a reservation depend on.
#[derive(Debug, Eq, Hash, PartialEq)]
struct ReservationKey {
    pattern: String,
    place: String,
    head: Option<String>,
    literal: bool,
    case: LetterCase,
    reach: ReservationReach,
    foreign: bool,
    remote: bool,
}

impl ReservationKey {
    fn new(holder: &Agent, reservation: &Reservation) -> Self {
        let Reservation { pattern, root, head, is_literal: literal, case, reach, .. } = reservation.clone();
        let place = root.unwrap_or_else(|| holder.cwd.clone());
        let (foreign, remote) = (holder.is_foreign(), holder.is_remote());
        Self { pattern, place, head, literal, case, reach, foreign, remote }
    }
}

impl<'m> WantedReservations<'m> {
    /// `cwd` is that of the agent that wants them.
    pub(in crate::ops) fn new(mesh: &'m Mesh, reservations: Vec<Reservation>, cwd: &str) -> Self {
        let patterns = reservations.iter().map(|reservation| reservation.patterns(cwd)).collect();
        let places = RepositoryPlaces::new(mesh);
        let (in_repositories, known) = (OnceCell::new(), RefCell::default());
        let is_decided = Cell::new(reservations.iter().all(|wanted| wanted.reach.repository().is_none()));
        Self { reservations, patterns, in_repositories, places, known, is_decided }
    }

    /// The server has decided for whoever wants them, or need not be asked.
    pub(super) fn set_decided(&self) {
        self.is_decided.set(true);
    }

    pub(super) fn is_decided(&self) -> bool {
        self.is_decided.get()
    }

    /// They are taken with that task.
    pub(in crate::ops) fn set_task(&mut self, task: &TaskRef) {
        self.reservations.iter_mut().for_each(|wanted| wanted.task = Some(task.clone()));
    }

    /// Compares them with what others hold now, so that little is left to do under the lock.
    pub(in crate::ops) fn compare(&self, roster: &Roster<'_>, me: &Agent, now: Timestamp) {
        let budget = SearchBudget::new(STEPS);
        for record in others(roster, me) {
            for held in record.agent.reservations.iter().filter(|held| held.binds(now)) {
                self.hits(&record.agent, held, &budget);
            }
        }
        self.places.save();
    }

    /// The wanted reservations that conflict, each with what it conflicts with.
    pub(in crate::ops) fn conflicts(
        &self,
        roster: &Roster<'_>,
        me: &Agent,
        now: Timestamp,
    ) -> Vec<(&Reservation, Holding)> {
        self.places.be_quick();
        let has = |index: usize, holder: &Agent| {
            is_passed_by(&self.reservations[index], holder)
                || me.reservations.iter().any(|mine| is_passed_by(mine, holder))
                    && has_all_of(me, holder, [&self.patterns[index], &self.in_repositories()[index]], now)
        };
        self.conflicts_with(others(roster, me), has, now)
    }

    /// Like [`Self::conflicts`], for one that is not registered yet, or holds nothing that counts, in this session.
    pub(in crate::ops) fn conflicts_of_newcomer(
        &self,
        roster: &Roster<'_>,
        own: &SessionId,
        now: Timestamp,
    ) -> Vec<(&Reservation, Holding)> {
        let is_passed = |index: usize, holder: &Agent| is_passed_by(&self.reservations[index], holder);
        let others = roster.records().filter(|record| record.agent.session != *own);
        self.conflicts_with(others, is_passed, now)
    }

    fn conflicts_with<'r>(
        &self,
        records: impl Iterator<Item = &'r Registration>,
        is_passed: impl Fn(usize, &Agent) -> bool,
        now: Timestamp,
    ) -> Vec<(&Reservation, Holding)> {
        let budget = SearchBudget::new(STEPS_UNDER_LOCK);
        let mut conflicts = Vec::new();
        for record in records {
            // Check whether a holder is alive only if there is a conflict.
            let holder = OnceCell::new();
            let look = || record.is_live().then(|| Arc::new(record.agent.clone()));
            for held in record.agent.reservations.iter().filter(|held| held.binds(now)) {
                for (index, hit) in self.hits(&record.agent, held, &budget).iter() {
                    let is_granted = self.is_decided()
                        && record.agent.is_remote()
                        && self.reservations[*index].reach.repository().is_some();
                    if is_granted || is_passed(*index, &record.agent) {
                        continue;
                    }
                    let Some(holder) = holder.get_or_init(look) else { continue };
                    let is_assumed = *hit == Conflict::Assumed;
                    let holding =
                        Holding { holder: Arc::clone(holder), reservation: held.clone(), is_assumed };
                    conflicts.push((*index, holding));
                }
            }
        }
        conflicts.sort_by_key(|(index, _)| *index);
        conflicts.into_iter().map(|(index, holding)| (&self.reservations[index], holding)).collect()
    }

    /// Why it is not known which repository something belongs to, if git failed. Saves what git said otherwise.
    pub(in crate::ops) fn end_comparison(&self) -> Option<String> {
        self.places.save();
        self.places.failure()
    }

    /// The patterns of each.
    pub(in crate::ops) fn patterns(&self) -> impl Iterator<Item = &[Pattern]> {
        self.patterns.iter().map(Vec::as_slice)
    }

    /// The first pattern of each: as written, without links resolved.
    pub(in crate::ops) fn as_read(&self) -> impl Iterator<Item = (&Reservation, &Pattern)> {
        self.reservations
            .iter()
            .zip(&self.patterns)
            .filter_map(|(wanted, patterns)| Some((wanted, patterns.first()?)))
    }

    fn in_repositories(&self) -> &[Vec<Pattern>] {
        let all = || self.patterns.iter().map(|patterns| self.places.patterns(patterns)).collect();
        self.in_repositories.get_or_init(all)
    }

    /// Which of the wanted reservations conflict with this one.
    fn hits(&self, holder: &Agent, held: &Reservation, budget: &SearchBudget) -> Hits {
        let key = ReservationKey::new(holder, held);
        if let Some(known) = self.known.borrow().get(&key) {
            return Rc::clone(known);
        }
        let theirs = resolved_patterns(holder, held);
        let shared = OnceCell::new();
        let hit = |(index, mine): (usize, &Vec<Pattern>)| {
            let here = Conflict::of(mine, &theirs, budget);
            let elsewhere = match (&self.reservations[index].reach, &held.reach) {
                _ if here == Conflict::Certain => Conflict::None,
                (ReservationReach::Thing, _) | (_, ReservationReach::Thing) => Conflict::None,
                (ReservationReach::WorkTree, ReservationReach::WorkTree) => Conflict::None,
                (ReservationReach::WorkTree, ReservationReach::Repository(_)) => {
                    Conflict::of(&self.in_repositories()[index], &theirs, budget)
                }
                (ReservationReach::Repository(_), _) => {
                    let theirs = shared.get_or_init(|| self.places.patterns(&theirs));
                    Conflict::of(mine, theirs, budget)
                }
            };
            (index, here.max(elsewhere))
        };
        let all = self.patterns.iter().enumerate().map(hit);
        let hits: Hits = all.filter(|(_, hit)| *hit != Conflict::None).collect();
        self.known.borrow_mut().insert(key, Rc::clone(&hits));
        hits
    }
}

fn others<'r>(roster: &'r Roster<'_>, me: &Agent) -> impl Iterator<Item = &'r Registration> {
    roster.records().filter(|record| record.agent.session != me.session)
}
