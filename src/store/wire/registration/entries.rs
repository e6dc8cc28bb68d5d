//! The entries of the lists in a registration: reservations, waits and former names.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::pattern::LetterCase;
use crate::domain::{
    Contest, ContestId, ContestMark, MachineTime, PathWait, Reservation, ReservationReach, RootCommit,
    TaskRef, TaskWait,
};
use crate::store::wire::time;

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::store::wire) struct ReservationKeys {
    pattern: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(with = "time")]
    since: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    #[serde(default, with = "time::option", skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    literal: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignore_case: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<TaskKeys>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contested: Option<MarkKeys>,
    /// The first commit of the repository, if it binds in all of its work trees.
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    /// It is a thing. An older `msg` reads it as a path below the root, where no file is.
    #[serde(skip_serializing_if = "Option::is_none")]
    thing: Option<bool>,
    /// Agents whose own reservations don't bind the holder there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    passed_by: Vec<String>,
}

fn reach_of(repository: Option<String>, thing: Option<bool>) -> ReservationReach {
    if thing == Some(true) {
        return ReservationReach::Thing;
    }
    let commit = repository.and_then(|commit| RootCommit::new(&commit));
    commit.map_or(ReservationReach::WorkTree, ReservationReach::Repository)
}

fn repository_of(reach: &ReservationReach) -> Option<String> {
    reach.repository().map(|commit| commit.as_str().to_string())
}

fn thing_of(reach: &ReservationReach) -> Option<bool> {
    (*reach == ReservationReach::Thing).then_some(true)
}

#[derive(Deserialize, Serialize)]
struct MarkKeys {
    id: String,
    round: u32,
}

impl MarkKeys {
    fn read(self) -> Option<ContestMark> {
        Some(ContestMark { id: ContestId::new(&self.id)?, round: self.round })
    }

    fn of(mark: &ContestMark) -> Self {
        Self { id: mark.id.to_string(), round: mark.round }
    }
}

#[derive(Deserialize, Serialize)]
struct TaskKeys {
    spec: String,
    id: String,
}

#[derive(Deserialize, Serialize)]
pub(super) struct TaskWaitKeys {
    spec: String,
    id: String,
    holder: String,
    #[serde(with = "time")]
    since: Timestamp,
}

impl From<TaskWaitKeys> for TaskWait {
    fn from(keys: TaskWaitKeys) -> Self {
        let TaskWaitKeys { spec, id, holder, since } = keys;
        Self { task: TaskRef { spec, id }, holder, since }
    }
}

impl From<TaskWait> for TaskWaitKeys {
    fn from(wait: TaskWait) -> Self {
        let TaskWait { task: TaskRef { spec, id }, holder, since } = wait;
        Self { spec, id, holder, since }
    }
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WaitKeys {
    pattern: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    named: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    literal: Option<bool>,
    holder: String,
    #[serde(with = "time")]
    since: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thing: Option<bool>,
}

impl From<ReservationKeys> for Reservation {
    fn from(keys: ReservationKeys) -> Self {
        let ReservationKeys {
            pattern,
            reason,
            since,
            root,
            expires_at,
            head,
            literal,
            ignore_case,
            task,
            contested,
            repository,
            thing,
            passed_by,
        } = keys;
        let literal = literal == Some(true);
        let case = if ignore_case == Some(true) { LetterCase::Ignored } else { LetterCase::Matters };
        let task = task.map(|TaskKeys { spec, id }| TaskRef { spec, id });
        let contest = contested.and_then(MarkKeys::read);
        let (is_literal, reach) = (literal, reach_of(repository, thing));
        Self {
            pattern,
            reason,
            since,
            root,
            expires_at,
            head,
            is_literal,
            case,
            task,
            contest,
            reach,
            passed_by,
        }
    }
}

impl From<Reservation> for ReservationKeys {
    fn from(reservation: Reservation) -> Self {
        let Reservation {
            pattern,
            reason,
            since,
            root,
            expires_at,
            head,
            is_literal: literal,
            case,
            task,
            contest,
            reach,
            passed_by,
        } = reservation;
        let literal = literal.then_some(true);
        let ignore_case = (case == LetterCase::Ignored).then_some(true);
        let task = task.map(|TaskRef { spec, id }| TaskKeys { spec, id });
        let contested = contest.as_ref().map(MarkKeys::of);
        let (repository, thing) = (repository_of(&reach), thing_of(&reach));
        Self {
            pattern,
            reason,
            since,
            root,
            expires_at,
            head,
            literal,
            ignore_case,
            task,
            contested,
            repository,
            thing,
            passed_by,
        }
    }
}

impl From<WaitKeys> for PathWait {
    fn from(keys: WaitKeys) -> Self {
        let WaitKeys { pattern, named, root, literal, holder, since, repository, thing } = keys;
        let (is_literal, reach) = (literal == Some(true), reach_of(repository, thing));
        Self { pattern, named, root, is_literal, holder, since, reach }
    }
}

impl From<PathWait> for WaitKeys {
    fn from(wait: PathWait) -> Self {
        let PathWait { pattern, named, root, is_literal, holder, since, reach } = wait;
        let literal = is_literal.then_some(true);
        let (repository, thing) = (repository_of(&reach), thing_of(&reach));
        Self { pattern, named, root, literal, holder, since, repository, thing }
    }
}

#[derive(Deserialize, Serialize)]
pub(super) struct FormerKeys {
    pub(super) name: String,
    #[serde(with = "time")]
    pub(super) until: Timestamp,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContestKeys {
    id: String,
    round: u32,
    order: u64,
    wanted: ReservationKeys,
    holder: String,
    holder_stamp: u64,
    started: MachineTimeKeys,
    #[serde(default)]
    timeout_millis: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    answered: Option<MachineTimeKeys>,
}

#[derive(Deserialize, Serialize)]
struct MachineTimeKeys {
    boot: String,
    millis: u64,
}

impl From<MachineTimeKeys> for MachineTime {
    fn from(MachineTimeKeys { boot, millis }: MachineTimeKeys) -> Self {
        Self { boot, millis }
    }
}

impl From<MachineTime> for MachineTimeKeys {
    fn from(MachineTime { boot, millis }: MachineTime) -> Self {
        Self { boot, millis }
    }
}

impl ContestKeys {
    /// `None`: its id is not one of ours.
    pub(super) fn read(self) -> Option<Contest> {
        let Self { id, round, order, wanted, holder, holder_stamp, started, timeout_millis, answered } = self;
        let timeout = Duration::from_millis(timeout_millis);
        let mark = MarkKeys { id, round }.read()?;
        let (wanted, started, answered) = (wanted.into(), started.into(), answered.map(Into::into));
        Some(Contest { mark, order, wanted, holder, holder_stamp, started, timeout, answered })
    }
}

impl From<Contest> for ContestKeys {
    fn from(contest: Contest) -> Self {
        let Contest { mark, order, wanted, holder, holder_stamp, started, timeout, answered } = contest;
        let timeout_millis = timeout.as_millis().try_into().unwrap_or(u64::MAX);
        let MarkKeys { id, round } = MarkKeys::of(&mark);
        let (wanted, started, answered) = (wanted.into(), started.into(), answered.map(Into::into));
        Self { id, round, order, wanted, holder, holder_stamp, started, timeout_millis, answered }
    }
}
