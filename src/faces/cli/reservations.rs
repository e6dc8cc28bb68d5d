//! How reservations are shown.

use jiff::{SignedDuration, Timestamp};

use crate::domain::Reservation;

use super::profile;

pub(super) use crate::faces::json::reservation as json;

/// For how long it still holds, where that is limited.
pub(super) fn until(reservation: &Reservation, now: Timestamp) -> Option<String> {
    // Half an hour is not 29 minutes because a millisecond of it is over.
    let rounded = SignedDuration::from_millis(900);
    reservation.expires_at.map(|end| format!("for {} more", profile::duration(end + rounded, now)))
}
