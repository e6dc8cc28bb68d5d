//! The part of a text that shows why it was found, on one line.

use super::query::TextQuery;

/// The longest piece of a text without a blank, in characters.
const LONGEST_PIECE: usize = 80;
/// How many pieces are shown before the first that was looked for.
const BEFORE: usize = 6;
/// The most pieces of a text that are looked at.
const MOST_PIECES: usize = 4_000;

/// A word of an excerpt, as it is in the text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ExcerptWord {
    pub text: String,
    /// Whether it was looked for.
    pub is_found: bool,
}

/// The whole text, with what was looked for.
pub fn marked_words(text: &str, query: Option<&TextQuery>) -> Vec<ExcerptWord> {
    let is_found = |piece: &str| query.is_some_and(|query| query.has_word_of(piece));
    let word = |piece: &str| ExcerptWord { text: piece.to_string(), is_found: is_found(piece) };
    text.split_whitespace().map(word).collect()
}

/// At most about `most` characters around the first word that was looked for. `…` stands where something is left out.
pub fn excerpt(text: &str, query: Option<&TextQuery>, most: usize) -> Vec<ExcerptWord> {
    let is_found = |piece: &str| query.is_some_and(|query| query.has_word_of(piece));
    let pieces: Vec<&str> = text.split_whitespace().take(MOST_PIECES).collect();
    let first = pieces.iter().position(|piece| is_found(piece)).unwrap_or(0);
    // A short text is shown from its start.
    let from = match pieces[..first].iter().map(|piece| piece.chars().count() + 1).sum::<usize>() * 2 > most {
        true => first.saturating_sub(BEFORE),
        false => 0,
    };
    let word = |text: String, is_found| ExcerptWord { text, is_found };
    let mut words = Vec::new();
    words.extend((from > 0).then(|| word("…".to_string(), false)));
    let mut left = most;
    for piece in &pieces[from..] {
        let cut: String = piece.chars().take(LONGEST_PIECE).collect();
        let cut = if cut.len() < piece.len() { cut + "…" } else { cut };
        let length = cut.chars().count() + 1;
        if length > left && left < most {
            words.push(word("…".to_string(), false));
            break;
        }
        left = left.saturating_sub(length);
        words.push(word(cut, is_found(piece)));
    }
    words
}
