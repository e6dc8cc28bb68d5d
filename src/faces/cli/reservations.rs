//! How reservations are shown.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::domain::Reservation;
use crate::store::iso;

use super::profile;

pub(super) fn json(reservation: &Reservation, holder: &str) -> Value {
    json!({
        "pattern": reservation.pattern,
        "root": reservation.root,
        "holder": holder,
        "reason": reservation.reason,
        "since": iso(reservation.since),
        "expiresAt": reservation.expires_at.map(iso),
    })
}

/// For how long it still holds, where that is limited.
pub(super) fn until(reservation: &Reservation, now: Timestamp) -> Option<String> {
    // Half an hour is not 29 minutes because a millisecond of it is over.
    let rounded = SignedDuration::from_millis(900);
    reservation.expires_at.map(|end| format!("for {} more", profile::duration(end + rounded, now)))
}
