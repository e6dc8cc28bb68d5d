//! The states of a run, and which of them may follow which.

/// Where a run is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum RunState {
    /// It waits for its turn.
    Queued,
    /// Its worker is being started.
    Starting,
    Running,
    /// Its worker waits for the answer to a question.
    Waiting,
    /// The account is at its limit.
    Limited,
    /// It has a result, and its harness reports no error.
    Done,
    Failed,
    /// Its last tool call was refused for want of an answer.
    Denied,
    /// Its last line is a question, and it changed nothing.
    Asks,
    /// It has no result.
    Empty,
    Timeout,
    Stopped,
    OverBudget,
    /// Its supervisor is provably dead. It is never written: it follows from that.
    Interrupted,
}

impl RunState {
    pub const ALL: [Self; 14] = [
        Self::Queued,
        Self::Starting,
        Self::Running,
        Self::Waiting,
        Self::Limited,
        Self::Done,
        Self::Failed,
        Self::Denied,
        Self::Asks,
        Self::Empty,
        Self::Timeout,
        Self::Stopped,
        Self::OverBudget,
        Self::Interrupted,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Limited => "limited",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::Asks => "asks",
            Self::Empty => "empty",
            Self::Timeout => "timeout",
            Self::Stopped => "stopped",
            Self::OverBudget => "over_budget",
            Self::Interrupted => "interrupted",
        }
    }

    /// The state that a record names. A run that was interrupted is recorded in the state that it had before.
    pub fn of_record(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| *state != Self::Interrupted && state.name() == name)
    }

    /// The state with that name, also one that is never recorded.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether it has ended.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Starting | Self::Running | Self::Waiting | Self::Limited)
    }

    /// Whether a person or the parent has something to do: to answer, or to look why it did not get done.
    pub fn needs_attention(self) -> bool {
        matches!(
            self,
            Self::Waiting | Self::Failed | Self::Denied | Self::Asks | Self::Empty | Self::Interrupted
        ) || matches!(self, Self::Timeout | Self::OverBudget)
    }

    /// Whether it counts as a failure where failures are counted. Being stopped, interrupted or at a limit is none.
    pub fn is_failure(self) -> bool {
        matches!(
            self,
            Self::Failed | Self::Denied | Self::Asks | Self::Empty | Self::Timeout | Self::OverBudget
        )
    }

    /// Whether `next` may be recorded after this.
    pub fn may_become(self, next: Self) -> bool {
        match (self, next) {
            (_, Self::Interrupted | Self::Queued) => false,
            (now, _) if now.is_final() => false,
            (Self::Queued, Self::Starting | Self::Limited | Self::Failed | Self::Stopped) => true,
            (Self::Queued, _) => false,
            (Self::Starting, Self::Running) => true,
            (Self::Starting, Self::Waiting) => false,
            (Self::Limited, Self::Starting | Self::Running) => true,
            (Self::Limited, Self::Waiting) => false,
            (Self::Running, Self::Waiting | Self::Limited) => true,
            (Self::Waiting, Self::Running | Self::Limited) => true,
            (now, next) => now != next && next.is_final() || next == Self::Limited && now != Self::Limited,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_ended_stays_ended_and_nobody_records_an_interruption() {
        for state in RunState::ALL {
            assert!(!state.may_become(RunState::Interrupted), "{state:?}");
            assert!(!state.may_become(state), "{state:?}");
            if state.is_final() {
                assert!(RunState::ALL.into_iter().all(|next| !state.may_become(next)), "{state:?}");
            }
        }
        assert_eq!(RunState::of_record("interrupted"), None);
    }

    #[test]
    fn every_run_can_end_and_be_stopped() {
        for state in RunState::ALL.into_iter().filter(|state| !state.is_final()) {
            assert!(state.may_become(RunState::Stopped), "{state:?}");
            assert!(state.may_become(RunState::Failed), "{state:?}");
        }
        assert!(!RunState::Queued.may_become(RunState::Done), "a run that never started has no result");
    }

    #[test]
    fn names_are_unique_and_read_back() {
        for state in RunState::ALL.into_iter().filter(|state| *state != RunState::Interrupted) {
            assert_eq!(RunState::of_record(state.name()), Some(state));
        }
    }
}
