//! Gates: what every task has to pass before a worker is started for it, in this order.

use crate::ops::error::{CommandError, CommandErrorKind};

/// A gate. The order of the variants is the order in which they are asked.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Gate {
    /// New runs are wanted at all.
    Draining,
    /// What agents may do in this repository now.
    Mode,
    /// How deep runs may be nested, and how many a run may start.
    Depth,
    /// There has to be a task.
    Task,
    /// The profile has to exist.
    Profile,
    /// What the project says about it has to be trusted by a person.
    Trust,
    /// The harness has to be installed and able to do what the profile promises.
    Harness,
    /// Nobody else may hold what the run wants to reserve.
    Reserved,
    /// So many workers run at once.
    Slots,
    /// A run is granted its budget out of the one above.
    Budget,
    /// The account must not be at its limit. The run waits for the reset.
    Limit,
    /// After failures in a row the next run waits.
    BackOff,
    /// The same task with the same profile must not fail again and again.
    Loop,
}

/// What a gate says that does not refuse.
#[derive(Clone, Debug)]
pub struct GateAnswer {
    pub gate: Gate,
    /// Whether the run would wait for it.
    pub has_to_wait: bool,
    pub text: String,
}

impl Gate {
    /// Every gate, in the order in which they are asked.
    pub const ALL: [Self; 13] = [
        Self::Draining,
        Self::Mode,
        Self::Depth,
        Self::Task,
        Self::Profile,
        Self::Trust,
        Self::Harness,
        Self::Reserved,
        Self::Slots,
        Self::Budget,
        Self::Limit,
        Self::BackOff,
        Self::Loop,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Draining => "draining",
            Self::Mode => "mode",
            Self::Depth => "depth",
            Self::Task => "task",
            Self::Profile => "profile",
            Self::Trust => "trust",
            Self::Harness => "harness",
            Self::Reserved => "reserved",
            Self::Slots => "slots",
            Self::Budget => "budget",
            Self::Limit => "limit",
            Self::BackOff => "backoff",
            Self::Loop => "loop",
        }
    }

    /// The refusal, with a sentence for people.
    pub fn refuse(self, sentence: impl Into<String>) -> CommandError {
        CommandError::new(CommandErrorKind::Gate, sentence).fact("gate", self.name())
    }
}
