//! Presence of an agent, from its last sign of life, and a status text for agents that set none.

use std::fmt;

use jiff::SignedDuration;

use super::Liveness;

const ACTIVE: SignedDuration = SignedDuration::from_secs(30);
const IDLE: SignedDuration = SignedDuration::from_secs(5 * 60);

/// The presence shown next to an agent's name.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Presence {
    Active,
    Idle,
    Away,
    /// Silent for a long time, while others may be waiting for something it holds.
    Stuck,
    /// Cannot be checked from here: it runs on another machine or in another pid namespace.
    Unknown,
    /// Its machine is linked with this one, and has lost its lease: it does not reach the server, or is off.
    Unreachable,
    Gone,
}

impl Presence {
    /// Derives the presence. `quiet` is the time since the last sign of life; `stuck_after` is the limit for an agent
    /// that holds a task or a path, and `None` for one that holds nothing.
    pub fn of(liveness: Liveness, quiet: SignedDuration, stuck_after: Option<SignedDuration>) -> Self {
        match liveness {
            Liveness::Gone => Self::Gone,
            Liveness::Unknown => Self::Unknown,
            Liveness::Alive if stuck_after.is_some_and(|limit| quiet >= limit) => Self::Stuck,
            Liveness::Alive if quiet < ACTIVE => Self::Active,
            Liveness::Alive if quiet < IDLE => Self::Idle,
            Liveness::Alive => Self::Away,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Idle => "idle",
            Self::Away => "away",
            Self::Stuck => "stuck",
            Self::Unknown => "unknown",
            Self::Unreachable => "unreachable",
            Self::Gone => "gone",
        }
    }
}

impl fmt::Display for Presence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Known facts about an agent, to describe one that set no status.
#[derive(Clone, Copy, Debug)]
pub struct PresenceFacts<'a> {
    pub presence: Presence,
    pub quiet: SignedDuration,
    pub here_for: SignedDuration,
    /// The activity reported by its hooks.
    pub activity: Option<&'a str>,
    pub task: Option<&'a str>,
}

impl PresenceFacts<'_> {
    /// A short status; `None` if it would add nothing to the presence.
    pub fn status(&self) -> Option<String> {
        match self.presence {
            Presence::Gone | Presence::Unknown | Presence::Unreachable => None,
            Presence::Away | Presence::Stuck => Some(format!("quiet for {}", format_duration(self.quiet))),
            Presence::Active | Presence::Idle => {
                let arrived = || (self.here_for < ACTIVE).then(|| "just arrived".to_string());
                let task = || self.task.map(|task| format!("on {task}"));
                self.activity.map(str::to_string).or_else(task).or_else(arrived)
            }
        }
    }
}

/// Formats a duration as a whole number of its largest unit, such as `5min`. A negative duration is `0s`.
pub fn format_duration(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().max(0);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}min", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: fn(i64) -> SignedDuration = SignedDuration::from_secs;

    #[test]
    fn quiet_grows_into_away_and_for_those_who_hold_something_into_stuck() {
        let limit = Some(SECOND(900));
        for (seconds, holds_nothing, holds) in [
            // A clock that was set back does not make an agent away.
            (-60, Presence::Active, Presence::Active),
            (0, Presence::Active, Presence::Active),
            (29, Presence::Active, Presence::Active),
            (30, Presence::Idle, Presence::Idle),
            (299, Presence::Idle, Presence::Idle),
            (300, Presence::Away, Presence::Away),
            (899, Presence::Away, Presence::Away),
            (900, Presence::Away, Presence::Stuck),
            (1_000_000, Presence::Away, Presence::Stuck),
        ] {
            let at = |limit| Presence::of(Liveness::Alive, SECOND(seconds), limit);
            assert_eq!((at(None), at(limit)), (holds_nothing, holds), "{seconds} s");
            for limit in [None, limit] {
                assert_eq!(Presence::of(Liveness::Gone, SECOND(seconds), limit), Presence::Gone);
                assert_eq!(Presence::of(Liveness::Unknown, SECOND(seconds), limit), Presence::Unknown);
            }
        }
    }

    #[test]
    fn a_short_limit_is_meant() {
        let at = |seconds| Presence::of(Liveness::Alive, SECOND(seconds), Some(SECOND(10)));
        assert_eq!((at(9), at(10), at(400)), (Presence::Active, Presence::Stuck, Presence::Stuck));
    }

    #[test]
    fn what_can_be_said_of_an_agent_that_says_nothing() {
        let (edits, task) = (Some("editing src/a.rs"), Some("TASK-03"));
        for (presence, quiet, here_for, activity, task, expected) in [
            (Presence::Active, 1, 5, None, None, Some("just arrived")),
            (Presence::Active, 1, 5, edits, task, Some("editing src/a.rs")),
            (Presence::Active, 1, 29, None, None, Some("just arrived")),
            (Presence::Active, 1, 30, None, None, None),
            (Presence::Active, 1, 5, None, task, Some("on TASK-03")),
            (Presence::Idle, 40, 400, edits, task, Some("editing src/a.rs")),
            (Presence::Idle, 40, 400, None, None, None),
            (Presence::Away, 720, 800, edits, task, Some("quiet for 12min")),
            (Presence::Stuck, 7200, 8000, None, task, Some("quiet for 2h")),
            (Presence::Unknown, 720, 800, edits, task, None),
            (Presence::Gone, 720, 800, edits, task, None),
        ] {
            let signs =
                PresenceFacts { presence, quiet: SECOND(quiet), here_for: SECOND(here_for), activity, task };
            assert_eq!(signs.status().as_deref(), expected, "{signs:?}");
        }
    }

    #[test]
    fn times_are_spelled_in_one_unit() {
        for (seconds, expected) in
            [(-5, "0s"), (59, "59s"), (60, "1min"), (3599, "59min"), (3600, "1h"), (90_000, "1d")]
        {
            assert_eq!(format_duration(SECOND(seconds)), expected);
        }
    }
}
