//! Words of prompts and of records: their stems, those that say nothing, and scripts without spaces.

mod script;
mod stem;
mod stop_words;

pub use script::{each_pair, is_without_spaces};
pub use stem::stem;
pub use stop_words::{is_english_stop_word, is_stop_word};
