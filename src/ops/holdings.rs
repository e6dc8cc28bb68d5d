//! Who holds what, and what is in the way of whom.

use jiff::Timestamp;

use crate::domain::pattern::Pattern;
use crate::domain::{Agent, Reservation};
use crate::store::{Record, patterns};

use super::names::is_live;

/// A reservation and who has it.
#[derive(Clone, Debug)]
pub struct Holding {
    pub holder: Agent,
    pub reservation: Reservation,
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
