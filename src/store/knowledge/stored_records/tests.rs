//! Tests of the stored records: they are what was merged, and bytes that are wrong are not believed.

use super::*;
use crate::domain::knowledge::merge;
use crate::domain::knowledge::search::{SearchQuery, Standing};
use crate::store::knowledge::LogStamp;
use crate::store::knowledge::tests::{all_sorts, cell};

fn key() -> SourceKey {
    SourceKey::of(&LogStamp::default(), &[])
}

fn snapshot() -> KnowledgeSnapshot {
    let more = (0..50).map(|number| {
        cell(&format!("note/remark-{number}"), "b", 1_000 + number, &format!("Remark {number} about locks"))
    });
    merge(all_sorts().into_iter().chain(more))
}

#[test]
fn every_record_is_read_back() {
    let snapshot = snapshot();
    assert!(snapshot.len() > 50);
    let problems = vec!["`x.log`: it is damaged".to_string()];
    let stored = StoredRecords::of(&key(), &snapshot, &problems).unwrap();
    let stored = StoredRecords::decode(stored.encode(), &key()).unwrap();
    assert_eq!(stored.len(), snapshot.len());
    assert_eq!(stored.problems(), problems);
    assert_eq!(stored.commits(), ["abc"]);
    for record in snapshot.records() {
        assert_eq!(stored.get(&record.id).as_ref(), Some(record));
    }
    assert_eq!(stored.get(&RecordId::parse("note/no-such").unwrap()), None);
    let again = stored.snapshot();
    assert_eq!(again.records().collect::<Vec<_>>(), snapshot.records().collect::<Vec<_>>());
    let hits = stored.index().search(&SearchQuery::new("remark 7", 1), |_| Some(Standing::GOOD)).unwrap();
    assert_eq!(hits[0].key.to_string(), "note/remark-7");
}

#[test]
fn only_the_same_sources_count() {
    let stored = StoredRecords::of(&key(), &snapshot(), &[]).unwrap().encode();
    let other = SourceKey::of(&LogStamp::default(), &[b"pages 7"]);
    assert!(StoredRecords::decode(stored, &other).is_none());
    assert_ne!(
        SourceKey::of(&LogStamp::default(), &[b"a", b"b"]),
        SourceKey::of(&LogStamp::default(), &[b"ab"])
    );
}

#[test]
fn no_damaged_byte_is_believed() {
    let stored = StoredRecords::of(&key(), &snapshot(), &[]).unwrap().encode();
    for at in (0..stored.len()).step_by(7) {
        let mut damaged = stored.clone();
        damaged[at] ^= 0x20;
        assert!(StoredRecords::decode(damaged, &key()).is_none(), "byte {at}");
    }
    for length in (0..stored.len()).step_by(31) {
        assert!(StoredRecords::decode(stored[..length].to_vec(), &key()).is_none(), "{length} bytes");
    }
}

#[test]
fn nothing_is_stored_too() {
    let stored = StoredRecords::of(&key(), &KnowledgeSnapshot::default(), &[]).unwrap();
    assert!(stored.is_empty() && stored.commits().is_empty());
    assert!(stored.snapshot().is_empty());
}
