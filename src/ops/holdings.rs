//! Who holds what, and what is in the way of whom.

use jiff::Timestamp;

use crate::domain::pattern::Pattern;
use crate::domain::{Agent, Reservation};
use crate::store::{Census, Mesh, Record, SessionRecord, Unreadable, patterns};

use super::names::is_live;

/// A reservation and who has it.
#[derive(Clone, Debug)]
pub struct Holding {
    pub holder: Agent,
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

/// What others than `me` hold of that which `is_hit` says yes to. Whether a holder lives is asked only where it matters.
pub(super) fn held_by_others<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    me: Option<&Agent>,
    now: Timestamp,
    mut is_hit: impl FnMut(&Pattern) -> bool,
) -> Vec<Holding> {
    let mut found = Vec::new();
    for record in records {
        let agent = &record.agent;
        if me.is_some_and(|me| me.session == agent.session) {
            continue;
        }
        let hit = |reservation: &&Reservation| {
            reservation.binds(now) && patterns(agent, reservation).iter().any(&mut is_hit)
        };
        let hits: Vec<Reservation> = agent.reservations.iter().filter(hit).cloned().collect();
        if !hits.is_empty() && is_live(record) {
            let holding = |reservation| Holding { holder: agent.clone(), reservation };
            found.extend(hits.into_iter().map(holding));
        }
    }
    found
}
