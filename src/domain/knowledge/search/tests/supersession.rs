//! What supersedes a record comes before it, always.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{find, names, record, search, supersede};
use crate::domain::knowledge::search::{DocumentKey, MergeState, SearchIndex, SearchQuery, Standing};
use crate::domain::knowledge::{AnchorVerdict, Record, RecordKind};

/// A query, an old rule that has its words, and the rule that replaced it, which has few of them or none.
const AMENDED: [(&str, &str, &str); 8] = [
    (
        "how long does a lock wait",
        "A lock waits 30 s. The lock never waits longer.",
        "Acquire gives up after 10 s.",
    ),
    (
        "retry failed uploads",
        "Retry failed uploads three times. Uploads that failed are retried.",
        "Never repeat a PUT; report it.",
    ),
    ("which port does the server use", "The server listens on port 8080.", "Sockets only since the sandbox."),
    (
        "squash commits",
        "Squash commits of a branch before merging: one commit a branch.",
        "History is kept as written.",
    ),
    (
        "date format in the log",
        "The log has dates in the format DD.MM.YYYY.",
        "Timestamps are RFC 3339 everywhere.",
    ),
    (
        "where are tests",
        "Unit tests are in tests/unit; tests of the server too.",
        "Put them beside the module.",
    ),
    (
        "cache expiry",
        "The cache expires after a day: expiry is by age.",
        "Entries are dropped by content hash.",
    ),
    (
        "who may release a reservation",
        "Only the owner may release a reservation.",
        "Anybody after the contest timeout.",
    ),
];

#[test]
fn an_amended_rule_is_above_the_old_one() {
    let mut records: Vec<Record> = Vec::new();
    for (number, (_, old, new)) in AMENDED.iter().enumerate() {
        records.push(record(&format!("decision/old{number}"), old));
        records.push(record(&format!("decision/new{number}"), new));
        supersede(&mut records, 2 * number + 1, 2 * number);
    }
    for (number, (query, _, _)) in AMENDED.iter().enumerate() {
        let found = names(&search(&records, query));
        assert_eq!(found[0], format!("new{number}"), "{query}: {found:?}");
        assert!(found.contains(&format!("old{number}")), "{query}: {found:?}");
    }
}

#[test]
fn of_a_chain_the_last_is_the_first() {
    let mut records = [
        record("a", "the feed is one file, the feed, the feed"),
        record("b", "the feed is two files"),
        record("c", "segments of 1 MiB"),
        record("z", "The feed of the chat"),
    ];
    supersede(&mut records, 1, 0);
    supersede(&mut records, 2, 1);
    let found = names(&search(&records, "feed"));
    assert_eq!(found.iter().filter(|name| *name != "z").collect::<Vec<_>>(), ["c", "b", "a"]);
    assert_eq!(found.len(), 4);
    let one = find(&records, &SearchQuery::new("feed", 1), |_| Some(Standing::GOOD));
    assert_eq!(names(&one), ["c"], "what supersedes is never cut off before the old one");
}

/// What is between two records of a chain may be of another kind, or be left out by the asker.
#[test]
fn a_chain_holds_without_its_middle() {
    let mut records = [
        record("decision/a", "the lock waits, the lock waits"),
        record("note/b", "the lock waits"),
        record("decision/c", "it gives up"),
    ];
    supersede(&mut records, 1, 0);
    supersede(&mut records, 2, 1);
    let worst_is_newest = |key: &DocumentKey| {
        let is_newest = key.to_string().ends_with('c');
        let verdict = if is_newest { AnchorVerdict::Gone } else { AnchorVerdict::Fresh };
        let merged = if is_newest { MergeState::Unmerged } else { MergeState::Merged };
        Some(Standing { verdict, merged })
    };
    let without_b = |key: &DocumentKey| worst_is_newest(key).filter(|_| !key.to_string().ends_with('b'));
    let query = SearchQuery::new("lock waits", 9);
    assert_eq!(names(&find(&records, &query, worst_is_newest)), ["c", "b", "a"]);
    assert_eq!(names(&find(&records, &query, without_b)), ["c", "a"]);
    let decisions = SearchQuery { kind: Some(RecordKind::Decision), ..query };
    assert_eq!(names(&find(&records, &decisions, worst_is_newest)), ["c", "a"]);
}

/// Looking at all above each of them would be two hundred million looks.
#[test]
fn a_long_chain_is_ordered_in_one_pass() {
    const LENGTH: usize = 20_000;
    let mut records: Vec<Record> =
        (0..LENGTH).map(|number| record(&format!("r{number:05}"), "the feed is kept")).collect();
    for new in 1..LENGTH {
        supersede(&mut records, new, new - 1);
    }
    let found = find(&records, &SearchQuery::new("feed", LENGTH), |_| Some(Standing::GOOD));
    let numbers: Vec<String> = (0..LENGTH).rev().map(|number| format!("r{number:05}")).collect();
    assert_eq!(names(&found), numbers);
}

#[test]
fn a_new_one_that_is_gone_is_above_the_old_one_nevertheless() {
    let mut records = [record("old", "the lock waits"), record("new", "the lock gives up")];
    supersede(&mut records, 1, 0);
    let standing = |key: &DocumentKey| {
        let is_new = key.to_string().ends_with("new");
        let verdict = if is_new { AnchorVerdict::Gone } else { AnchorVerdict::Fresh };
        Some(Standing { verdict, merged: if is_new { MergeState::Unmerged } else { MergeState::Merged } })
    };
    assert_eq!(names(&find(&records, &SearchQuery::new("lock waits", 9), standing)), ["new", "old"]);
}

#[test]
fn a_new_one_is_found_at_the_path_of_the_old_one() {
    let mut records = [
        super::at(record("old", "the lock waits"), "src/lock.rs"),
        super::at(record("new", "it gives up"), "src/wait.rs"),
    ];
    supersede(&mut records, 1, 0);
    let query = SearchQuery { path: Some("src/lock.rs"), ..SearchQuery::new("lock", 9) };
    assert_eq!(names(&find(&records, &query, |_| Some(Standing::GOOD))), ["new", "old"]);
}

proptest! {
    /// Whatever the texts, links and verdicts are, and whatever is left out: no record comes after one that it
    /// supersedes, directly or through others, and none is shown without all that supersede it.
    #[test]
    fn newer_is_above_older(
        texts in prop::collection::vec("([a-d]x ){1,6}", 2..14),
        links in prop::collection::vec((0_usize..14, 0_usize..14), 0..20),
        verdicts in prop::collection::vec((0_usize..5, any::<bool>()), 14),
        left_out in prop::collection::vec(prop::bool::weighted(0.2), 14),
        limit in 1_usize..16,
        query in "([a-d]x ){1,3}",
    ) {
        let mut records: Vec<Record> =
            texts.iter().enumerate().map(|(number, text)| record(&format!("r{number:02}"), text)).collect();
        // From higher to lower numbers only, so there are no circles.
        for (one, other) in links {
            let (new, old) = (one.max(other), one.min(other));
            if new < records.len() && new != old {
                supersede(&mut records, new, old);
            }
        }
        let number = |key: &DocumentKey| key.to_string()[6..].parse::<usize>().unwrap();
        let standing = |key: &DocumentKey| {
            let (verdict, is_merged) = verdicts[number(key)];
            let merged = if is_merged { MergeState::Merged } else { MergeState::Unmerged };
            (!left_out[number(key)]).then_some(Standing { verdict: AnchorVerdict::ALL[verdict], merged })
        };
        let above = |old: usize| {
            let mut found = BTreeSet::new();
            let mut open = vec![old];
            while let Some(next) = open.pop() {
                for id in &records[next].superseded_by {
                    let new = number(&DocumentKey::Record(id.clone()));
                    if found.insert(new) {
                        open.push(new);
                    }
                }
            }
            found
        };
        let index = SearchIndex::of_records(&records);
        let hits = index.search(&SearchQuery::new(&query, limit), standing).unwrap();
        let shown: Vec<usize> = hits.iter().map(|hit| number(&hit.key)).collect();
        for (place, old) in shown.iter().enumerate() {
            for new in above(*old).into_iter().filter(|new| !left_out[*new]) {
                prop_assert!(shown[..place].contains(&new), "{new} supersedes {old}, in {shown:?}");
            }
        }
        prop_assert!(hits.is_sorted_by(|one, other| one.score >= other.score));
        let all = index.search(&SearchQuery::new(&query, 99), standing).unwrap();
        prop_assert_eq!(&all[..hits.len()], &hits[..], "a limit only cuts");
    }
}
