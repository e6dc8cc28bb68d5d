//! Contests: an agent asks the holder of a path to let go of it, and gets it if the holder stays silent.
//!
//! A contest has two halves. The contester's registration has the [`Contest`] itself, so it ends with the contester and
//! outlives the holder. The holder's reservation has a [`ContestMark`], so the holder's hooks see without a further read
//! that it is contested, and the contest ends with the reservation.

use std::time::Duration;

use jiff::Timestamp;

use super::contest_mark::ContestMark;
use super::reservation::Reservation;

/// A time that no change of the wall clock moves: milliseconds since the machine started, and which start that was.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MachineTime {
    pub boot: String,
    pub millis: u64,
}

impl MachineTime {
    /// The time from `earlier` to this; `None` if the machine was restarted in between.
    pub fn since(&self, earlier: &Self) -> Option<Duration> {
        let is_same_boot = self.boot == earlier.boot;
        is_same_boot.then(|| self.millis.checked_sub(earlier.millis)).flatten().map(Duration::from_millis)
    }
}

/// A request to the holder of a path to let go of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Contest {
    pub mark: ContestMark,
    /// Contests are numbered in the order in which they were made; the lowest number is first.
    pub order: u64,
    /// What the contester gets. `since` is when it contested, `reason` why.
    pub wanted: Reservation,
    /// The name that the holder had.
    pub holder: String,
    /// The holder's last stamp: its messages with a later one were sent after the contest was made.
    pub holder_stamp: u64,
    pub started: MachineTime,
    /// How long the holder was told that it has to answer.
    pub timeout: Duration,
    /// The holder's first answer: it restarts the clock, later ones don't.
    pub answered: Option<MachineTime>,
}

impl Contest {
    /// When it was made, by the wall clock, to be shown.
    pub fn since(&self) -> Timestamp {
        self.wanted.since
    }

    /// How long the holder still has to answer: as long as it was told, or longer if it is set so now. `None`: nobody can tell, because the machine was restarted.
    pub fn time_left(&self, now: &MachineTime, timeout: Duration) -> Option<Duration> {
        let passed = now.since(self.answered.as_ref().unwrap_or(&self.started))?;
        Some(self.longest(timeout).saturating_sub(passed))
    }

    /// When that time ends, by the wall clock as it was when the contest was made, to be shown.
    pub fn ends_at(&self, timeout: Duration) -> Option<Timestamp> {
        let answered_after =
            self.answered.as_ref().map_or(Some(Duration::ZERO), |at| at.since(&self.started))?;
        self.since().checked_add(answered_after).ok()?.checked_add(self.longest(timeout)).ok()
    }

    /// What the holder was told, or the time that is set now, if that is longer.
    pub fn longest(&self, timeout: Duration) -> Duration {
        timeout.max(self.timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::pattern::LetterCase;
    use crate::domain::{ContestId, ReservationReach};

    fn at(boot: &str, millis: u64) -> MachineTime {
        MachineTime { boot: boot.to_string(), millis }
    }

    fn contest(started: MachineTime, answered: Option<MachineTime>) -> Contest {
        let wanted = Reservation {
            pattern: "src/".to_string(),
            reason: None,
            since: Timestamp::UNIX_EPOCH,
            root: None,
            expires_at: None,
            head: None,
            is_literal: false,
            case: LetterCase::Matters,
            task: None,
            contest: None,
            reach: ReservationReach::WorkTree,
            passed_by: Vec::new(),
        };
        let mark = ContestMark { id: ContestId::new("a1").unwrap(), round: 1 };
        let holder = "Alice".to_string();
        let timeout = Duration::from_millis(50);
        Contest { mark, order: 1, wanted, holder, holder_stamp: 0, started, timeout, answered }
    }

    #[test]
    fn an_answer_restarts_the_clock_and_a_restart_of_the_machine_ends_it() {
        let timeout = Duration::from_millis(100);
        let left = |contest: &Contest, now: MachineTime| contest.time_left(&now, timeout);
        let silent = contest(at("a", 1000), None);
        assert_eq!(left(&silent, at("a", 1040)), Some(Duration::from_millis(60)));
        assert_eq!(left(&silent, at("a", 1100)), Some(Duration::ZERO));
        assert_eq!(left(&silent, at("a", 9000)), Some(Duration::ZERO));
        assert_eq!(left(&silent, at("b", 9000)), None, "another boot");
        assert_eq!(left(&silent, at("a", 999)), None, "before the contest");
        let shortened = silent.time_left(&at("a", 1040), Duration::ZERO);
        assert_eq!(shortened, Some(Duration::from_millis(10)), "the holder was told 50 ms");
        let answered = contest(at("a", 1000), Some(at("a", 1090)));
        assert_eq!(left(&answered, at("a", 1150)), Some(Duration::from_millis(40)));
        assert_eq!(left(&answered, at("a", 1190)), Some(Duration::ZERO));
        let ends_at = |contest: &Contest| contest.ends_at(timeout).unwrap().as_millisecond();
        assert_eq!((ends_at(&silent), ends_at(&answered)), (100, 190), "the contest was made at 0");
    }
}
