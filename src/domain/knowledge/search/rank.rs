//! The order of what a query finds: by score, lowered for what may no longer hold.

use std::cmp::Ordering;
use std::collections::HashMap;

use jiff::Timestamp;

use super::document::DocumentKey;
use super::index::{DocumentEntry, SearchIndex};
use super::index_error::SearchIndexError;
use super::scorer::{Bm25, Match, QueryTerm, Scorer};
use super::supersession::{SearchCandidate, with_superseding};
use crate::domain::knowledge::{AnchorVerdict, RecordKind};

/// What a superseded, and what a deprecated record keeps of its score.
const SUPERSEDED: f32 = 0.4;
const DEPRECATED: f32 = 0.5;
/// What one keeps that was recorded on a branch the asker does not have.
const UNMERGED: f32 = 0.6;

/// What is asked. Without words, everything that fits the rest is found, the latest first.
#[derive(Clone, Debug)]
pub struct SearchQuery<'a> {
    pub words: &'a str,
    pub kind: Option<RecordKind>,
    /// A file or a directory.
    pub path: Option<&'a str>,
    /// What files there were called earlier.
    pub former_paths: &'a [String],
    /// Only what changed since.
    pub since: Option<Timestamp>,
    pub limit: usize,
}

impl<'a> SearchQuery<'a> {
    /// The best `limit` of all documents for some words.
    pub fn new(words: &'a str, limit: usize) -> Self {
        Self { words, kind: None, path: None, former_paths: &[], since: None, limit }
    }

    /// Whether it has words, but none that [`SearchIndex::of_records`] knows, and nothing else to go by.
    pub fn is_of_stop_words(&self) -> bool {
        !self.words.trim().is_empty() && !self.is_filtered() && QueryTerm::all(self.words).is_empty()
    }

    fn is_filtered(&self) -> bool {
        self.kind.is_some() || self.path.is_some() || self.since.is_some()
    }

    fn is_of_kind(&self, entry: &DocumentEntry<'_>) -> bool {
        self.kind.is_none_or(|kind| entry.key.kind() == Some(kind))
    }

    fn is_in_place(&self, entry: &DocumentEntry<'_>) -> bool {
        let Some(path) = self.path.map(|path| path.trim_start_matches("./").trim_end_matches('/')) else {
            return true;
        };
        let is_here =
            |other: &&str| is_below(other, path) || self.former_paths.iter().any(|old| old == other);
        matches!(path, "" | ".") || entry.paths.iter().any(is_here)
    }

    fn is_in_time(&self, entry: &DocumentEntry<'_>) -> bool {
        self.since.is_none_or(|since| entry.changed >= since.as_millisecond())
    }
}

/// Whether a path is that file or directory, or in it.
pub fn is_below(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether the asker's branch has the commit at which a record was made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MergeState {
    Merged,
    Unmerged,
}

/// How a document stands in the asker's worktree.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Standing {
    /// The worst of its anchors; `Fresh` without any.
    pub verdict: AnchorVerdict,
    pub merged: MergeState,
}

impl Standing {
    /// Nothing is known against it.
    pub const GOOD: Self = Self { verdict: AnchorVerdict::Fresh, merged: MergeState::Merged };

    /// What it leaves of a score, at most 1.
    fn factor(self) -> f32 {
        let verdict = match self.verdict {
            AnchorVerdict::Fresh | AnchorVerdict::Moved => 1.0,
            AnchorVerdict::Drifted => 0.97,
            AnchorVerdict::Stale => 0.6,
            AnchorVerdict::Gone => 0.5,
        };
        verdict * if self.merged == MergeState::Unmerged { UNMERGED } else { 1.0 }
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchHit {
    pub key: DocumentKey,
    pub score: f32,
    /// The words of the query that it has. One that only supersedes what was found has those of the old one.
    pub matched: Vec<String>,
}

impl SearchIndex {
    /// Finds what matches, the best first. A document that supersedes another always comes before it, also if only
    /// the old one has the words.
    ///
    /// `standing` is asked only for those that may be among the best; for `None` a document is left out.
    pub fn search(
        &self,
        query: &SearchQuery<'_>,
        standing: impl FnMut(&DocumentKey) -> Option<Standing>,
    ) -> Result<Vec<SearchHit>, SearchIndexError> {
        self.search_with(&Bm25, query, standing)
    }

    /// The same with another measure.
    pub fn search_with(
        &self,
        scorer: &dyn Scorer,
        query: &SearchQuery<'_>,
        standing: impl FnMut(&DocumentKey) -> Option<Standing>,
    ) -> Result<Vec<SearchHit>, SearchIndexError> {
        let terms = QueryTerm::chosen(query.words, self.choice());
        let is_without_words = query.words.trim().is_empty() || terms.is_empty() && query.is_filtered();
        let matches = match is_without_words {
            true => (0..self.len() as u32).map(|document| Match { document, score: 1.0, terms: 0 }).collect(),
            false => scorer.matches(self, &terms)?,
        };
        let matches = self.filtered(query, matches)?;
        let candidates = with_superseding(self, matches)?;
        let mut standing = standing;
        // One of another kind is not shown, but what it supersedes stays below what supersedes it.
        let standing =
            |entry: &DocumentEntry<'_>| query.is_of_kind(entry).then(|| standing(&entry.key)).flatten();
        Ok(best(candidates, query.limit, standing).into_iter().map(|placed| placed.hit(&terms)).collect())
    }

    fn filtered(&self, query: &SearchQuery<'_>, matches: Vec<Match>) -> Result<Vec<Match>, SearchIndexError> {
        if !query.is_filtered() {
            return Ok(matches);
        }
        let mut kept = Vec::new();
        for found in matches {
            let entry = self.document(found.document)?;
            if query.is_of_kind(&entry) && query.is_in_place(&entry) && query.is_in_time(&entry) {
                kept.push(found);
            }
        }
        Ok(kept)
    }
}

/// A candidate with its final score.
struct Placed<'a> {
    candidate: SearchCandidate<'a>,
    score: f32,
}

impl Placed<'_> {
    fn order(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then_with(|| tie(&self.candidate, &other.candidate))
    }

    fn hit(self, terms: &[QueryTerm]) -> SearchHit {
        let has = |number: usize| number < 64 && self.candidate.found.terms & 1 << number != 0;
        let mut matched: Vec<String> = Vec::new();
        for (_, term) in terms.iter().enumerate().filter(|(number, _)| has(*number)) {
            if !matched.contains(&term.word) {
                matched.push(term.word.clone());
            }
        }
        SearchHit { key: self.candidate.entry.key, score: self.score, matched }
    }
}

/// Of equal scores: what is superseded by fewer, what matches itself, what changed last, and then by key.
fn tie(one: &SearchCandidate<'_>, other: &SearchCandidate<'_>) -> Ordering {
    let key = |candidate: &SearchCandidate<'_>| {
        (candidate.depth, !candidate.is_own_match, std::cmp::Reverse(candidate.entry.changed))
    };
    key(one).cmp(&key(other)).then_with(|| one.entry.key.cmp(&other.entry.key))
}

/// The most that a candidate can score, whatever its standing.
fn most(candidate: &SearchCandidate<'_>) -> f32 {
    let superseded = if candidate.depth > 0 { SUPERSEDED } else { 1.0 };
    let deprecated = if candidate.entry.is_deprecated && candidate.depth == 0 { DEPRECATED } else { 1.0 };
    candidate.found.score * superseded * deprecated
}

/// The best `limit` candidates in order. Once that many score at least what the next one can, no standing is asked.
fn best(
    mut candidates: Vec<SearchCandidate<'_>>,
    limit: usize,
    mut standing: impl FnMut(&DocumentEntry<'_>) -> Option<Standing>,
) -> Vec<Placed<'_>> {
    // What supersedes a document can score at least as much, so it is placed before it.
    candidates.sort_by(|one, other| most(other).total_cmp(&most(one)).then_with(|| tie(one, other)));
    let mut placed: Vec<Placed<'_>> = Vec::new();
    // The most that what a document supersedes may score: its own score, or if it is not shown, that of what is above it.
    let mut caps: HashMap<u32, f32> = HashMap::new();
    // The best scores so far, the highest first.
    let mut highest: Vec<f32> = Vec::new();
    for candidate in candidates {
        let most = most(&candidate);
        if highest.get(limit.saturating_sub(1)).is_some_and(|least| *least >= most) || limit == 0 {
            break;
        }
        let above = candidate.entry.superseded_by.iter().filter_map(|number| caps.get(number));
        let cap = above.copied().fold(most, f32::min);
        let Some(standing) = standing(&candidate.entry) else {
            caps.insert(candidate.found.document, cap);
            continue;
        };
        let score = cap.min(most * standing.factor());
        caps.insert(candidate.found.document, score);
        highest.insert(highest.partition_point(|other| *other >= score), score);
        highest.truncate(limit);
        placed.push(Placed { candidate, score });
    }
    placed.sort_by(Placed::order);
    placed.truncate(limit);
    placed
}
