//! Reservations of live agents, and which of them conflict with a path or a pattern.

use std::cell::OnceCell;
use std::sync::Arc;

use jiff::Timestamp;

use crate::domain::pattern::Pattern;
use crate::domain::{Agent, Conflict, Reservation, ReservationReach};
use crate::store::{Registration, RepositoryPlaces, resolved_patterns};

/// A reservation and its holder.
#[derive(Clone, Debug)]
pub struct Holding {
    /// Shared, because many paths have few holders.
    pub holder: Arc<Agent>,
    pub reservation: Reservation,
    /// It was not compared with what is wanted, because that takes too long; so it counts as a conflict.
    pub is_assumed: bool,
}

impl Holding {
    /// The remark to add if the conflict is only assumed.
    pub fn caveat(&self) -> &'static str {
        match self.is_assumed {
            true => "; the patterns are too complex to compare, so they count as overlapping",
            false => "",
        }
    }

    /// The remark to add if it binds in every work tree of its repository, and so here.
    pub fn reach_text(&self) -> &'static str {
        match self.reservation.reach {
            ReservationReach::WorkTree | ReservationReach::Thing => "",
            ReservationReach::Repository(_) => " in every work tree of this repository",
        }
    }
}

/// The reservations of others, read once and compared with many paths.
pub(in crate::ops) struct OtherReservations<'a>(Vec<Other<'a>>);

struct Other<'a> {
    record: &'a Registration,
    holds: Vec<(&'a Reservation, Vec<Pattern>)>,
    /// `None`: it is gone.
    holder: OnceCell<Option<Arc<Agent>>>,
}

impl<'a> OtherReservations<'a> {
    pub(in crate::ops) fn new(
        records: impl IntoIterator<Item = &'a Registration>,
        me: Option<&Agent>,
        now: Timestamp,
    ) -> Self {
        let is_other = |record: &&Registration| me.is_none_or(|me| !me.is_same_agent(&record.agent));
        let other = |record: &'a Registration| {
            let binding = record.agent.reservations.iter().filter(|reservation| reservation.binds(now));
            let holds = binding
                .map(|reservation| (reservation, resolved_patterns(&record.agent, reservation)))
                .collect();
            Other { record, holds, holder: OnceCell::new() }
        };
        Self(records.into_iter().filter(is_other).map(other).collect())
    }

    /// Adds how everything is called in its repository: for one who wants something in every work tree, and so must not
    /// get what others hold in any of them.
    pub(in crate::ops) fn in_repositories(mut self, places: &RepositoryPlaces<'_>) -> Self {
        for (_, patterns) in self.0.iter_mut().flat_map(|other| &mut other.holds) {
            let mut shared = places.patterns(patterns);
            shared.retain(|pattern| !patterns.contains(pattern));
            patterns.extend(shared);
        }
        self
    }

    /// Calls `show` with each pattern, and a function that returns its holder if that is alive.
    pub(in crate::ops) fn each(&self, mut show: impl FnMut(&Pattern, &dyn Fn() -> Option<Holding>)) {
        for other in &self.0 {
            for (reservation, patterns) in &other.holds {
                let holding = || {
                    let holder = other.living()?;
                    Some(Holding { holder, reservation: (*reservation).clone(), is_assumed: false })
                };
                patterns.iter().for_each(|pattern| show(pattern, &holding));
            }
        }
    }

    /// The first conflict with an agent whose reservations bind there.
    pub(in crate::ops) fn first(
        &self,
        binds: impl Fn(&Agent) -> bool,
        hit: impl Fn(&Pattern) -> Conflict,
    ) -> Option<Holding> {
        self.0.iter().find_map(|other| other.held(&hit).next().filter(|held| binds(&held.holder)))
    }

    /// All conflicts with agents other than `me`.
    pub(in crate::ops) fn in_the_way_of(
        &self,
        me: &Agent,
        hit: impl Fn(&Pattern) -> Conflict,
    ) -> Vec<Holding> {
        let others = self.0.iter().filter(|other| other.record.agent.session != me.session);
        others.flat_map(|other| other.held(&hit)).collect()
    }
}

impl Other<'_> {
    /// Checks whether the holder is alive only if there is a conflict.
    fn held(&self, hit: impl Fn(&Pattern) -> Conflict) -> impl Iterator<Item = Holding> {
        let hits = self.holds.iter().filter_map(move |(reservation, patterns)| {
            let hit = patterns.iter().map(&hit).max().filter(|hit| *hit != Conflict::None)?;
            Some((*reservation, hit))
        });
        hits.map_while(move |(reservation, hit)| {
            let holder = self.living()?;
            Some(Holding { holder, reservation: reservation.clone(), is_assumed: hit == Conflict::Assumed })
        })
    }

    fn living(&self) -> Option<Arc<Agent>> {
        let holder = || self.record.is_live().then(|| Arc::new(self.record.agent.clone()));
        self.holder.get_or_init(holder).clone()
    }
}
