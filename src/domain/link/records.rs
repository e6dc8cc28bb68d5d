//! The records that the server keeps for a mesh: machines, names, tasks, and paths of repositories.

use jiff::{SignedDuration, Timestamp};

use super::machine::{LeaseEpoch, MachineName};
use crate::domain::{AgentName, RootCommit, SessionId};

/// Whose a record is: an agent on a machine, as long as the machine's lease has that epoch.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RecordOwner {
    pub machine: MachineName,
    pub epoch: LeaseEpoch,
    pub agent: AgentName,
    pub session: SessionId,
}

impl RecordOwner {
    /// Whether it is the same agent, whatever the lease.
    pub fn is_same_agent(&self, other: &Self) -> bool {
        self.machine == other.machine && self.session == other.session
    }
}

/// A machine, while it has its lease.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MachineRecord {
    pub machine: MachineName,
    pub epoch: LeaseEpoch,
    /// Which mesh of which machine it is. A link that starts again recognises its own lease by it.
    pub installation: String,
    /// The version of its `msg`.
    pub version: String,
    pub since: Timestamp,
    /// Whether its `msg` knows requests for runs.
    pub knows_runs: bool,
}

/// A name that an agent has, or had and still keeps from others.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NameRecord {
    pub name: AgentName,
    pub owner: RecordOwner,
}

/// A task that is the same on every machine: of a spec in a repository, by its path below the root of a work tree.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct TaskKey {
    pub repository: RootCommit,
    pub spec: String,
    pub task: String,
}

/// Who has a task, who finished it, or who opened it again.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TaskRecord {
    pub key: TaskKey,
    pub owner: RecordOwner,
    pub holding: TaskHolding,
    /// The last time that a completion of it was taken back. It stays through later claims and completions, so that a
    /// machine that was away learns of it.
    pub reopened: Option<TaskReopening>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum TaskHolding {
    Claimed {
        since: Timestamp,
        reason: Option<String>,
    },
    Done {
        at: Timestamp,
        notes: Option<String>,
    },
    /// Its completion was taken back, by its owner. Nobody has it.
    Reopened,
}

/// A completion that was taken back over all machines.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TaskReopening {
    pub by: AgentName,
    pub machine: MachineName,
    pub at: Timestamp,
    pub reason: String,
    /// Who had completed it, and when.
    pub done_by: AgentName,
    pub done_on: MachineName,
    pub done_at: Timestamp,
}

/// A machine writes down a completion a moment after the server has decided it.
const WRITTEN_LATER: SignedDuration = SignedDuration::from_mins(1);

impl TaskReopening {
    /// Whether it took back what that machine completed at that time. Clocks differ; but a completion of the machine that
    /// is named was made by its own clock.
    pub fn covers(&self, machine: &MachineName, at: Timestamp) -> bool {
        let is_named = self.done_on == *machine && at <= after(self.done_at, WRITTEN_LATER);
        is_named || at <= self.at
    }

    /// When a reopening happens by the clocks of all that led to it: never before what it takes back.
    pub fn time(now: Timestamp, done_at: Timestamp, before: Option<&Self>) -> Timestamp {
        let later = |at: Timestamp| after(at, SignedDuration::from_millis(1));
        before.map_or(now, |before| now.max(later(before.at))).max(later(done_at))
    }
}

/// So much later. Another machine may have written any time: one at the end of all times stays there.
fn after(at: Timestamp, span: SignedDuration) -> Timestamp {
    at.saturating_add(span).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reopening_covers_what_it_took_back_and_nothing_later() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let machine = |name: &str| MachineName::new(name).unwrap();
        let name = |name: &str| AgentName::new(name).unwrap();
        // The clock of whoever reopened it is behind.
        let reopening = TaskReopening {
            by: name("Bob"),
            machine: machine("box"),
            at: TaskReopening::time(at(900), at(1_000), None),
            reason: "wrong".to_string(),
            done_by: name("Anna"),
            done_on: machine("laptop"),
            done_at: at(1_000),
        };
        assert!(reopening.at > at(1_000));
        assert!(reopening.covers(&machine("laptop"), at(1_002)), "it was written a moment later");
        assert!(reopening.covers(&machine("desk"), at(999)));
        assert!(!reopening.covers(&machine("desk"), at(1_002)));
        assert!(!reopening.covers(&machine("laptop"), at(2_000)), "it was completed again");
        let next = TaskReopening::time(at(5), at(6), Some(&reopening));
        assert!(next > reopening.at);
    }

    #[test]
    fn no_time_of_another_machine_is_too_late() {
        let (machine, name) = (MachineName::new("laptop").unwrap(), AgentName::new("Anna").unwrap());
        let last = Timestamp::MAX;
        let reopening = TaskReopening {
            by: name.clone(),
            machine: machine.clone(),
            at: TaskReopening::time(Timestamp::UNIX_EPOCH, last, None),
            reason: "wrong".to_string(),
            done_by: name,
            done_on: machine.clone(),
            done_at: last,
        };
        assert_eq!(reopening.at, last);
        assert!(reopening.covers(&machine, last));
        assert_eq!(TaskReopening::time(Timestamp::UNIX_EPOCH, last, Some(&reopening)), last);
    }
}
