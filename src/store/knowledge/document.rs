//! The Yjs document that the files of a log make together.
//!
//! Applied one by one and out of order, updates would leave changes pending although all of them are there. So all are
//! merged first and applied once.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use yrs::updates::decoder::Decode;
use yrs::{Any, ClientID, Doc, Map, MapRef, Out, ReadTxn, StateVector, Transact, Update};

use super::cell_format::{self, NotACell};
use super::update_check;
use crate::domain::knowledge::Cell;
use crate::sys::random;

/// The name of the one root of the document.
pub(super) const ROOT: &str = "knowledge";
/// How many updates are merged at a time. Merging costs the number of changes times the number of updates.
const MERGED_AT_ONCE: usize = 8;

/// A client id that nobody else has: 53 random bits, so that JavaScript reads it as a number.
pub(super) fn new_client() -> u64 {
    random::uuid().as_u64_pair().0 >> 11
}

/// A quarter of damaged updates are decoded without an error, and some may make yrs panic. Neither may stop a reader.
pub(super) fn decode(update: &[u8]) -> Option<Update> {
    if !update_check::is_plain(update) {
        return None;
    }
    catch_unwind(|| Update::decode_v1(update).ok()).ok().flatten()
}

/// Merges updates; the order does not matter.
pub(super) fn merged(mut updates: Vec<Update>) -> Update {
    while updates.len() > 1 {
        let mut rest = updates.into_iter().peekable();
        let mut next = Vec::new();
        while rest.peek().is_some() {
            next.push(Update::merge_updates(rest.by_ref().take(MERGED_AT_ONCE).collect::<Vec<_>>()));
        }
        updates = next;
    }
    updates.pop().unwrap_or_default()
}

/// The changes of each client that are missing before ones that are there.
pub(super) fn gaps(update: &Update) -> BTreeMap<u64, Vec<(u32, u32)>> {
    let mut gaps: BTreeMap<u64, Vec<(u32, u32)>> = BTreeMap::new();
    for (client, ranges) in update.insertions(true).iter() {
        let mut ranges: Vec<(u32, u32)> = ranges.iter().map(|range| (range.start, range.end)).collect();
        ranges.sort_unstable();
        let mut next = 0;
        for (start, end) in ranges {
            if start > next {
                gaps.entry(client.get()).or_default().push((next, start));
            }
            next = next.max(end);
        }
    }
    gaps
}

/// An update that stands for changes of which nothing is known.
fn filler(client: u64, start: u32, end: u32) -> Option<Update> {
    let mut bytes = vec![1, 1];
    for number in [client, start.into()] {
        put_number(&mut bytes, number);
    }
    // A change that was collected as garbage, and its length. Nothing is deleted.
    bytes.push(0);
    put_number(&mut bytes, (end - start).into());
    bytes.push(0);
    decode(&bytes)
}

/// Seven bits per byte, lowest first.
fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The values of a document, and what of it is missing.
#[derive(Debug)]
pub(super) struct YjsDocument {
    doc: Doc,
    root: MapRef,
    /// The clients of which something is missing.
    pub(super) incomplete: BTreeSet<u64>,
}

impl YjsDocument {
    /// `None`: yrs refuses the update.
    pub(super) fn load(updates: Vec<Update>) -> Option<Self> {
        catch_unwind(AssertUnwindSafe(|| Self::load_or_panic(updates))).ok().flatten()
    }

    fn load_or_panic(updates: Vec<Update>) -> Option<Self> {
        let merged_once = merged(updates);
        let gaps = gaps(&merged_once);
        let fillers = gaps.iter().flat_map(|(client, ranges)| {
            ranges.iter().filter_map(|(start, end)| filler(*client, *start, *end))
        });
        let mut all: Vec<Update> = fillers.collect();
        all.push(merged_once);
        let document = Self::empty(gaps.keys().copied().collect());
        document.doc.transact_mut().apply_update(merged(all)).ok()?;
        Some(document)
    }

    fn empty(incomplete: BTreeSet<u64>) -> Self {
        let doc = Doc::with_client_id(new_client());
        let root = doc.get_or_insert_map(ROOT);
        Self { doc, root, incomplete }
    }

    /// Whether changes wait for others that are not there. What is deleted without being there is no such thing.
    pub(super) fn has_pending(&self) -> bool {
        let txn = self.doc.transact();
        txn.store().pending_update().is_some()
    }

    pub(super) fn is_complete(&self) -> bool {
        self.incomplete.is_empty() && !self.has_pending()
    }

    /// Whether nothing was ever written.
    pub(super) fn is_unwritten(&self) -> bool {
        self.doc.transact().state_vector().is_empty()
    }

    /// All values with their keys. None is a shared type: no update with one is decoded.
    pub(super) fn values(&self) -> Vec<(String, Any)> {
        let txn = self.doc.transact();
        let plain = |(key, value): (&str, Out)| match value {
            Out::Any(value) => Some((key.to_string(), value)),
            _ => None,
        };
        self.root.iter(&txn).filter_map(plain).collect()
    }

    /// Whether the document has another root, which is none of ours.
    pub(super) fn has_other_roots(&self) -> bool {
        self.doc.transact().root_refs().any(|(name, _)| name != ROOT)
    }

    pub(super) fn remove<'a>(&self, keys: impl IntoIterator<Item = &'a str>) {
        let mut txn = self.doc.transact_mut();
        for key in keys {
            self.root.remove(&mut txn, key);
        }
    }

    /// Adds values of another document, under keys of this one.
    pub(super) fn add(&self, values: impl IntoIterator<Item = Any>) {
        let client = self.doc.client_id();
        let mut txn = self.doc.transact_mut();
        let first = txn.state_vector().get(&client);
        for (number, value) in (first..).zip(values) {
            self.root.insert(&mut txn, key(client.get(), number), value);
        }
    }

    /// The whole document as one update.
    pub(super) fn encode(&self) -> Vec<u8> {
        let txn = self.doc.transact();
        txn.encode_diff_v1(&StateVector::default())
    }
}

/// The key of the value that a client writes as its n-th change: the Yjs id of that change.
fn key(client: u64, number: u32) -> String {
    format!("{client:x}.{number:x}")
}

/// An update that adds cells as the changes of a client from `clock` on.
pub(super) fn addition(client: u64, clock: u32, values: impl IntoIterator<Item = Any>) -> Option<Vec<u8>> {
    let doc = Doc::with_client_id(client);
    let root = doc.get_or_insert_map(ROOT);
    if clock > 0 {
        doc.transact_mut().apply_update(filler(client, 0, clock)?).ok()?;
    }
    let mut txn = doc.transact_mut();
    for (number, value) in (clock..).zip(values) {
        root.insert(&mut txn, key(client, number), value);
    }
    Some(txn.encode_update_v1())
}

/// The number of the next change of a client.
pub(super) fn next_clock(updates: &[Update], client: u64) -> u32 {
    let client = ClientID::new(client);
    let inserted: Vec<_> = updates.iter().map(|update| update.insertions(true)).collect();
    let ranges = inserted.iter().flat_map(|inserted| inserted.iter()).filter(|(of, _)| **of == client);
    ranges.flat_map(|(_, ranges)| ranges.iter()).map(|range| range.end).max().unwrap_or(0)
}

/// The clients whose changes are in the updates.
pub(super) fn clients(updates: &[Update]) -> BTreeSet<u64> {
    let of_one = |update: &Update| -> Vec<u64> {
        update.insertions(true).iter().map(|(client, _)| client.get()).collect()
    };
    updates.iter().flat_map(of_one).collect()
}

/// The cells among values, and how many are not cells.
#[derive(Debug, Default)]
pub(super) struct SortedCells {
    /// One per key, the latest. In the order of keys.
    pub(super) cells: Vec<Cell>,
    /// The cells that a later one with the same key overwrote, with the Yjs keys of their values.
    pub(super) overwritten: Vec<(String, Cell)>,
    pub(super) newer: usize,
    /// The reasons.
    pub(super) malformed: Vec<String>,
}

impl SortedCells {
    pub(super) fn of(values: &[(String, Any)]) -> Self {
        let mut sorted = Self::default();
        let mut found: Vec<(Cell, &str)> = Vec::with_capacity(values.len());
        for (key, value) in values {
            match cell_format::decode(value) {
                Ok(cell) => found.push((cell, key)),
                Err(NotACell::Newer) => sorted.newer += 1,
                Err(NotACell::Malformed(reason)) => sorted.malformed.push(reason),
            }
        }
        // The order of values is left to chance.
        sorted.malformed.sort_unstable();
        // The latest first. Of two with one stamp, which a copied tree may have, every reader takes the same.
        found.sort_by(|(one, one_key), (two, two_key)| {
            one.key.cmp(&two.key).then(two.stamp.cmp(&one.stamp)).then_with(|| one_key.cmp(two_key))
        });
        for (cell, key) in found {
            match sorted.cells.last() {
                Some(last) if last.key == cell.key => sorted.overwritten.push((key.to_string(), cell)),
                _ => sorted.cells.push(cell),
            }
        }
        sorted
    }
}

/// Checks that an update can be read back. What can't is never written.
pub(super) fn is_readable(update: &[u8]) -> bool {
    decode(update)
        .and_then(|update| YjsDocument::load(vec![update]))
        .is_some_and(|document| document.is_complete())
}
