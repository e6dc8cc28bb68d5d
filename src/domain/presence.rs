//! How lately an agent gave a sign of life.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::Liveness;

const ACTIVE: SignedDuration = SignedDuration::from_secs(30);
const IDLE: SignedDuration = SignedDuration::from_secs(5 * 60);

/// What others see beside an agent's name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Presence {
    Active,
    Idle,
    Away,
    /// Nobody can tell from here: it lives on another machine or in another pid namespace.
    Unknown,
    Gone,
}

impl Presence {
    pub fn of(liveness: Liveness, last_sign: Timestamp, now: Timestamp) -> Self {
        match liveness {
            Liveness::Gone => Self::Gone,
            Liveness::Unknown => Self::Unknown,
            Liveness::Alive => match now.duration_since(last_sign) {
                quiet if quiet < ACTIVE => Self::Active,
                quiet if quiet < IDLE => Self::Idle,
                _ => Self::Away,
            },
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Idle => "idle",
            Self::Away => "away",
            Self::Unknown => "unknown",
            Self::Gone => "gone",
        }
    }
}

impl fmt::Display for Presence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_grows_into_away() {
        let start = Timestamp::UNIX_EPOCH;
        let at = |seconds: i64| {
            let now = start + SignedDuration::from_secs(seconds);
            Presence::of(Liveness::Alive, start, now)
        };
        assert_eq!(at(-60), Presence::Active, "a clock that jumped back is no absence");
        assert_eq!(at(29), Presence::Active);
        assert_eq!(at(30), Presence::Idle);
        assert_eq!(at(299), Presence::Idle);
        assert_eq!(at(300), Presence::Away);
        assert_eq!(Presence::of(Liveness::Gone, start, start), Presence::Gone);
    }
}
