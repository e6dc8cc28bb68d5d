//! Tests of the search. How well it finds is tested with whole sets in `tests/it/knowledge_search.rs`.

mod duplicates;
mod index_bytes;
mod ranking;
mod supersession;

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{DocumentKey, SearchHit, SearchIndex, SearchQuery, Standing};
use crate::domain::knowledge::{
    Anchor, AnchorTarget, Basis, KnowledgeSnapshot, Origin, Record, RecordId, RecordName, Statement,
};

/// A record with a name that says nothing.
fn record(id: &str, text: &str) -> Record {
    let (kind, name) = id.split_once('/').unwrap_or(("note", id));
    let id = RecordId::parse(&format!("{kind}/{}", RecordName::derive(name).unwrap())).unwrap();
    let at = Timestamp::from_second(1_790_000_000).unwrap();
    Record::new(id, Statement::new(text, Basis::Read, Origin::new("Ann", at)))
}

fn at(mut record: Record, anchor: &str) -> Record {
    record.anchors.push(Anchor::new(AnchorTarget::parse(anchor).unwrap()));
    record
}

/// `new` supersedes `old`.
fn supersede(records: &mut [Record], new: usize, old: usize) {
    let (new_id, old_id) = (records[new].id.clone(), records[old].id.clone());
    records[new].supersedes.insert(old_id);
    records[old].superseded_by.insert(new_id);
}

fn snapshot(records: Vec<Record>) -> KnowledgeSnapshot {
    let records = records.into_iter().map(|record| (record.id.clone(), record));
    KnowledgeSnapshot::new(records.collect(), BTreeMap::new())
}

fn search(records: &[Record], words: &str) -> Vec<SearchHit> {
    find(records, &SearchQuery::new(words, 10), |_| Some(Standing::GOOD))
}

fn find(
    records: &[Record],
    query: &SearchQuery<'_>,
    standing: impl FnMut(&DocumentKey) -> Option<Standing>,
) -> Vec<SearchHit> {
    SearchIndex::of_records(records).search(query, standing).unwrap()
}

/// The names of what was found.
fn names(hits: &[SearchHit]) -> Vec<String> {
    hits.iter().map(|hit| hit.key.to_string().rsplit('/').next().unwrap().to_string()).collect()
}
