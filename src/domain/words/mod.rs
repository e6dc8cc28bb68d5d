//! Words of prompts and of records: their stems, those that say nothing, and scripts without spaces.

mod bm25;
mod script;
mod stem;
mod stop_words;
mod tokens;

pub use bm25::{coverage, rarity, saturated};
pub use script::{each_pair, is_without_spaces};
pub use stem::stem;
pub use stop_words::{is_english_stop_word, is_stop_word};
pub use tokens::{TermPart, each_form, each_token};
