//! Shows reservations.

use jiff::{SignedDuration, Timestamp};

use crate::domain::Reservation;

use super::profile;

pub(super) use crate::faces::json::reservation as json;

/// How long it is still valid, if that is limited.
pub(super) fn until(reservation: &Reservation, now: Timestamp) -> Option<String> {
    // Round up, so that half an hour is not shown as 29 minutes after a millisecond.
    let rounded = SignedDuration::from_millis(900);
    reservation.expires_at.map(|end| format!("for {} more", profile::duration(end + rounded, now)))
}
