//! Who supersedes whom among the documents that match.

use std::collections::{HashMap, HashSet};

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
/// that the old one answered is answered by the new one. Every document is looked at once, however long a chain is.
pub(super) fn with_superseding<'a>(
    index: &'a SearchIndex,
    matches: Vec<Match>,
) -> Result<Vec<SearchCandidate<'a>>, SearchIndexError> {
    let mut candidates: HashMap<u32, SearchCandidate<'a>> = HashMap::with_capacity(matches.len());
    let mut superseded: Vec<u32> = Vec::new();
    for found in matches {
        let entry = index.document(found.document)?;
        if !entry.superseded_by.is_empty() {
            superseded.push(found.document);
        }
        candidates.insert(found.document, SearchCandidate { found, entry, depth: 0, is_own_match: true });
    }
    superseded.sort_unstable();
    let order = newest_first(index, &mut candidates, &superseded)?;
    for old in order.iter().rev() {
        let Some(candidate) = candidates.get(old) else { continue };
        let (found, above) = (candidate.found, candidate.entry.superseded_by.clone());
        for new in above {
            if let Some(candidate) = candidates.get_mut(&new) {
                candidate.found.score = candidate.found.score.max(found.score);
                candidate.found.terms |= found.terms;
            }
        }
    }
    for old in &order {
        let above =
            candidates.get(old).map(|candidate| &candidate.entry.superseded_by[..]).unwrap_or_default();
        let depths = above.iter().filter_map(|new| candidates.get(new)).map(|candidate| candidate.depth + 1);
        let depth = depths.max().unwrap_or_default();
        if let Some(candidate) = candidates.get_mut(old) {
            candidate.depth = depth;
        }
    }
    Ok(candidates.into_values().collect())
}

/// The documents with all that supersede them, each after those that supersede it. The ones that are not candidates yet
/// become candidates without a score. Records do not supersede each other in a circle; if an index says so, a circle is
/// cut somewhere.
fn newest_first<'a>(
    index: &'a SearchIndex,
    candidates: &mut HashMap<u32, SearchCandidate<'a>>,
    superseded: &[u32],
) -> Result<Vec<u32>, SearchIndexError> {
    /// A document, and whether those above it have been visited.
    enum Visit {
        Enter(u32),
        Leave(u32),
    }
    let mut order = Vec::new();
    let mut entered = HashSet::new();
    let mut open: Vec<Visit> = superseded.iter().rev().map(|document| Visit::Enter(*document)).collect();
    while let Some(visit) = open.pop() {
        let document = match visit {
            Visit::Leave(document) => {
                order.push(document);
                continue;
            }
            Visit::Enter(document) => document,
        };
        if !entered.insert(document) {
            continue;
        }
        let above = match candidates.get(&document) {
            Some(candidate) => candidate.entry.superseded_by.clone(),
            None => {
                let entry = index.document(document)?;
                let above = entry.superseded_by.clone();
                let found = Match { document, score: 0.0, terms: 0 };
                let candidate = SearchCandidate { found, entry, depth: 0, is_own_match: false };
                candidates.insert(document, candidate);
                above
            }
        };
        open.push(Visit::Leave(document));
        open.extend(above.into_iter().map(Visit::Enter));
    }
    Ok(order)
}
