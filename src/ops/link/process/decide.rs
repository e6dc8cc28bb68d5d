//! Decisions of the server: each is a compare-and-swap of one record, tried again as long as others change it.
//!
//! Agents of one machine are told apart by the local mesh, under its lock. Here only machines are.

use bytes::Bytes;

use super::table::{Known, RecordTable, RecordValue, machine_key};
use crate::domain::link::{
    LeaseEpoch, PathTable, RecordOwner, TaskHolding, TaskKey, TaskRecord, TaskReopening, by_clock, later,
    name_token, paths_token, shared, task_token,
};
use crate::domain::{Reservation, RootCommit};
use crate::store::link_format::{MAX_PATHS, name_bytes, paths_bytes, task_bytes};
use crate::store::link_protocol::{Holder, LinkAnswer, LocalAgent};
use crate::sys::clock;
use crate::sys::nats::{Cas, Nats, NatsError};
use crate::sys::test_switches::{Bug, has_bug};

/// How often a record is tried if others change it meanwhile.
const TRIES: usize = 16;

/// What is to become of a record.
pub(super) enum RecordStep {
    Write(Vec<u8>),
    Delete,
    /// It stays as it is.
    Stop(LinkAnswer),
}

/// The server, and what is known of its records.
pub(super) struct Arbiter<'a> {
    pub(super) nats: &'a Nats,
    pub(super) table: &'a mut RecordTable,
    /// The epoch of our lease.
    pub(super) epoch: &'a LeaseEpoch,
}

impl Arbiter<'_> {
    pub(super) fn owner(&self, agent: &LocalAgent) -> RecordOwner {
        RecordOwner {
            machine: self.table.me.clone(),
            epoch: self.epoch.clone(),
            agent: agent.name.clone(),
            session: agent.session.clone(),
        }
    }

    /// Changes a record as `step` says, from what is known of it. If somebody was faster, it is read again.
    pub(super) async fn change(
        &mut self,
        key: &str,
        mut step: impl FnMut(&RecordTable, Option<&Known<RecordValue>>) -> RecordStep,
    ) -> Result<LinkAnswer, NatsError> {
        let mut is_doubtful = false;
        for _ in 0..TRIES {
            let known = self.table.get(key).cloned();
            self.look_at_owners(known.as_ref()).await.map_err(|error| doubted(error, is_doubtful))?;
            let revision = known.as_ref().map(|known| known.revision);
            let (outcome, bytes) = match (step(self.table, known.as_ref()), revision) {
                (RecordStep::Stop(answer), _) => return Ok(answer),
                (RecordStep::Write(bytes), Some(revision)) => {
                    let is_same = known.as_ref().is_some_and(|known| known.bytes == bytes);
                    // What was written in doubt is confirmed by the look that follows it.
                    if is_same && is_doubtful {
                        return Ok(LinkAnswer::Granted { token: revision });
                    }
                    let value = Bytes::from(bytes.clone());
                    (self.nats.update(key, value, revision, None).await, Some(bytes))
                }
                (RecordStep::Write(bytes), None) => {
                    (self.nats.create(key, Bytes::from(bytes.clone()), None).await, Some(bytes))
                }
                (RecordStep::Delete, Some(revision)) => (self.nats.delete(key, revision).await, None),
                (RecordStep::Delete, None) => return Ok(LinkAnswer::Done),
            };
            match outcome {
                Ok(Cas::Done(revision)) => {
                    match bytes {
                        Some(bytes) => self.table.put(key, revision, &bytes),
                        None => self.table.remove(key, revision, clock::now()),
                    }
                    return Ok(LinkAnswer::Granted { token: revision });
                }
                Ok(Cas::Conflict) => {
                    self.read_again(key).await.map_err(|error| doubted(error, is_doubtful))?;
                }
                // It may have happened: the record says so.
                Err(NatsError::Unknown { .. }) if !is_doubtful => {
                    is_doubtful = true;
                    self.read_again(key).await.map_err(|error| doubted(error, is_doubtful))?;
                }
                Err(error) => return Err(doubted(error, is_doubtful)),
            }
        }
        Err(doubted(NatsError::NotReady { what: "others keep changing the record".to_string() }, is_doubtful))
    }

    /// Asks for the lease of each owner on another machine that seems to have lost it, before anything is taken from it. The
    /// record may be newer than what is known of leases: it was read by itself, or it came without the lease that it names,
    /// because that was renewed since and comes later.
    async fn look_at_owners(&mut self, known: Option<&Known<RecordValue>>) -> Result<(), NatsError> {
        let owners: Vec<RecordOwner> = match known.map(|known| &known.value) {
            Some(RecordValue::Name(name)) => vec![name.record.owner.clone()],
            Some(RecordValue::Task(task)) => vec![task.owner.clone()],
            Some(RecordValue::Paths(table)) => table.held.iter().map(|held| held.owner.clone()).collect(),
            Some(RecordValue::Unreadable) | None => return Ok(()),
        };
        for owner in owners {
            if self.table.seems_lost(&owner) {
                let key = machine_key(&owner.machine);
                if let Some(lease) = self.nats.get(&key).await? {
                    self.table.put(&key, lease.revision, &lease.value);
                }
                // If it has another lease now, or none, this one does not come back.
                self.table.note_looked_at(&owner);
            }
        }
        Ok(())
    }

    async fn read_again(&mut self, key: &str) -> Result<(), NatsError> {
        match self.nats.get(key).await? {
            Some(record) => self.table.put(key, record.revision, &record.value),
            // The word that it is gone comes later, with its revision. Until then it must not seem to be there.
            None => self.table.forget(key),
        }
        Ok(())
    }

    /// Has that name for an agent of this machine.
    pub(super) async fn take_name(&mut self, agent: &LocalAgent) -> Result<LinkAnswer, NatsError> {
        let owner = self.owner(agent);
        self.change(&name_token(&agent.name), |table, known| {
            let record = match known.map(|known| &known.value) {
                None => None,
                Some(RecordValue::Name(name)) => Some(&name.record),
                Some(_) => return RecordStep::Stop(unreadable()),
            };
            match record {
                Some(record) if table.is_held_elsewhere(&record.owner) => {
                    RecordStep::Stop(taken(vec![holder(&record.owner)]))
                }
                // The local mesh says which agent of this machine has it.
                Some(record) if record.owner.machine == table.me => {
                    RecordStep::Stop(LinkAnswer::Granted { token: known.map_or(0, |known| known.revision) })
                }
                _ => RecordStep::Write(name_bytes(&agent.name, &owner, None, None)),
            }
        })
        .await
    }

    pub(super) async fn take_task(
        &mut self,
        agent: &LocalAgent,
        key: &TaskKey,
        reason: Option<&String>,
    ) -> Result<LinkAnswer, NatsError> {
        let owner = self.owner(agent);
        let holding = TaskHolding::Claimed { since: clock::now(), reason: reason.cloned() };
        let mine = TaskRecord { key: key.clone(), owner, holding, reopened: None };
        self.change(&task_token(key), |table, known| match task(known) {
            Ok(Some(record)) => match &record.holding {
                TaskHolding::Done { at, .. } => RecordStep::Stop(LinkAnswer::Finished {
                    by: Holder { since: Some(*at), ..holder(&record.owner) },
                }),
                TaskHolding::Claimed { since, reason } if table.is_held_elsewhere(&record.owner) => {
                    let by = Holder { since: Some(*since), reason: reason.clone(), ..holder(&record.owner) };
                    RecordStep::Stop(taken(vec![by]))
                }
                TaskHolding::Claimed { .. } | TaskHolding::Reopened => {
                    RecordStep::Write(after(&mine, Some(record)))
                }
            },
            Ok(None) => RecordStep::Write(after(&mine, None)),
            Err(Unreadable) => RecordStep::Stop(unreadable()),
        })
        .await
    }

    /// Writes the claim of a task once more: an agent here has it, and its machine is still the last one that took it.
    /// Nobody else can have taken it in between, because the record was at that revision.
    pub(super) async fn confirm_task(
        &mut self,
        agent: &LocalAgent,
        key: &TaskKey,
        reason: Option<&String>,
    ) -> Result<LinkAnswer, NatsError> {
        let owner = self.owner(agent);
        let claimed = TaskHolding::Claimed { since: clock::now(), reason: reason.cloned() };
        self.change(&task_token(key), |table, known| match task(known) {
            Ok(there) => match there.and_then(|there| fence(table, there)) {
                Some(refusal) => RecordStep::Stop(refusal),
                None => {
                    // What is known of our own claim stays.
                    let own = there.map(|there| &there.holding);
                    let own = own.filter(|holding| matches!(holding, TaskHolding::Claimed { .. }));
                    let holding = own.unwrap_or(&claimed).clone();
                    let mine = TaskRecord { key: key.clone(), owner: owner.clone(), holding, reopened: None };
                    RecordStep::Write(after(&mine, there))
                }
            },
            Err(Unreadable) => RecordStep::Stop(unreadable()),
        })
        .await
    }

    /// Finishes a task. Whoever lost it to another machine meanwhile is refused: that is what fencing means.
    pub(super) async fn complete_task(
        &mut self,
        agent: &LocalAgent,
        key: &TaskKey,
        notes: Option<&String>,
    ) -> Result<LinkAnswer, NatsError> {
        let owner = self.owner(agent);
        let holding = TaskHolding::Done { at: clock::now(), notes: notes.cloned() };
        let mine = TaskRecord { key: key.clone(), owner, holding, reopened: None };
        self.change(&task_token(key), |table, known| match task(known) {
            Ok(there) => match there.and_then(|there| fence(table, there)) {
                Some(refusal) => RecordStep::Stop(refusal),
                None => RecordStep::Write(after(&mine, there)),
            },
            Err(Unreadable) => RecordStep::Stop(unreadable()),
        })
        .await
    }

    /// Makes a finished task open again. The record stays and says so: the machine that completed it may be away.
    pub(super) async fn reopen_task(
        &mut self,
        agent: &LocalAgent,
        key: &TaskKey,
        reason: &str,
    ) -> Result<LinkAnswer, NatsError> {
        let owner = RecordOwner { epoch: LeaseEpoch::of_nobody(), ..self.owner(agent) };
        let now = clock::now();
        self.change(&task_token(key), |table, known| match task(known) {
            Ok(Some(record)) => match &record.holding {
                TaskHolding::Done { at, .. } => {
                    let reopening = TaskReopening {
                        by: agent.name.clone(),
                        machine: table.me.clone(),
                        at: TaskReopening::time(now, *at, record.reopened.as_ref()),
                        reason: reason.to_string(),
                        done_by: record.owner.agent.clone(),
                        done_on: record.owner.machine.clone(),
                        done_at: *at,
                    };
                    RecordStep::Write(task_bytes(&TaskRecord {
                        key: key.clone(),
                        owner: owner.clone(),
                        holding: TaskHolding::Reopened,
                        reopened: Some(reopening),
                    }))
                }
                TaskHolding::Claimed { since, reason } if table.is_held_elsewhere(&record.owner) => {
                    let by = Holder { since: Some(*since), reason: reason.clone(), ..holder(&record.owner) };
                    RecordStep::Stop(taken(vec![by]))
                }
                TaskHolding::Claimed { .. } | TaskHolding::Reopened => RecordStep::Stop(LinkAnswer::Done),
            },
            // The server was never told that it is done.
            Ok(None) => RecordStep::Stop(LinkAnswer::Done),
            Err(Unreadable) => RecordStep::Stop(unreadable()),
        })
        .await
    }

    /// Has these paths for an agent, besides those that it has.
    pub(super) async fn take_paths(
        &mut self,
        agent: &LocalAgent,
        repository: &RootCommit,
        wanted: &[Reservation],
    ) -> Result<LinkAnswer, NatsError> {
        let owner = self.owner(agent);
        // In the record, times are by the clock of the server: those of the machines differ.
        let ahead = self.nats.server_facts().clock_offset.unwrap_or_default();
        let wanted: Vec<Reservation> =
            wanted.iter().filter_map(|wanted| Some(by_clock(shared(wanted, "/")?, ahead))).collect();
        let now = later(clock::now(), ahead);
        self.change(&paths_token(repository), |table, known| {
            let mut paths = match path_table(known, repository) {
                Ok(paths) => paths,
                Err(Unreadable) => return RecordStep::Stop(unreadable()),
            };
            paths.prune(&table.leases, now);
            let conflicts = paths.conflicts(&owner, &wanted);
            let elsewhere = conflicts.iter().filter(|conflict| conflict.held.owner.machine != table.me);
            let holders: Vec<Holder> = elsewhere
                .map(|conflict| Holder {
                    since: Some(conflict.held.reservation.since),
                    reason: conflict.held.reservation.reason.clone(),
                    pattern: Some(conflict.held.reservation.pattern.clone()),
                    wanted: Some(conflict.wanted.pattern.clone()),
                    ..holder(&conflict.held.owner)
                })
                .collect();
            if !holders.is_empty() {
                return RecordStep::Stop(taken(holders));
            }
            let is_new = |held: &Reservation| !wanted.iter().any(|wanted| wanted.is_written_alike(held));
            let kept = paths.of(&owner).map(|held| held.reservation.clone()).filter(is_new);
            let all = kept.chain(wanted.iter().cloned()).collect();
            paths.set(&owner, all);
            if paths.held.len() > MAX_PATHS {
                let why =
                    format!("agents hold {MAX_PATHS} paths of this repository, and no more are possible");
                return RecordStep::Stop(LinkAnswer::Refused { why });
            }
            RecordStep::Write(paths_bytes(&paths))
        })
        .await
    }
}

/// The error of a decision, of which nobody knows whether the server made it if an answer is missing.
fn doubted(error: NatsError, is_doubtful: bool) -> NatsError {
    match error {
        NatsError::Unknown { .. } => error,
        error if is_doubtful => NatsError::Unknown { what: error.to_string() },
        error => error,
    }
}

/// Why nobody on this machine may finish the task of that record; `None`: it may be finished.
fn fence(table: &RecordTable, record: &TaskRecord) -> Option<LinkAnswer> {
    match &record.holding {
        TaskHolding::Done { at, .. } => {
            Some(LinkAnswer::Finished { by: Holder { since: Some(*at), ..holder(&record.owner) } })
        }
        // Another machine took it, so it was lost, whether that machine still has it or not.
        TaskHolding::Claimed { since, reason }
            if record.owner.machine != table.me && !has_bug(Bug::UnfencedCompletion) =>
        {
            Some(taken(vec![Holder { since: Some(*since), reason: reason.clone(), ..holder(&record.owner) }]))
        }
        TaskHolding::Claimed { .. } | TaskHolding::Reopened => None,
    }
}

/// The record of a task that follows another one: that it was reopened once stays known.
pub(super) fn after(record: &TaskRecord, before: Option<&TaskRecord>) -> Vec<u8> {
    let reopened = before.and_then(|before| before.reopened.clone());
    task_bytes(&TaskRecord { reopened, ..record.clone() })
}

/// What becomes of the record of a task that its owner gives up: nothing, or, if a completion of it was taken back once,
/// the record of that.
pub(super) fn given_up(record: &TaskRecord) -> RecordStep {
    if record.reopened.is_none() {
        return RecordStep::Delete;
    }
    let owner = RecordOwner { epoch: LeaseEpoch::of_nobody(), ..record.owner.clone() };
    RecordStep::Write(task_bytes(&TaskRecord { owner, holding: TaskHolding::Reopened, ..record.clone() }))
}

/// A record that can't be read: of a later version, or damaged. It is not overwritten.
#[derive(Debug)]
pub(super) struct Unreadable;

/// The table of paths in a record; an empty one if there is none.
pub(super) fn path_table(
    known: Option<&Known<RecordValue>>,
    repository: &RootCommit,
) -> Result<PathTable, Unreadable> {
    match known.map(|known| &known.value) {
        None => Ok(PathTable::new(repository.clone())),
        Some(RecordValue::Paths(table)) => Ok((**table).clone()),
        Some(_) => Err(Unreadable),
    }
}

pub(super) fn task(known: Option<&Known<RecordValue>>) -> Result<Option<&TaskRecord>, Unreadable> {
    match known.map(|known| &known.value) {
        None => Ok(None),
        Some(RecordValue::Task(task)) => Ok(Some(task)),
        Some(_) => Err(Unreadable),
    }
}

pub(super) fn holder(owner: &RecordOwner) -> Holder {
    Holder {
        agent: owner.agent.to_string(),
        machine: owner.machine.to_string(),
        since: None,
        reason: None,
        pattern: None,
        wanted: None,
    }
}

fn taken(holders: Vec<Holder>) -> LinkAnswer {
    LinkAnswer::Taken { holders }
}

pub(super) fn unreadable() -> LinkAnswer {
    LinkAnswer::Refused { why: "the record on the server can't be read by this version of msg".to_string() }
}
