//! Who holds what, and what is in the way of whom.

use std::cell::OnceCell;
use std::sync::Arc;

use jiff::Timestamp;

use crate::domain::pattern::Pattern;
use crate::domain::{Agent, Reservation};
use crate::store::{Census, Mesh, Record, SessionRecord, Unreadable, patterns};

use super::names::is_live;

/// A reservation and who has it.
#[derive(Clone, Debug)]
pub struct Holding {
    /// Of many paths in the way there are but few holders.
    pub holder: Arc<Agent>,
    pub reservation: Reservation,
}

/// For registrations that can't be read: as they were last known, since unreadable is not empty; and those of which
/// nothing is known.
pub(super) fn stand_ins(mesh: &Mesh, census: &Census) -> (Vec<Record>, Vec<Unreadable>) {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    if census.unreadable.is_empty() {
        return (known, unknown);
    }
    let sessions = mesh.sessions().map(|sessions| sessions.records).unwrap_or_default();
    for file in &census.unreadable {
        let is_it = |session: &&SessionRecord| {
            session.is_current() && session.last.agent.name.as_str().eq_ignore_ascii_case(&file.stem)
        };
        let last = sessions.iter().filter(is_it).max_by_key(|session| session.last.agent.started_at);
        match last {
            Some(session) => known.push(session.last.clone()),
            None => unknown.push(file.clone()),
        }
    }
    (known, unknown)
}

/// What others than `me` hold of that which `is_hit` says yes to.
pub(super) fn held_by_others<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    me: Option<&Agent>,
    now: Timestamp,
    is_hit: impl Fn(&Pattern) -> bool,
) -> Vec<Holding> {
    Others::new(records, me, now).0.iter().flat_map(|other| other.held(&is_hit)).collect()
}

/// What others hold, read once to be held against many paths.
pub(super) struct Others<'a>(Vec<Other<'a>>);

struct Other<'a> {
    record: &'a Record,
    holds: Vec<(&'a Reservation, Vec<Pattern>)>,
    /// `None`: it is gone.
    holder: OnceCell<Option<Arc<Agent>>>,
}

impl<'a> Others<'a> {
    pub(super) fn new(
        records: impl IntoIterator<Item = &'a Record>,
        me: Option<&Agent>,
        now: Timestamp,
    ) -> Self {
        let is_other = |record: &&Record| me.is_none_or(|me| me.session != record.agent.session);
        let other = |record: &'a Record| {
            let binding = record.agent.reservations.iter().filter(|reservation| reservation.binds(now));
            let holds =
                binding.map(|reservation| (reservation, patterns(&record.agent, reservation))).collect();
            Other { record, holds, holder: OnceCell::new() }
        };
        Self(records.into_iter().filter(is_other).map(other).collect())
    }

    /// The first that is in the way.
    pub(super) fn first(&self, is_hit: impl Fn(&Pattern) -> bool) -> Option<Holding> {
        self.0.iter().find_map(|other| other.held(&is_hit).next())
    }
}

impl Other<'_> {
    /// Whether a holder lives is asked only where it matters.
    fn held(&self, is_hit: impl Fn(&Pattern) -> bool) -> impl Iterator<Item = Holding> {
        let hits = self.holds.iter().filter(move |(_, patterns)| patterns.iter().any(&is_hit));
        let holder = || is_live(self.record).then(|| Arc::new(self.record.agent.clone()));
        hits.map_while(move |(reservation, _)| {
            let holder = self.holder.get_or_init(holder).clone()?;
            Some(Holding { holder, reservation: (*reservation).clone() })
        })
    }
}
