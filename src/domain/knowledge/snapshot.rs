//! All records at one moment. Nothing changes a snapshot.

use std::collections::BTreeMap;

use super::cell::Stamp;
use super::kinds::RecordKind;
use super::record::Record;
use super::record_id::RecordId;

#[derive(Clone, Debug, Default)]
pub struct KnowledgeSnapshot {
    records: BTreeMap<RecordId, Record>,
    latest: BTreeMap<RecordId, Stamp>,
}

impl KnowledgeSnapshot {
    pub(super) fn new(records: BTreeMap<RecordId, Record>, latest: BTreeMap<RecordId, Stamp>) -> Self {
        Self { records, latest }
    }

    /// Of records that were merged before. It is only for reading: it does not know any stamps.
    pub fn of_records(records: impl IntoIterator<Item = Record>) -> Self {
        let records = records.into_iter().map(|record| (record.id.clone(), record));
        Self::new(records.collect(), BTreeMap::new())
    }

    /// Records in the order of kind and name.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.values()
    }

    pub fn of_kind(&self, kind: RecordKind) -> impl Iterator<Item = &Record> {
        self.records().filter(move |record| record.id.kind == kind)
    }

    pub fn get(&self, id: &RecordId) -> Option<&Record> {
        self.records.get(id)
    }

    /// The records of that name, whatever their kind. `kind/name` means one kind.
    pub fn named(&self, name: &str) -> Vec<&Record> {
        match RecordId::parse(name) {
            Some(id) => self.get(&id).into_iter().collect(),
            None => self.records().filter(|record| record.id.name.as_str() == name).collect(),
        }
    }

    /// A record of that name that was retired.
    pub(super) fn retired(&self, kind: Option<RecordKind>, name: &str) -> Option<&RecordId> {
        let given = RecordId::parse(name);
        let is_named = |id: &RecordId| match &given {
            Some(given) => id == given,
            None => id.name.as_str() == name && kind.is_none_or(|kind| id.kind == kind),
        };
        self.latest.keys().find(|id| is_named(id) && !self.records.contains_key(*id))
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The highest stamp of any cell of a record, also of a retired one. Each record has a clock of its own: a page that
    /// was committed with a date in the future moves only the clock of its record.
    pub fn latest_of(&self, id: &RecordId) -> Stamp {
        self.latest.get(id).copied().unwrap_or_default()
    }
}
