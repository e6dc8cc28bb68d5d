//! Whether a text says what a record says already.

use std::collections::BTreeMap;

use super::terms::all_stems;
use crate::domain::knowledge::{KnowledgeSnapshot, Record, RecordId, RecordKind, Statement};

/// The share of the words of either text that the other one has, too, as a fraction.
const SHARED: (usize, usize) = (9, 10);
/// Words that may come and go without changing what is said.
const FILLERS: [&str; 16] =
    ["a", "an", "and", "are", "at", "be", "been", "in", "is", "it", "of", "that", "the", "thi", "to", "wa"];

/// The text of a statement that is compared.
pub fn comparable_text(statement: &Statement) -> String {
    match &statement.ends {
        None => statement.headline().to_string(),
        Some(ends) => format!("{} {} {} {}", ends.from, ends.relation, ends.to, statement.headline()),
    }
}

/// The record of that kind with nearly the same words as `text`, which is a [`comparable_text`]. Of either text at least
/// nine tenths of the words are in the other; numbers are words. Never one of `except`, the records that are superseded.
pub fn near_duplicate<'a>(
    kind: RecordKind,
    text: &str,
    snapshot: &'a KnowledgeSnapshot,
    except: &[RecordId],
) -> Option<&'a Record> {
    let bag = WordBag::of(text);
    let others = snapshot.of_kind(kind).filter(|record| !except.contains(&record.id));
    let compared =
        others.map(|record| (bag.shared(&WordBag::of(&comparable_text(&record.statement))), record));
    let enough = |shared: usize, all: usize| all > 0 && shared * SHARED.1 >= all * SHARED.0;
    let near = compared.filter(|((shared, all), _)| enough(*shared, *all));
    // The nearest; of equally near ones the one that still holds.
    let nearness = |shared: usize, all: usize| shared as f64 / all as f64;
    near.max_by(|((shared, all), one), ((other_shared, other_all), other)| {
        let order = nearness(*shared, *all).total_cmp(&nearness(*other_shared, *other_all));
        order.then(other.is_superseded().cmp(&one.is_superseded()))
    })
    .map(|(_, record)| record)
}

/// The stems of a text with how often it has each.
struct WordBag {
    stems: BTreeMap<String, usize>,
    count: usize,
}

impl WordBag {
    fn of(text: &str) -> Self {
        let mut stems: BTreeMap<String, usize> = BTreeMap::new();
        let mut count = 0;
        for stem in all_stems(text).into_iter().filter(|stem| !FILLERS.contains(&stem.as_str())) {
            *stems.entry(stem).or_default() += 1;
            count += 1;
        }
        Self { stems, count }
    }

    /// How many words two bags have in common, and how many the larger one has.
    fn shared(&self, other: &Self) -> (usize, usize) {
        let all = self.count.max(other.count);
        // Not worth counting if even the smaller one as a whole is too little.
        if self.count.min(other.count) * SHARED.1 < all * SHARED.0 {
            return (0, all);
        }
        let common = self.stems.iter().map(|(stem, times)| *times.min(other.stems.get(stem).unwrap_or(&0)));
        (common.sum(), all)
    }
}
