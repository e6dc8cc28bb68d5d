//! What time is it?

use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use super::seams;

/// The time now; in tests, the one that they set.
#[expect(clippy::disallowed_methods, reason = "this is the place that may")]
pub fn now() -> Timestamp {
    seams::value(seams::NOW).and_then(|text| text.parse().ok()).unwrap_or_else(Timestamp::now)
}

/// A file's time as ours. Times before or after what a [`Timestamp`] can hold become its ends.
pub fn from_system(time: SystemTime) -> Timestamp {
    Timestamp::try_from(time)
        .unwrap_or_else(|_| if time < SystemTime::UNIX_EPOCH { Timestamp::MIN } else { Timestamp::MAX })
}

/// Lets others go first for a moment.
pub fn pause(moment: Duration) {
    std::thread::sleep(moment);
}

/// How long ago a file's time was, by the machine's own clock; zero if it lies in the future.
pub fn age(time: SystemTime) -> Duration {
    machine_time().duration_since(time).unwrap_or_default()
}

/// The machine's own clock, by which files are dated; in tests too.
#[expect(clippy::disallowed_methods, reason = "this is the place that may")]
pub fn machine_time() -> SystemTime {
    SystemTime::now()
}
