//! What machines tell each other of runs that one asked another for.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::machine::MachineName;
use crate::domain::runs::{Cost, RunId, RunState, Usage};
use crate::domain::{AgentName, RootCommit, SessionId};

/// How long after it was asked for a run may begin. One that began hours later would surprise everybody.
pub const REQUEST_LIFE: Duration = Duration::from_secs(3 * 60);
/// The longest task that another machine is given, and the longest last words that come back, in bytes.
pub const MAX_WORDS: usize = 128 * 1024;
/// How much of what a worker printed comes back, in bytes.
pub const MAX_LOG: usize = 64 * 1024;
/// How many changed files are told.
pub const MAX_FILES: usize = 200;

/// Who asked for a run on another machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RunAsker {
    Agent { name: AgentName, session: SessionId },
    Person,
}

impl RunAsker {
    pub fn name(&self) -> Option<&AgentName> {
        match self {
            Self::Agent { name, .. } => Some(name),
            Self::Person => None,
        }
    }

    /// Whether somebody of the same machine may stop what this one asked for: the same agent, or a person.
    pub fn may_be_stopped_by(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Person) => true,
            (Self::Agent { session, .. }, Self::Agent { session: other, .. }) => session == other,
            (Self::Person, Self::Agent { .. }) => false,
        }
    }
}

/// A run that another machine is asked for. It names a profile of that machine, and neither a program nor arguments nor
/// variables.
#[derive(Clone, Debug, PartialEq)]
pub struct RunAsk {
    pub id: RunId,
    pub by: RunAsker,
    pub profile: String,
    pub task: String,
    pub name: Option<AgentName>,
    pub timeout_seconds: Option<u64>,
    pub most_micros: Option<u64>,
    pub most_tokens: Option<u64>,
    /// Patterns from the root of the repository.
    pub reserve: Vec<String>,
    /// The task that is to be claimed, and its spec below the root of the repository.
    pub claim: Option<(String, String)>,
    pub is_to_wait: bool,
    /// Whether who asks may only read, so that the worker may only read, too.
    pub is_to_read: bool,
    /// How many runs are above it.
    pub depth: usize,
    pub repository: RootCommit,
    /// The commit that it starts from.
    pub commit: String,
}

/// Why a run was not started.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RunAskRefusal {
    /// The name of the kind of error.
    pub kind: String,
    pub gate: Option<String>,
    pub message: String,
    pub hints: Vec<String>,
}

/// What became of the branch with the work.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BranchPush {
    pub remote: String,
    /// Why it could not be pushed; `None`: it was.
    pub problem: Option<String>,
}

/// How a run on another machine stands.
#[derive(Clone, Debug, PartialEq)]
pub struct RunNews {
    /// Grows with each news of the run.
    pub number: u64,
    /// Its id there, once it is a run.
    pub there: Option<RunId>,
    pub state: RunState,
    pub harness: Option<String>,
    pub version: Option<String>,
    pub model: Option<String>,
    pub agent: Option<AgentName>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub doing: Option<String>,
    pub result: Option<String>,
    pub reason: Option<String>,
    pub usage: Usage,
    pub cost: Cost,
    pub branch: Option<String>,
    pub changed: Option<Vec<String>>,
    pub push: Option<BranchPush>,
    /// The end of what its worker printed, and of its errors; `None`: not told this time.
    pub log: Option<String>,
    pub errors: Option<String>,
}

impl RunNews {
    /// A run that was accepted and of which nothing else is known.
    pub fn accepted() -> Self {
        Self {
            number: 0,
            there: None,
            state: RunState::Queued,
            harness: None,
            version: None,
            model: None,
            agent: None,
            started_at: None,
            ended_at: None,
            doing: None,
            result: None,
            reason: None,
            usage: Usage::default(),
            cost: Cost::Unknown,
            branch: None,
            changed: None,
            push: None,
            log: None,
            errors: None,
        }
    }
}

/// What one machine tells another about a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunLetter {
    /// Start it.
    Ask(Box<RunAsk>),
    /// It was not started.
    Refused { id: RunId, refusal: RunAskRefusal },
    /// How it stands.
    News { id: RunId, news: Box<RunNews> },
    /// Stop it.
    Stop { id: RunId, by: RunAsker, is_now: bool },
    /// Tell the end of what its worker has printed.
    LogWanted { id: RunId },
}

/// Whether a request that the server stored then came too late to be started, by the server's clock.
pub fn is_too_late(stored_at: Timestamp, now: Timestamp, life: Duration) -> bool {
    now.duration_since(stored_at) > SignedDuration::try_from(life).unwrap_or(SignedDuration::MAX)
}

/// Who asked for a run of this machine from another one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RemoteAsker {
    pub machine: MachineName,
    /// `None`: a person.
    pub agent: Option<AgentName>,
    /// The id that the run has there.
    pub id: RunId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asked_may_stop_it_and_people_there_too() {
        let agent = |name: &str, session: &str| RunAsker::Agent {
            name: AgentName::new(name).unwrap(),
            session: SessionId::new(session).unwrap(),
        };
        let anna = agent("Anna", "a");
        assert!(anna.may_be_stopped_by(&anna) && anna.may_be_stopped_by(&RunAsker::Person));
        // The name may have changed meanwhile, and another may have it now.
        assert!(anna.may_be_stopped_by(&agent("Amy", "a")) && !anna.may_be_stopped_by(&agent("Anna", "b")));
        assert!(!RunAsker::Person.may_be_stopped_by(&anna));
    }

    #[test]
    fn a_request_lives_by_the_clock_of_the_server() {
        let stored = Timestamp::from_second(1_000).unwrap();
        let life = Duration::from_secs(60);
        assert!(!is_too_late(stored, Timestamp::from_second(1_060).unwrap(), life));
        assert!(is_too_late(stored, Timestamp::from_second(1_061).unwrap(), life));
        // A clock that is behind makes nothing old.
        assert!(!is_too_late(stored, Timestamp::from_second(900).unwrap(), life));
    }
}
