//! Formats where a reservation binds, and for how long.

use jiff::{SignedDuration, Timestamp};

use crate::domain::{Reservation, ReservationReach};

use crate::ops::scope_text;

use super::agent_text;

pub(super) use crate::faces::json::reservation as json;

/// Where it binds, if not in one work tree only.
pub(super) fn reach(reservation: &Reservation) -> &'static str {
    match reservation.reach {
        ReservationReach::WorkTree => "",
        ReservationReach::Thing => scope_text(reservation),
        ReservationReach::Repository(_) => " in every work tree and clone of this repository",
    }
}

/// How long it is still valid, if that is limited.
pub(super) fn until(reservation: &Reservation, now: Timestamp) -> Option<String> {
    // Round up, so that half an hour is not shown as 29 minutes after a millisecond.
    let rounded = SignedDuration::from_millis(900);
    reservation.expires_at.map(|end| format!("for {} more", agent_text::duration(end + rounded, now)))
}
