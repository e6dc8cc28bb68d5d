//! The clock: the current time and ages of files.

use std::time::{Duration, SystemTime};

use jiff::{SignedDuration, Timestamp};

use super::test_switches;

/// The current time; in tests, the time that they set.
#[expect(clippy::disallowed_methods, reason = "this module implements it")]
pub fn now() -> Timestamp {
    let told = test_switches::value(test_switches::NOW).and_then(|text| text.parse().ok());
    told.unwrap_or_else(|| {
        let shift = SignedDuration::from_millis(test_switches::clock_shift().wall_millis);
        Timestamp::now().saturating_add(shift).unwrap_or_else(|_| Timestamp::now())
    })
}

/// Converts a file's time. Times out of the range of a [`Timestamp`] become its minimum or maximum.
pub fn from_system(time: SystemTime) -> Timestamp {
    Timestamp::try_from(time)
        .unwrap_or_else(|_| if time < SystemTime::UNIX_EPOCH { Timestamp::MIN } else { Timestamp::MAX })
}

/// Sleeps for that time.
pub fn pause(moment: Duration) {
    std::thread::sleep(moment);
}

/// The age of a file's time by the machine's own clock; zero if it is in the future.
pub fn age(time: SystemTime) -> Duration {
    machine_time().duration_since(time).unwrap_or_default()
}

/// The machine's own clock, which dates files; in tests, too.
#[expect(clippy::disallowed_methods, reason = "this module implements it")]
pub fn machine_time() -> SystemTime {
    SystemTime::now()
}

pub fn iso(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// The time since the machine started, with the time that it was suspended. Setting the wall clock does not move it.
pub fn since_boot() -> Duration {
    #[cfg(target_os = "linux")]
    const CLOCK: nix::time::ClockId = nix::time::ClockId::CLOCK_BOOTTIME;
    // Elsewhere this one goes on while the machine sleeps.
    #[cfg(not(target_os = "linux"))]
    const CLOCK: nix::time::ClockId = nix::time::ClockId::CLOCK_MONOTONIC;
    let slept = Duration::from_millis(test_switches::clock_shift().slept_millis);
    nix::time::clock_gettime(CLOCK).map(Duration::from).unwrap_or_default() + slept
}
