//! Passed reservations: whoever starts a run lets its worker reserve what the starter itself holds.
//!
//! The starter's reservation stays as it is. While the worker holds the place, the starter's reservation does not bind
//! the worker there, and the worker's binds the starter. When the worker has ended, only the starter's is left.

use jiff::Timestamp;

use crate::domain::pattern::Pattern;
use crate::domain::{Agent, ChangeTarget, Reservation};
use crate::store::resolved_patterns;

use super::covering::contains;

/// Whether the reservation was passed on by this agent.
pub(in crate::ops) fn is_passed_by(reservation: &Reservation, holder: &Agent) -> bool {
    let is_name = |name: &String| holder.all_names().any(|own| own.as_str().eq_ignore_ascii_case(name));
    reservation.passed_by.iter().any(is_name)
}

/// Whether what `holder` has reserved does not bind `me` at this target.
pub(in crate::ops) fn is_free_for(me: &Agent, holder: &Agent, target: &ChangeTarget, now: Timestamp) -> bool {
    is_covered(me, holder, now, |mine| match target {
        ChangeTarget::File(spellings) => {
            mine.iter().any(|pattern| spellings.iter().any(|path| pattern.covers(path)))
        }
        ChangeTarget::Area(areas) => is_inside(areas, mine),
    })
}

/// Whether `me` holds all of this already, with what `holder` passed on. The spellings are of one pattern, each in its
/// own right: in this work tree, and in the repository.
pub(super) fn has_all_of(me: &Agent, holder: &Agent, spellings: [&[Pattern]; 2], now: Timestamp) -> bool {
    is_covered(me, holder, now, |mine| spellings.iter().any(|wanted| is_inside(wanted, mine)))
}

/// The names of those who passed to `me` a reservation that has all of this in it.
pub(in crate::ops) fn passed_before(me: &Agent, wanted: &[Pattern], now: Timestamp) -> Vec<String> {
    let has_it = |mine: &&Reservation| mine.binds(now) && is_inside(wanted, &resolved_patterns(me, mine));
    let passed = me.reservations.iter().filter(|mine| !mine.passed_by.is_empty());
    passed.filter(has_it).flat_map(|mine| mine.passed_by.iter().cloned()).collect()
}

fn is_inside(wanted: &[Pattern], mine: &[Pattern]) -> bool {
    !wanted.is_empty() && wanted.iter().all(|area| mine.iter().any(|pattern| contains(pattern, area)))
}

fn is_covered(me: &Agent, holder: &Agent, now: Timestamp, covers: impl Fn(&[Pattern]) -> bool) -> bool {
    let passed = me.reservations.iter().filter(|mine| mine.binds(now) && is_passed_by(mine, holder));
    passed.into_iter().any(|mine| covers(&resolved_patterns(me, mine)))
}
