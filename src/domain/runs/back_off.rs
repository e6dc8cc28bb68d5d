//! How long a kind of worker rests after it has failed several times in a row.

use jiff::{SignedDuration, Timestamp};

use super::state::RunState;

/// So many failures in a row are let pass.
const LET_PASS: u32 = 3;
/// The longest rest is so many times the first one.
const MOST_STEPS: i32 = 30;

/// A rest after failures.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BackOff {
    pub failures: u32,
    pub rest: SignedDuration,
    pub until: Timestamp,
}

/// The rest that follows from how runs ended, the newest first. `first` is the rest after three failures in a row; it
/// doubles with each further one. Runs that were stopped, interrupted or at a limit say nothing.
pub fn back_off(
    ends: impl IntoIterator<Item = (RunState, Timestamp)>,
    first: SignedDuration,
) -> Option<BackOff> {
    let mut failures: u32 = 0;
    let mut last = None;
    for (state, at) in ends {
        if state == RunState::Done {
            break;
        }
        if state.is_failure() {
            failures += 1;
            last.get_or_insert(at);
        }
    }
    let doubled = 1_i32.checked_shl(failures.checked_sub(LET_PASS)?.min(16))?.min(MOST_STEPS);
    let rest = first.checked_mul(doubled)?;
    let until = last?.checked_add(rest).ok()?;
    (!rest.is_zero()).then_some(BackOff { failures, rest, until })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(states: &[RunState]) -> Option<i64> {
        let at = |second: usize| Timestamp::from_second(1_000_000 - second as i64).unwrap();
        let ends = states.iter().enumerate().map(|(index, state)| (*state, at(index)));
        let found = back_off(ends, SignedDuration::from_secs(10));
        found.map(|found| found.rest.as_secs())
    }

    #[test]
    fn it_doubles_up_to_five_minutes_and_ends_with_a_success() {
        use RunState::{Done, Failed, Interrupted, Limited, Stopped, Timeout};
        assert_eq!(rest(&[]), None);
        assert_eq!(rest(&[Failed, Failed]), None);
        assert_eq!(rest(&[Failed, Timeout, Failed]), Some(10));
        assert_eq!(rest(&[Failed, Stopped, Failed, Interrupted, Limited, Failed]), Some(10));
        assert_eq!(rest(&[Failed, Failed, Done, Failed]), None);
        assert_eq!(
            [4, 5, 6, 7, 8, 40].map(|count| rest(&vec![Failed; count])),
            [20, 40, 80, 160, 300, 300].map(Some)
        );
        let at = Timestamp::from_second(5).unwrap();
        assert_eq!(back_off(vec![(Failed, at); 9], SignedDuration::ZERO), None, "it can be switched off");
    }
}
