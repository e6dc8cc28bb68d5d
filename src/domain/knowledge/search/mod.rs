//! Search over records and pieces of text: BM25 over words and identifiers, with the fields of a record weighted.
//!
//! An index is bytes from the beginning: what is built in memory is what a cache stores, and a search reads only the
//! terms that it asks for.

mod builder;
mod byte_reader;
mod document;
mod index;
mod index_error;
mod near_duplicate;
mod rank;
mod scorer;
mod supersession;
mod terms;
#[cfg(test)]
mod tests;

pub use document::{DocumentKey, SearchDocument, SearchField};
pub use index::SearchIndex;
pub use index_error::SearchIndexError;
pub use near_duplicate::{NearDuplicates, comparable_text, near_duplicate};
pub use rank::{MergeState, SearchHit, SearchQuery, Standing, is_below};
pub use scorer::{Bm25, Match, QueryTerm, Scorer};
