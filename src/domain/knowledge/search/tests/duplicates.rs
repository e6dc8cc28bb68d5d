//! Near-duplicates.

use proptest::prelude::*;

use super::{record, snapshot};
use crate::domain::knowledge::search::{NearDuplicates, comparable_text, near_duplicate};
use crate::domain::knowledge::{RecordKind, RelationEnds, RelationType};

const TEN: &str = "One flock guards every name, grave, claim and registration of the whole mesh";

fn is_duplicate(one: &str, other: &str) -> bool {
    let snapshot = snapshot(vec![record("here", one)]);
    near_duplicate(RecordKind::Note, other, &snapshot, &[]).is_some()
}

#[test]
fn the_same_in_other_forms_is_a_duplicate() {
    assert!(is_duplicate(TEN, TEN));
    assert!(is_duplicate(
        TEN,
        "one FLOCK guarded every names, graves, claims and registrations of a whole mesh!"
    ));
    assert!(is_duplicate(TEN, &format!("{TEN} always")), "one word of eleven");
    assert!(is_duplicate("flock", "the flocks"));
}

#[test]
fn what_says_something_else_is_not() {
    for (one, other) in [
        ("The lock waits 30 seconds", "The lock waits 60 seconds"),
        ("The lock is taken before reading", "The lock is not taken before reading"),
        (TEN, "One flock guards every name"),
        ("One flock guards every name", TEN),
        ("use utf8", "use utf16"),
        ("…", "…"),
        ("", ""),
    ] {
        assert!(!is_duplicate(one, other), "{one} / {other}");
    }
}

#[test]
fn only_of_the_same_kind_and_never_what_is_superseded() {
    let records = vec![record("decision/one", TEN), record("decision/two", TEN), record("note/three", "x")];
    let ids: Vec<_> = records.iter().map(|record| record.id.clone()).collect();
    let snapshot = snapshot(records);
    assert!(near_duplicate(RecordKind::Note, TEN, &snapshot, &[]).is_none());
    let found = near_duplicate(RecordKind::Decision, TEN, &snapshot, &ids[..1]).unwrap();
    assert_eq!(found.id, ids[1]);
    assert!(near_duplicate(RecordKind::Decision, TEN, &snapshot, &ids[..2]).is_none());
}

#[test]
fn the_nearest_one_that_holds_is_named() {
    let mut records = vec![
        record("a-far", &format!("{TEN} always")),
        record("b-old", TEN),
        record("c-new", TEN),
        record("d-old", TEN),
    ];
    super::supersede(&mut records, 2, 1);
    super::supersede(&mut records, 2, 3);
    let snapshot = snapshot(records);
    let found = near_duplicate(RecordKind::Note, TEN, &snapshot, &[]).unwrap();
    assert_eq!(found.id.name.as_str(), "c-new");
}

#[test]
fn one_pass_over_the_records_answers_a_whole_batch() {
    let records: Vec<_> = (0..50)
        .map(|number| {
            let kind = if number % 2 == 0 { "note" } else { "decision" };
            record(&format!("{kind}/r{number}"), &format!("{TEN} number {number}"))
        })
        .collect();
    let texts: Vec<String> = (0..60).map(|number| format!("{TEN} numbers {number}")).collect();
    let snapshot = snapshot(records);
    let duplicates = NearDuplicates::of(&snapshot);
    for kind in [RecordKind::Note, RecordKind::Decision, RecordKind::Tried] {
        for text in &texts {
            let found = duplicates.find(kind, text, &[]).map(|record| &record.id);
            assert_eq!(found, near_duplicate(kind, text, &snapshot, &[]).map(|record| &record.id), "{text}");
            assert_eq!(found.is_some(), kind != RecordKind::Tried, "{text}");
        }
    }
}

#[test]
fn relationships_differ_by_their_ends() {
    let ends = |to: &str| {
        let mut record = record("relationship/x", "both take the lock");
        record.statement.ends = Some(RelationEnds {
            from: "src/a.rs".to_string(),
            to: to.to_string(),
            relation: RelationType::Uses,
        });
        record
    };
    let there = snapshot(vec![ends("src/flock.rs")]);
    let near = |to: &str| {
        let text = comparable_text(&ends(to).statement);
        near_duplicate(RecordKind::Relationship, &text, &there, &[]).is_some()
    };
    assert!(near("src/flock.rs"));
    assert!(!near("src/mesh/names.rs"));
}

proptest! {
    /// It does not matter which of two texts was there first.
    #[test]
    fn nearness_is_symmetric(
        one in prop::collection::vec("[a-e]{1,2}|[0-9]", 1..14),
        more in prop::collection::vec("[a-e]{1,2}|[0-9]", 0..3),
        gone in 0_usize..3,
    ) {
        let other: Vec<String> = one.iter().skip(gone).chain(&more).cloned().collect();
        let (one, other) = (one.join(" "), other.join(" "));
        prop_assert_eq!(is_duplicate(&one, &other), is_duplicate(&other, &one));
    }
}
