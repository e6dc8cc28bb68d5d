//! Reads texts from the first to the last and ranks those that match.

use std::cmp::Ordering;
use std::collections::HashMap;

use memchr::memmem::Finder;

use super::query::{QueryPart, TextQuery, WordForm};
use crate::domain::words::{coverage, rarity, saturated};

/// How much the length of a text matters, 0 to 1.
const LENGTH: f32 = 0.3;
/// The longest that counts, as a multiple of the average.
const LONGEST: f32 = 8.0;

/// A text that matches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextMatch {
    /// The number of the text: they are counted through all blocks.
    pub number: usize,
    /// Above 0.
    pub score: f32,
    /// Whether it has everything that was asked for.
    pub has_all: bool,
}

impl TextMatch {
    /// The better one first: one with all words before any other.
    pub fn order(&self, other: &Self) -> Ordering {
        other.has_all.cmp(&self.has_all).then(other.score.total_cmp(&self.score))
    }
}

/// A search through several blocks of texts.
#[derive(Debug)]
pub struct TextScan<'q> {
    query: &'q TextQuery,
    /// How often each text has each part, the pairs after the terms.
    weights: Vec<Vec<f32>>,
    lengths: Vec<u32>,
}

impl<'q> TextScan<'q> {
    pub fn new(query: &'q TextQuery) -> Self {
        Self { query, weights: vec![Vec::new(); query.terms.len() + query.pairs.len()], lengths: Vec::new() }
    }

    /// Looks through texts that were made by [`searchable`](super::searchable) and are put together. Each ends where the
    /// next one begins; `starts` are in order.
    pub fn add(&mut self, texts: &str, starts: &[u32]) {
        let first = self.lengths.len();
        let ends = starts.iter().skip(1).copied().chain([texts.len() as u32]);
        self.lengths.extend(starts.iter().zip(ends).map(|(start, end)| end.saturating_sub(*start)));
        for (part, weights) in self.query.parts().zip(&mut self.weights) {
            weights.resize(self.lengths.len(), 0.0);
            for form in &part.forms {
                look(form, texts, starts, &mut weights[first..]);
            }
        }
    }

    /// Those that match, in the order of their numbers.
    pub fn finish(self) -> Vec<TextMatch> {
        let Self { query, weights, lengths } = self;
        let count = lengths.len();
        let average = lengths.iter().map(|length| f64::from(*length)).sum::<f64>() / count.max(1) as f64;
        let having = |weights: &Vec<f32>| weights.iter().filter(|weight| **weight > 0.0).count();
        let rarities: Vec<f32> = query
            .parts()
            .zip(&weights)
            .map(|(part, weights)| part.weight * rarity(count, having(weights)))
            .collect();
        let terms = query.terms.len();
        let required = query.terms.iter().enumerate().filter(|(_, part)| part.is_required);
        let required = required.fold(0_u64, |bits, (place, _)| bits | 1 << place);
        let mut found = Vec::new();
        for (number, length) in lengths.iter().enumerate() {
            let bits = (0..terms).filter(|place| weights[*place][number] > 0.0);
            let bits = bits.fold(0_u64, |bits, place| bits | 1 << place);
            if bits == 0 || bits & required != required {
                continue;
            }
            let ratio = (f64::from(*length) / average.max(1.0)) as f32;
            let norm = 1.0 + LENGTH * (ratio.min(LONGEST) - 1.0);
            let score = weights
                .iter()
                .zip(&rarities)
                .map(|(weights, rarity)| rarity * saturated(weights[number] / norm));
            let score = score.sum::<f32>() * coverage(&rarities[..terms], bits);
            found.push(TextMatch { number, score, has_all: bits.count_ones() as usize == terms });
        }
        found
    }
}

impl TextQuery {
    fn parts(&self) -> impl Iterator<Item = &QueryPart> {
        self.terms.iter().chain(&self.pairs)
    }
}

/// Adds how often each text has the form.
fn look(form: &WordForm, texts: &str, starts: &[u32], weights: &mut [f32]) {
    let start = form.start();
    let mut place = 0;
    // Most words that are found are found often, and a stem takes longer than a look here.
    let mut known: HashMap<&str, f32> = HashMap::new();
    for at in Finder::new(&start).find_iter(texts.as_bytes()) {
        while starts.get(place + 1).is_some_and(|next| *next as usize <= at) {
            place += 1;
        }
        let Some(sum) = weights.get_mut(place) else { break };
        *sum += match form {
            WordForm::Anywhere(_) => 1.0,
            WordForm::Phrase { .. } => form.weight(&texts[at + 1..]),
            WordForm::Word { .. } => {
                let rest = &texts[at + 1..];
                let word = &rest[..memchr::memchr(b' ', rest.as_bytes()).unwrap_or(rest.len())];
                *known.entry(word).or_insert_with(|| form.weight(word))
            }
        };
    }
}
