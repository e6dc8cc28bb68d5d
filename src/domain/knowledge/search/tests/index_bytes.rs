//! The index as bytes: read back, and refused if anything is wrong with it.

use proptest::prelude::*;

use super::{at, names, record};
use crate::domain::knowledge::search::{
    DocumentKey, SearchDocument, SearchIndex, SearchIndexError, SearchQuery, Standing,
};
use crate::domain::knowledge::{AnchorPath, Record};

fn records() -> Vec<Record> {
    let mut records = vec![
        at(record("flock", "One flock guards all names"), "src/sys/flock.rs:12"),
        record("decision/feed", "The feed is split into segments"),
        record("names", "Names are compared without case: größe"),
    ];
    super::supersede(&mut records, 2, 1);
    records
}

#[test]
fn an_index_is_read_back() {
    let built = SearchIndex::of_records(&records());
    let read = SearchIndex::decode(built.encode().to_vec()).unwrap();
    assert_eq!(built, read);
    let hits = read.search(&SearchQuery::new("segments", 5), |_| Some(Standing::GOOD)).unwrap();
    assert_eq!(names(&hits), ["names", "feed"]);
    assert_eq!(
        SearchIndex::of_records(&records()).encode(),
        built.encode(),
        "the same records are the same bytes"
    );
}

#[test]
fn an_empty_index_finds_nothing() {
    let index = SearchIndex::build([]);
    assert!(index.is_empty() && SearchIndex::decode(index.encode().to_vec()).is_ok());
    assert_eq!(index.search(&SearchQuery::new("flock", 5), |_| Some(Standing::GOOD)), Ok(Vec::new()));
}

#[test]
fn what_is_not_an_index_is_refused() {
    let built = SearchIndex::of_records(&records());
    let bytes = built.encode();
    assert_eq!(SearchIndex::decode(Vec::new()), Err(SearchIndexError::Foreign));
    assert_eq!(SearchIndex::decode(b"RVSI".to_vec()), Err(SearchIndexError::Damaged));
    let mut newer = bytes.to_vec();
    newer[4] = 9;
    assert_eq!(SearchIndex::decode(newer), Err(SearchIndexError::OtherVersion(9)));
    for end in 8..bytes.len() {
        assert_eq!(SearchIndex::decode(bytes[..end].to_vec()), Err(SearchIndexError::Damaged), "{end} bytes");
    }
    for bit in 8 * 8..bytes.len() * 8 {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(SearchIndex::decode(flipped), Err(SearchIndexError::Damaged), "bit {bit}");
    }
}

#[test]
fn pieces_of_files_are_searched_with_records() {
    let records = records();
    let path = AnchorPath::new("AGENTS.md").unwrap();
    let piece = SearchDocument::piece(path, 7, "Locking", "Take the flock before you read a registration");
    let index = SearchIndex::build(records.iter().map(SearchDocument::of_record).chain([piece]));
    let hits = index.search(&SearchQuery::new("flock registration", 5), |_| Some(Standing::GOOD)).unwrap();
    assert_eq!(hits[0].key, DocumentKey::parse("AGENTS.md:7").unwrap());
    assert_eq!(hits[0].matched, ["flock", "registration"]);
    let query = SearchQuery { path: Some("AGENTS.md"), ..SearchQuery::new("", 5) };
    assert_eq!(index.search(&query, |_| Some(Standing::GOOD)).unwrap().len(), 1);
}

proptest! {
    /// Bytes that are wrong although their checksum is right are an error or an answer, never a panic.
    #[test]
    fn wrong_bytes_do_no_harm(changes in prop::collection::vec((12_usize..600, any::<u8>()), 1..8)) {
        let built = SearchIndex::of_records(&records());
        let mut bytes = built.encode().to_vec();
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at.max(12)] = byte;
        }
        let checksum = crc32fast::hash(&bytes[12..]).to_le_bytes();
        bytes[8..12].copy_from_slice(&checksum);
        let Ok(index) = SearchIndex::decode(bytes) else { return Ok(()) };
        for words in ["flock names", "segments", ""] {
            let answer = index.search(&SearchQuery::new(words, 5), |_| Some(Standing::GOOD));
            prop_assert!(answer.is_ok() || answer == Err(SearchIndexError::Damaged));
        }
    }
}
