//! Which machines have their lease, and so whose records count.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::machine::{LeaseEpoch, MachineName};
use super::records::{MachineRecord, RecordOwner};

/// The machines that have a lease now, and when others lost theirs.
#[derive(Clone, Debug, Default)]
pub struct Leases {
    live: BTreeMap<MachineName, MachineRecord>,
    away: BTreeMap<MachineName, Timestamp>,
}

/// Whether the owner of a record still counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OwnerState {
    /// Its machine has the lease that the record names.
    Holds,
    /// The lease ran out, or the machine has a later one: whoever asks may have what it held.
    Lost,
}

impl Leases {
    pub fn put(&mut self, record: MachineRecord) {
        self.away.remove(&record.machine);
        self.live.insert(record.machine.clone(), record);
    }

    /// The machine's lease is over.
    pub fn end(&mut self, machine: &MachineName, now: Timestamp) {
        if self.live.remove(machine).is_some() {
            self.away.insert(machine.clone(), now);
        }
    }

    pub fn state(&self, owner: &RecordOwner) -> OwnerState {
        match self.epoch(&owner.machine) {
            Some(epoch) if *epoch == owner.epoch => OwnerState::Holds,
            _ => OwnerState::Lost,
        }
    }

    pub fn epoch(&self, machine: &MachineName) -> Option<&LeaseEpoch> {
        self.live.get(machine).map(|record| &record.epoch)
    }

    /// The record of a machine that has its lease.
    pub fn record(&self, machine: &MachineName) -> Option<&MachineRecord> {
        self.live.get(machine)
    }

    pub fn is_live(&self, machine: &MachineName) -> bool {
        self.live.contains_key(machine)
    }

    /// The machine has had no lease since then, as was noticed before. What is known better is kept.
    pub fn note_away(&mut self, machine: &MachineName, since: Timestamp) {
        if !self.is_live(machine) {
            self.away.entry(machine.clone()).or_insert(since);
        }
    }

    /// Since when the machine has no lease, as far as it was seen.
    pub fn away_since(&self, machine: &MachineName) -> Option<Timestamp> {
        self.away.get(machine).copied()
    }

    pub fn machines(&self) -> impl Iterator<Item = &MachineRecord> {
        self.live.values()
    }
}
