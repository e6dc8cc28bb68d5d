//! Builds an index: counts the terms of each document, and weighs them when all are counted.

use std::collections::HashMap;

use super::byte_reader::{put_number, put_text};
use super::document::{SearchDocument, SearchField};
use super::index::{HEADER, SearchIndex, WEIGHT_UNIT};
use super::terms::{TermChoice, each_term};
use crate::domain::knowledge::{Record, RecordId};
use crate::domain::words::{TermPart, each_token};

const FIELDS: usize = SearchField::COUNT;

/// How much a word counts in each field, in the order of [`SearchField`].
const FIELD_WEIGHTS: [f32; FIELDS] = [1.0, 0.7, 1.0, 1.0, 1.2, 0.6];
/// How much the length of each field matters, 0 to 1.
const LENGTH_WEIGHTS: [f32; FIELDS] = [0.6, 0.6, 0.3, 0.3, 0.3, 0.3];

#[derive(Default)]
pub(super) struct IndexBuilder {
    choice: TermChoice,
    terms: HashMap<String, u32>,
    /// The terms of tokens that were seen: most are seen often.
    tokens: HashMap<String, Vec<(u32, TermPart)>>,
    counts: Vec<TermCount>,
    lengths: Vec<[u32; FIELDS]>,
    documents: Vec<StoredDocument>,
    numbers: HashMap<RecordId, u32>,
}

/// How often one document has one term, in each field.
#[derive(Clone, Copy, Debug)]
struct TermCount {
    term: u32,
    document: u32,
    fields: [u8; FIELDS],
}

/// What is written about a document.
struct StoredDocument {
    key: String,
    paths: Vec<String>,
    superseded_by: Vec<RecordId>,
    is_deprecated: bool,
    changed: i64,
}

impl IndexBuilder {
    pub(super) fn add(&mut self, document: SearchDocument<'_>) {
        let number = self.documents.len() as u32;
        let mut lengths = [0; FIELDS];
        let mut found: Vec<(u32, usize)> = Vec::new();
        for (field, text) in &document.texts {
            let field = field.number();
            each_token(text, &mut |token| {
                for (term, part) in self.terms_of(token) {
                    lengths[field] += u32::from(*part == TermPart::Word);
                    found.push((*term, field));
                }
            });
        }
        found.sort_unstable();
        for same in found.chunk_by(|one, other| one.0 == other.0) {
            let mut fields = [0_u8; FIELDS];
            same.iter().for_each(|(_, field)| fields[*field] = fields[*field].saturating_add(1));
            self.counts.push(TermCount { term: same[0].0, document: number, fields });
        }
        self.lengths.push(lengths);
        if let Some(id) = document.key.record() {
            self.numbers.insert(id.clone(), number);
        }
        self.documents.push(StoredDocument {
            key: document.key.to_string(),
            paths: document.paths,
            superseded_by: document.superseded_by,
            is_deprecated: document.is_deprecated,
            changed: document.changed,
        });
    }

    fn terms_of(&mut self, token: &str) -> &[(u32, TermPart)] {
        if !self.tokens.contains_key(token) {
            let mut terms = Vec::new();
            each_term(token, self.choice, &mut |term, part| {
                let next = self.terms.len() as u32;
                let number = match self.terms.get(term) {
                    Some(number) => *number,
                    None => *self.terms.entry(term.to_string()).or_insert(next),
                };
                terms.push((number, part));
            });
            self.tokens.insert(token.to_string(), terms);
        }
        &self.tokens[token]
    }

    pub(super) fn finish(self) -> SearchIndex {
        let mut names: Vec<(&str, u32)> =
            self.terms.iter().map(|(name, term)| (name.as_str(), *term)).collect();
        names.sort_unstable();
        let (places, postings) = self.postings();
        let tables = HEADER + 4 * (self.documents.len() + names.len());
        let mut table = Vec::with_capacity(tables);
        let mut entries = Vec::new();
        for document in &self.documents {
            table.extend_from_slice(&((tables + entries.len()) as u32).to_le_bytes());
            self.put_document(&mut entries, document);
        }
        for (name, term) in &names {
            table.extend_from_slice(&((tables + entries.len()) as u32).to_le_bytes());
            let (documents, place) = places[*term as usize];
            put_text(&mut entries, name);
            put_number(&mut entries, documents);
            put_number(&mut entries, place);
        }
        let start = (tables + entries.len()) as u32;
        let counts = (self.documents.len() as u32, names.len() as u32);
        let index = SearchIndex::assemble(counts.0, counts.1, start, &[&table, &entries, &postings]);
        index.with_choice(self.choice)
    }

    fn put_document(&self, bytes: &mut Vec<u8>, document: &StoredDocument) {
        bytes.extend_from_slice(&document.changed.to_le_bytes());
        bytes.push(u8::from(document.is_deprecated));
        put_text(bytes, &document.key);
        put_number(bytes, document.paths.len() as u32);
        document.paths.iter().for_each(|path| put_text(bytes, path));
        let above = document.superseded_by.iter().filter_map(|id| self.numbers.get(id));
        let above: Vec<u32> = above.copied().collect();
        put_number(bytes, above.len() as u32);
        above.into_iter().for_each(|number| put_number(bytes, number));
    }

    /// For each term in how many documents it is and where its postings begin; and the postings.
    fn postings(&self) -> (Vec<(u32, u32)>, Vec<u8>) {
        let mut starts = vec![0_usize; self.terms.len() + 1];
        self.counts.iter().for_each(|count| starts[count.term as usize + 1] += 1);
        for term in 0..self.terms.len() {
            starts[term + 1] += starts[term];
        }
        // The counts are in the order of documents, and stay so within each term.
        let mut sorted = vec![0_usize; self.counts.len()];
        let mut next = starts.clone();
        for (place, count) in self.counts.iter().enumerate() {
            let at = &mut next[count.term as usize];
            sorted[*at] = place;
            *at += 1;
        }
        let norms = self.norms();
        let mut bytes = Vec::with_capacity(self.counts.len() * 4);
        let places = starts.windows(2).map(|range| {
            let place = bytes.len() as u32;
            let mut before = 0;
            for at in &sorted[range[0]..range[1]] {
                let count = &self.counts[*at];
                put_number(&mut bytes, count.document - before);
                before = count.document;
                bytes.extend_from_slice(&weight(count, &norms[before as usize]).to_le_bytes());
            }
            ((range[1] - range[0]) as u32, place)
        });
        (places.collect(), bytes)
    }

    /// What one occurrence of a term weighs in each field of each document.
    fn norms(&self) -> Vec<[f32; FIELDS]> {
        let averages: [f32; FIELDS] = std::array::from_fn(|field| {
            let filled = self.lengths.iter().map(|lengths| lengths[field]).filter(|length| *length > 0);
            let (sum, count) =
                filled.fold((0_u64, 0_u64), |(sum, count), length| (sum + u64::from(length), count + 1));
            sum as f32 / count.max(1) as f32
        });
        let norm = |lengths: &[u32; FIELDS]| {
            std::array::from_fn(|field| {
                let ratio = lengths[field] as f32 / averages[field].max(1.0);
                FIELD_WEIGHTS[field] / (1.0 + LENGTH_WEIGHTS[field] * (ratio - 1.0))
            })
        };
        self.lengths.iter().map(norm).collect()
    }
}

fn weight(count: &TermCount, norms: &[f32; FIELDS]) -> u16 {
    let sum: f32 = count.fields.iter().zip(norms).map(|(times, norm)| f32::from(*times) * norm).sum();
    // Of a number that is too large, `as` makes the largest.
    (sum * WEIGHT_UNIT).round().max(1.0) as u16
}

impl SearchIndex {
    pub fn build<'a>(documents: impl IntoIterator<Item = SearchDocument<'a>>) -> Self {
        Self::of_terms(TermChoice::Telling, documents)
    }

    /// For a query of stop words alone ([`SearchQuery::is_of_stop_words`](super::SearchQuery::is_of_stop_words)): every
    /// word is indexed. It is not worth a cache.
    pub fn of_every_word<'a>(documents: impl IntoIterator<Item = SearchDocument<'a>>) -> Self {
        Self::of_terms(TermChoice::Every, documents)
    }

    fn of_terms<'a>(choice: TermChoice, documents: impl IntoIterator<Item = SearchDocument<'a>>) -> Self {
        let mut builder = IndexBuilder { choice, ..IndexBuilder::default() };
        documents.into_iter().for_each(|document| builder.add(document));
        builder.finish()
    }

    pub fn of_records<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        Self::build(records.into_iter().map(SearchDocument::of_record))
    }
}
