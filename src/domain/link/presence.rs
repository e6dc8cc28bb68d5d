//! What machines say of their agents between two changes of the records: when each was last active, and what it is doing.
//! It may be lost, and is then only older.

use jiff::{SignedDuration, Timestamp};

use crate::domain::{AgentName, SessionId};

/// What a machine says of one of its agents.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AgentPresence {
    pub name: AgentName,
    pub session: SessionId,
    /// The time since its last sign of life. Not a time of day: clocks of machines differ.
    pub quiet: SignedDuration,
    /// What it is doing, as its hooks said: `editing src/a.rs`.
    pub activity: Option<String>,
}

/// What a machine says at once, of some of its agents or of all.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PresenceReport {
    pub agents: Vec<AgentPresence>,
    /// Whether it has just begun to listen, and would like to hear the others.
    pub asks: bool,
}

/// What another machine said of one of its agents, by the clock of this machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HeardAgent {
    pub name: AgentName,
    pub session: SessionId,
    pub last_sign: Timestamp,
    pub heard_at: Timestamp,
    pub activity: Option<String>,
}

impl AgentPresence {
    /// What it means at the moment when it is heard.
    pub fn heard(self, now: Timestamp) -> HeardAgent {
        let last_sign = now.checked_sub(self.quiet.max(SignedDuration::ZERO)).unwrap_or(Timestamp::MIN);
        let Self { name, session, activity, .. } = self;
        HeardAgent { name, session, last_sign, heard_at: now, activity }
    }
}
