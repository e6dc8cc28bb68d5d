//! Who supersedes whom among the documents that match.

use std::collections::{BTreeSet, HashMap};

use super::index::{DocumentEntry, SearchIndex};
use super::index_error::SearchIndexError;
use super::scorer::Match;

/// A document that matches, or that supersedes one that does.
#[derive(Debug)]
pub(super) struct SearchCandidate<'a> {
    pub(super) found: Match,
    pub(super) entry: DocumentEntry<'a>,
    /// The length of the longest chain of documents that supersede it.
    pub(super) depth: usize,
    /// Whether it matches itself, or only stands for one that does.
    pub(super) is_own_match: bool,
}

/// Adds the documents that supersede those that match, and lets each score as well as what it supersedes: the question
/// that the old one answered is answered by the new one.
pub(super) fn with_superseding<'a>(
    index: &'a SearchIndex,
    matches: Vec<Match>,
) -> Result<Vec<SearchCandidate<'a>>, SearchIndexError> {
    let mut candidates: HashMap<u32, SearchCandidate<'a>> = HashMap::with_capacity(matches.len());
    let mut open: Vec<u32> = Vec::new();
    for found in matches {
        let entry = index.document(found.document)?;
        if !entry.superseded_by.is_empty() {
            open.push(found.document);
        }
        candidates.insert(found.document, SearchCandidate { found, entry, depth: 0, is_own_match: true });
    }
    open.sort_unstable();
    for old in open.clone() {
        let found = candidates[&old].found;
        for new in above(index, old)? {
            if let Some(candidate) = candidates.get_mut(&new) {
                candidate.found.score = candidate.found.score.max(found.score);
                candidate.found.terms |= found.terms;
                continue;
            }
            let entry = index.document(new)?;
            if !entry.superseded_by.is_empty() {
                open.push(new);
            }
            let found = Match { document: new, ..found };
            candidates.insert(new, SearchCandidate { found, entry, depth: 0, is_own_match: false });
        }
    }
    open.sort_unstable();
    open.dedup();
    for old in open {
        let depth = depth(index, old)?;
        if let Some(candidate) = candidates.get_mut(&old) {
            candidate.depth = depth;
        }
    }
    Ok(candidates.into_values().collect())
}

/// All documents that supersede one, directly or through others.
fn above(index: &SearchIndex, document: u32) -> Result<BTreeSet<u32>, SearchIndexError> {
    let mut seen = BTreeSet::new();
    let mut open = index.document(document)?.superseded_by;
    while let Some(next) = open.pop() {
        if next != document && seen.insert(next) {
            open.extend(index.document(next)?.superseded_by);
        }
    }
    Ok(seen)
}

/// The number of documents above it. One that supersedes it has fewer, because records do not supersede in a circle.
fn depth(index: &SearchIndex, document: u32) -> Result<usize, SearchIndexError> {
    Ok(above(index, document)?.len())
}
