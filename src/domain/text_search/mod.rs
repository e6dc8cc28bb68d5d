//! Search in many short texts, such as messages: they are read from the first to the last.
//!
//! A text is prepared once: its words in lower case and without accents, each between blanks ([`searchable`]). Looking for a
//! word in that is a search for bytes, so tens of thousands of texts take milliseconds, and no index has to be kept in step
//! with them. What is found is ranked by BM25.

mod excerpt;
mod query;
mod scan;
mod searchable;
#[cfg(test)]
mod tests;

pub use excerpt::{ExcerptWord, excerpt, marked_words};
pub use query::TextQuery;
pub use scan::{TextMatch, TextScan};
pub use searchable::searchable;
