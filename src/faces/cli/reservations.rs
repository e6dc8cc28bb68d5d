//! Formats how long a reservation is still valid.

use jiff::{SignedDuration, Timestamp};

use crate::domain::Reservation;

use super::agent_text;

pub(super) use crate::faces::json::reservation as json;

/// How long it is still valid, if that is limited.
pub(super) fn until(reservation: &Reservation, now: Timestamp) -> Option<String> {
    // Round up, so that half an hour is not shown as 29 minutes after a millisecond.
    let rounded = SignedDuration::from_millis(900);
    reservation.expires_at.map(|end| format!("for {} more", agent_text::duration(end + rounded, now)))
}
