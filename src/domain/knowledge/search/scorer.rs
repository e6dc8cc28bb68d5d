//! How well documents match the words of a query. Another measure is another [`Scorer`].

use std::collections::HashMap;

use super::index::{SearchIndex, TermEntry};
use super::index_error::SearchIndexError;
use super::terms::{TermChoice, each_term, relatives, root};
use crate::domain::words::{TermPart, coverage, each_token, rarity, saturated};

/// What a word of the same root counts.
const RELATIVE: f32 = 0.5;
/// What two neighbouring words of the query count if a document has them as one.
const JOINED: f32 = 0.6;
/// The shortest root whose relatives are looked for.
const LEAST_ROOT: usize = 4;
/// The most terms of a query.
const MOST_TERMS: usize = 64;

/// A term that a query asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryTerm {
    /// The word as it was typed, for people.
    pub word: String,
    /// The stem, or a whole identifier.
    pub term: String,
    /// How much it counts.
    pub weight: f32,
}

impl QueryTerm {
    /// The terms of a query, each once.
    pub fn all(words: &str) -> Vec<Self> {
        Self::chosen(words, TermChoice::Telling)
    }

    /// The same with another choice of words.
    pub(super) fn chosen(words: &str, choice: TermChoice) -> Vec<Self> {
        let mut terms: Vec<Self> = Vec::new();
        let mut add = |word: &str, term: &str, weight: f32| {
            if terms.len() < MOST_TERMS && terms.iter().all(|other| other.term != term) {
                terms.push(Self { word: word.to_string(), term: term.to_string(), weight });
            }
        };
        let mut tokens: Vec<&str> = Vec::new();
        each_token(words, &mut |token| tokens.push(token));
        for token in &tokens {
            each_term(token, choice, &mut |term, _| add(token, term, 1.0));
        }
        for pair in tokens.windows(2) {
            let joined = format!("{}_{}", pair[0], pair[1]);
            let mut singles = 0;
            each_term(&joined, choice, &mut |term, part| match part {
                TermPart::Word => singles += 1,
                TermPart::Whole if singles > 0 => add(&format!("{} {}", pair[0], pair[1]), term, JOINED),
                TermPart::Whole => {}
            });
        }
        terms
    }
}

/// How well one document matches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match {
    /// The number of the document in the index.
    pub document: u32,
    /// Above 0.
    pub score: f32,
    /// Bit by bit, which terms of the query the document has.
    pub terms: u64,
}

/// A measure of how well documents match.
pub trait Scorer {
    /// The documents that match at least one term, in any order.
    fn matches(&self, index: &SearchIndex, terms: &[QueryTerm]) -> Result<Vec<Match>, SearchIndexError>;
}

/// BM25 with weighted fields. Words of one root count as one another, a little less.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bm25;

impl Scorer for Bm25 {
    fn matches(&self, index: &SearchIndex, terms: &[QueryTerm]) -> Result<Vec<Match>, SearchIndexError> {
        let mut found: HashMap<u32, Match> = HashMap::new();
        let mut rarities = Vec::new();
        for (number, term) in terms.iter().take(MOST_TERMS).enumerate() {
            let weights = weights(index, &term.term)?;
            let rarity = term.weight * rarity(index.len(), weights.len());
            rarities.push(rarity);
            for (document, weight) in weights {
                let score = rarity * saturated(weight);
                let entry = found.entry(document).or_insert(Match { document, score: 0.0, terms: 0 });
                entry.score += score;
                entry.terms |= 1 << number;
            }
        }
        Ok(found
            .into_values()
            .map(|found| Match { score: found.score * coverage(&rarities, found.terms), ..found })
            .collect())
    }
}

/// The documents that have the term or a relative, and what it weighs in them.
fn weights(index: &SearchIndex, term: &str) -> Result<HashMap<u32, f32>, SearchIndexError> {
    let mut weights: HashMap<u32, f32> = HashMap::new();
    let mut add = |entry: TermEntry<'_>, factor: f32| {
        index.each_posting(entry, |document, weight| *weights.entry(document).or_default() += factor * weight)
    };
    if let Some(entry) = index.find_term(term)? {
        add(entry, 1.0)?;
    }
    if root(term).len() >= LEAST_ROOT {
        for relative in relatives(term) {
            if let Some(entry) = index.find_term(&relative)? {
                add(entry, RELATIVE)?;
            }
        }
    }
    Ok(weights)
}
