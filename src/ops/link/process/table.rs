//! The records of the mesh as this link knows them: what the server said, in its order, and what it confirmed of ours.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use crate::domain::link::{
    LeaseEpoch, Leases, MachineName, OwnerState, PathTable, RecordOwner, TaskHolding, TaskRecord, name_token,
};
use crate::domain::{Agent, AgentName};
use crate::store::link_format::{self, SharedName};

/// For how many keys it is remembered that they are gone.
const MOST_GONE: usize = 10_000;

/// A record with the revision that it has on the server, and the bytes that it is made of.
#[derive(Clone, Debug)]
pub(super) struct Known<T> {
    pub(super) revision: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) value: T,
}

/// A record, by the kind of its key.
#[derive(Clone, Debug)]
pub(super) enum RecordValue {
    Name(Box<SharedName>),
    Task(Box<TaskRecord>),
    Paths(Box<PathTable>),
    /// It can't be read, so it belongs to somebody: nobody may have it.
    Unreadable,
}

impl RecordValue {
    fn parse(key: &str, bytes: &[u8]) -> Self {
        let kind = key.split('.').next().unwrap_or_default();
        let value = match kind {
            "name" => link_format::parse_name(bytes)
                .ok()
                .filter(|name| name_token(&name.record.name) == key)
                .map(|name| Self::Name(Box::new(name))),
            "task" => link_format::parse_task(bytes)
                .ok()
                .filter(|task| crate::domain::link::task_token(&task.key) == key)
                .map(|task| Self::Task(Box::new(task))),
            "paths" => link_format::parse_paths(bytes)
                .ok()
                .filter(|table| crate::domain::link::paths_token(&table.repository) == key)
                .map(|table| Self::Paths(Box::new(table))),
            _ => None,
        };
        value.unwrap_or(Self::Unreadable)
    }
}

/// What the server keeps for the mesh.
#[derive(Debug)]
pub(super) struct RecordTable {
    pub(super) me: MachineName,
    pub(super) leases: Leases,
    machine_revisions: HashMap<MachineName, u64>,
    /// Leases that the server was asked for and that are over.
    over: HashSet<LeaseEpoch>,
    records: HashMap<String, Known<RecordValue>>,
    /// The revisions of keys that are gone, so that a late word of an earlier value does not bring it back.
    gone: HashMap<String, u64>,
    /// Whether everything that was there has been seen.
    pub(super) is_complete: bool,
    /// Whether something that the mirror shows has changed.
    pub(super) is_mirror_behind: bool,
    /// Whether a machine has come that may not have heard of the agents here.
    pub(super) is_machine_new: bool,
}

impl RecordTable {
    pub(super) fn new(me: MachineName) -> Self {
        Self {
            me,
            leases: Leases::default(),
            machine_revisions: HashMap::new(),
            over: HashSet::new(),
            records: HashMap::new(),
            gone: HashMap::new(),
            is_complete: false,
            is_mirror_behind: true,
            is_machine_new: false,
        }
    }

    /// The key has this value at that revision. An earlier revision than the known one says nothing new.
    pub(super) fn put(&mut self, key: &str, revision: u64, bytes: &[u8]) {
        if let Some(machine) = machine_of(key) {
            if self.machine_revisions.get(&machine).is_some_and(|known| *known >= revision) {
                return;
            }
            self.machine_revisions.insert(machine.clone(), revision);
            if let Ok(record) = link_format::parse_machine(bytes)
                && record.machine == machine
            {
                let is_news = self.leases.epoch(&machine) != Some(&record.epoch);
                self.leases.put(record);
                self.is_mirror_behind |= is_news && machine != self.me;
                self.is_machine_new |= is_news && machine != self.me;
            }
            return;
        }
        if self.is_known(key, revision) {
            return;
        }
        self.gone.remove(key);
        let value = RecordValue::parse(key, bytes);
        self.records.insert(key.to_string(), Known { revision, bytes: bytes.to_vec(), value });
        self.is_mirror_behind = true;
    }

    /// The key has no value any more: since that revision, or, if the word of its end was missed, since some time after
    /// it.
    pub(super) fn remove(&mut self, key: &str, revision: u64, now: Timestamp) {
        if let Some(machine) = machine_of(key) {
            if self.machine_revisions.get(&machine).is_none_or(|known| *known <= revision) {
                self.machine_revisions.insert(machine.clone(), revision);
                self.leases.end(&machine, now);
                self.is_mirror_behind = true;
            }
            return;
        }
        if self.records.get(key).is_some_and(|known| known.revision > revision)
            || self.gone.get(key).is_some_and(|known| *known >= revision)
        {
            return;
        }
        self.gone.insert(key.to_string(), revision);
        self.is_mirror_behind |= self.records.remove(key).is_some();
        self.forget_long_gone();
    }

    /// Late words are at most seconds late, so of many keys the first that went need no mark.
    fn forget_long_gone(&mut self) {
        if self.gone.len() < MOST_GONE {
            return;
        }
        let mut revisions: Vec<u64> = self.gone.values().copied().collect();
        let (_, middle, _) = revisions.select_nth_unstable(MOST_GONE / 2);
        let middle = *middle;
        self.gone.retain(|_, revision| *revision > middle);
    }

    /// What is known of the key is out of date, and the server has no value for it now.
    pub(super) fn forget(&mut self, key: &str) {
        self.is_mirror_behind |= self.records.remove(key).is_some();
    }

    fn is_known(&self, key: &str, revision: u64) -> bool {
        self.records.get(key).is_some_and(|known| known.revision >= revision)
            || self.gone.get(key).is_some_and(|known| *known >= revision)
    }

    pub(super) fn get(&self, key: &str) -> Option<&Known<RecordValue>> {
        self.records.get(key)
    }

    /// The keys of that kind, in no order.
    pub(super) fn of_kind<'t>(
        &'t self,
        kind: &'t str,
    ) -> impl Iterator<Item = (&'t String, &'t Known<RecordValue>)> {
        self.records.iter().filter(move |(key, _)| key.split('.').next() == Some(kind))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &SharedName> {
        self.records.values().filter_map(|known| match &known.value {
            RecordValue::Name(name) => Some(&**name),
            _ => None,
        })
    }

    /// Tasks whose completion was taken back, and that are not completed by this machine again: the key, its revision, and
    /// the record.
    pub(super) fn reopened(&self) -> impl Iterator<Item = (&String, u64, &TaskRecord)> {
        self.records.iter().filter_map(|(key, known)| match &known.value {
            RecordValue::Task(task) if task.reopened.is_some() => {
                let is_done_here =
                    matches!(task.holding, TaskHolding::Done { .. }) && task.owner.machine == self.me;
                (!is_done_here).then_some((key, known.revision, &**task))
            }
            _ => None,
        })
    }

    fn tables(&self) -> impl Iterator<Item = &PathTable> {
        self.records.values().filter_map(|known| match &known.value {
            RecordValue::Paths(table) => Some(&**table),
            _ => None,
        })
    }

    /// The machine of the agent that has that name, or had it.
    pub(super) fn machine_of_name(&self, name: &AgentName) -> Option<&MachineName> {
        match &self.get(&name_token(name))?.value {
            RecordValue::Name(name) => Some(&name.record.owner.machine),
            _ => None,
        }
    }

    /// Whether the owner is another machine that has the lease which the record names.
    pub(super) fn is_held_elsewhere(&self, owner: &RecordOwner) -> bool {
        owner.machine != self.me && self.leases.state(owner) == OwnerState::Holds
    }

    /// Whether the owner is another machine whose lease is over as far as is known, and the server was not asked for it.
    pub(super) fn seems_lost(&self, owner: &RecordOwner) -> bool {
        owner.machine != self.me
            && self.leases.state(owner) == OwnerState::Lost
            && !self.over.contains(&owner.epoch)
    }

    /// The server was asked for the owner's lease, and what it said is known now.
    pub(super) fn note_looked_at(&mut self, owner: &RecordOwner) {
        if self.leases.state(owner) == OwnerState::Lost {
            self.over.insert(owner.epoch.clone());
        }
    }

    /// The agents on other machines as they are shown here. Of what they hold, the tables of paths have the last word.
    pub(super) fn mirrored_agents(&self, now: Timestamp) -> Vec<Agent> {
        let mut agents = Vec::new();
        for name in self.names().filter(|name| name.record.owner.machine != self.me) {
            let owner = &name.record.owner;
            let Some(mut agent) = name.agent.clone() else { continue };
            let holds = self.leases.state(owner) == OwnerState::Holds;
            if let Some(machine) = &mut agent.machine {
                let since = || self.leases.away_since(&owner.machine).unwrap_or(now);
                machine.away_since = (!self.leases.is_live(&owner.machine)).then(since);
            }
            agent.reservations = match holds {
                true => self
                    .tables()
                    .flat_map(|table| table.of(owner))
                    .map(|held| held.reservation.clone())
                    .collect(),
                false => Vec::new(),
            };
            agents.push(agent);
        }
        agents.sort_by(|a, b| a.name.as_str().cmp(b.name.as_str()));
        agents
    }

    /// What other machines do with tasks, as it is shown here. A claim of a machine without its lease is free. What was
    /// completed here is shown from here, unless that was cut short after the server had it: `is_in_work` says of a key
    /// whether an agent here is still at it.
    pub(super) fn mirrored_tasks(&self, is_in_work: impl Fn(&str) -> bool) -> Vec<TaskRecord> {
        let counts = |key: &str, task: &TaskRecord| match task.holding {
            TaskHolding::Done { .. } => task.owner.machine != self.me || !is_in_work(key),
            TaskHolding::Claimed { .. } => self.is_held_elsewhere(&task.owner),
            TaskHolding::Reopened => false,
        };
        let counted = self.records.iter().filter_map(|(key, known)| match &known.value {
            RecordValue::Task(task) if counts(key, task) => Some((**task).clone()),
            _ => None,
        });
        let mut tasks: Vec<TaskRecord> = counted.collect();
        tasks.sort_by(|a, b| (&a.key.spec, &a.key.task).cmp(&(&b.key.spec, &b.key.task)));
        tasks
    }

    /// The other machines that have their lease.
    pub(super) fn other_machines(&self) -> Vec<String> {
        let others = self.leases.machines().filter(|record| record.machine != self.me);
        others.map(|record| record.machine.to_string()).collect()
    }
}

/// The machine of a lease, by its key.
fn machine_of(key: &str) -> Option<MachineName> {
    MachineName::new(key.strip_prefix("machine.")?).ok()
}

/// The key of a machine's lease.
pub(super) fn machine_key(machine: &MachineName) -> String {
    format!("machine.{machine}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::SessionId;
    use crate::domain::link::{LeaseEpoch, MachineRecord, NameRecord, RecordOwner};
    use crate::store::link_format::{machine_bytes, name_bytes};

    fn machine(name: &str) -> MachineName {
        MachineName::new(name).unwrap()
    }

    fn lease(name: &str, epoch: &str) -> Vec<u8> {
        let epoch = LeaseEpoch::new(epoch).unwrap();
        let since = Timestamp::from_second(1).unwrap();
        let (installation, version) = (String::new(), "1".to_string());
        machine_bytes(&MachineRecord {
            machine: machine(name),
            epoch,
            installation,
            version,
            since,
            knows_runs: true,
        })
    }

    fn owner(name: &str, epoch: &str) -> RecordOwner {
        RecordOwner {
            machine: machine(name),
            epoch: LeaseEpoch::new(epoch).unwrap(),
            agent: AgentName::new("Anna").unwrap(),
            session: SessionId::new("s").unwrap(),
        }
    }

    #[test]
    fn a_late_word_of_an_earlier_value_changes_nothing() {
        let mut table = RecordTable::new(machine("here"));
        let now = Timestamp::from_second(9).unwrap();
        let anna = AgentName::new("Anna").unwrap();
        let key = name_token(&anna);
        let bytes = |epoch| name_bytes(&anna, &owner("there", epoch), None, None);
        table.put(&key, 5, &bytes("b"));
        table.put(&key, 4, &bytes("a"));
        assert_eq!(table.names().next().unwrap().record.owner.epoch.as_str(), "b");
        table.remove(&key, 6, now);
        table.put(&key, 5, &bytes("b"));
        assert!(table.get(&key).is_none());
        table.put(&key, 7, &bytes("c"));
        assert!(table.get(&key).is_some());
    }

    #[test]
    fn an_owner_counts_with_its_lease() {
        let mut table = RecordTable::new(machine("here"));
        let now = Timestamp::from_second(9).unwrap();
        assert!(!table.is_held_elsewhere(&owner("there", "a")));
        table.put("machine.there", 1, &lease("there", "a"));
        assert!(table.is_held_elsewhere(&owner("there", "a")));
        assert!(
            !table.is_held_elsewhere(&owner("there", "b")) && !table.is_held_elsewhere(&owner("here", "a"))
        );
        table.remove("machine.there", 2, now);
        assert!(!table.is_held_elsewhere(&owner("there", "a")));
        assert_eq!(table.leases.away_since(&machine("there")), Some(now));
    }

    #[test]
    fn what_vanished_without_a_word_is_gone() {
        // A watch that was interrupted for longer than marks of deletions are kept says so with the revision that it knew.
        let mut table = RecordTable::new(machine("here"));
        let now = Timestamp::from_second(9).unwrap();
        let anna = AgentName::new("Anna").unwrap();
        let key = name_token(&anna);
        table.put("machine.there", 4, &lease("there", "a"));
        table.put(&key, 5, &name_bytes(&anna, &owner("there", "a"), None, None));
        table.remove("machine.there", 4, now);
        table.remove(&key, 5, now);
        assert!(table.get(&key).is_none());
        assert!(!table.leases.is_live(&machine("there")));
        table.put(&key, 5, &name_bytes(&anna, &owner("there", "a"), None, None));
        assert!(table.get(&key).is_none(), "a late word brings it back");
    }

    #[test]
    fn marks_of_keys_that_are_gone_do_not_grow_for_ever() {
        let mut table = RecordTable::new(machine("here"));
        let now = Timestamp::from_second(9).unwrap();
        for revision in 1..(3 * MOST_GONE as u64) {
            table.remove(&format!("name.{revision}"), revision, now);
        }
        assert!(table.gone.len() <= MOST_GONE);
        assert!(table.gone.contains_key(&format!("name.{}", 3 * MOST_GONE - 1)));
    }

    #[test]
    fn what_can_not_be_read_belongs_to_somebody() {
        let mut table = RecordTable::new(machine("here"));
        let key = name_token(&AgentName::new("Anna").unwrap());
        table.put(&key, 1, b"{");
        assert!(matches!(table.get(&key).unwrap().value, RecordValue::Unreadable));
        let other = AgentName::new("Bob").unwrap();
        let record = NameRecord { name: other, owner: owner("there", "a") };
        table.put(&key, 2, &name_bytes(&record.name, &record.owner, None, None));
        assert!(
            matches!(table.get(&key).unwrap().value, RecordValue::Unreadable),
            "it is under another's key"
        );
    }
}
