//! What an agent in a terminal is doing.

/// What an agent in a terminal is doing.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ScreenState {
    /// Launched, and neither its hooks nor its screen say that it is ready.
    Starting,
    Working,
    /// A dialog is open, and nothing goes on until it is answered.
    Waiting,
    /// Its turn is over, and it takes a prompt.
    Idle,
    /// In a turn in which nothing happens any more.
    Stuck,
    /// It does the same again and again.
    Spinning,
    /// Its turn was ended by its user.
    Interrupted,
    /// The account is at its limit.
    Limited,
    /// Its turn is over, but shells or subagents of it still run.
    Background,
    /// Its process is gone.
    Ended,
    Unknown,
}

impl ScreenState {
    pub const ALL: [Self; 11] = [
        Self::Starting,
        Self::Working,
        Self::Waiting,
        Self::Idle,
        Self::Stuck,
        Self::Spinning,
        Self::Interrupted,
        Self::Limited,
        Self::Background,
        Self::Ended,
        Self::Unknown,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Working => "working",
            Self::Waiting => "waiting",
            Self::Idle => "idle",
            Self::Stuck => "stuck",
            Self::Spinning => "spinning",
            Self::Interrupted => "interrupted",
            Self::Limited => "limited",
            Self::Background => "background",
            Self::Ended => "ended",
            Self::Unknown => "unknown",
        }
    }

    /// The state with that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether its turn is over, so that a prompt would begin a new one.
    pub fn is_between_turns(self) -> bool {
        matches!(self, Self::Idle | Self::Interrupted | Self::Background)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_read_back() {
        for state in ScreenState::ALL {
            assert_eq!(ScreenState::of_name(state.name()), Some(state));
        }
    }
}
