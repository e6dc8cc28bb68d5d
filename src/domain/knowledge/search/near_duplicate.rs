//! Whether a text says what a record says already.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

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

/// Records with the words of each.
type SharedBags<'a> = Rc<Vec<(WordBag, &'a Record)>>;

/// The words of all records, for finding what says nearly the same. The stems of a kind are made when it is first asked
/// for, and once: a batch asks for each of its steps.
#[derive(Debug)]
pub struct NearDuplicates<'a> {
    snapshot: &'a KnowledgeSnapshot,
    kinds: RefCell<HashMap<RecordKind, SharedBags<'a>>>,
}

impl<'a> NearDuplicates<'a> {
    pub fn of(snapshot: &'a KnowledgeSnapshot) -> Self {
        Self { snapshot, kinds: RefCell::default() }
    }

    /// The record of that kind with nearly the same words as `text`, which is a [`comparable_text`]. Of either text at
    /// least nine tenths of the words are in the other; numbers are words. Never one of `except`, the records that are
    /// superseded.
    pub fn find<'e>(
        &self,
        kind: RecordKind,
        text: &str,
        except: impl IntoIterator<Item = &'e RecordId>,
    ) -> Option<&'a Record> {
        let bag = WordBag::of(text);
        let except: HashSet<&RecordId> = except.into_iter().collect();
        let bags = self.bags(kind);
        let others = bags.iter().filter(|(_, record)| !except.contains(&record.id));
        let compared = others.map(|(other, record)| (bag.shared(other), *record));
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

    fn bags(&self, kind: RecordKind) -> SharedBags<'a> {
        let mut kinds = self.kinds.borrow_mut();
        let made = kinds.entry(kind).or_insert_with(|| {
            let bag = |record: &'a Record| (WordBag::of(&comparable_text(&record.statement)), record);
            Rc::new(self.snapshot.of_kind(kind).map(bag).collect())
        });
        Rc::clone(made)
    }
}

/// [`NearDuplicates::find`] for one text.
pub fn near_duplicate<'a>(
    kind: RecordKind,
    text: &str,
    snapshot: &'a KnowledgeSnapshot,
    except: &[RecordId],
) -> Option<&'a Record> {
    NearDuplicates::of(snapshot).find(kind, text, except)
}

/// The stems of a text with how often it has each.
#[derive(Debug)]
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
