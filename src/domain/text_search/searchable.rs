//! Prepares a text for the search.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use crate::domain::words::{TermPart, each_form, each_token};

/// The most of a text that is searched, in bytes.
const MOST: usize = 16 * 1024;
/// Between the words of a text and the identifiers in it. No word contains it.
const IDENTIFIERS: &str = "\u{1} ";

/// The words of a text in lower case and without accents, each between blanks. Identifiers of several words follow once
/// more as one word each: `parseConfig` is found by `config`, `parse config` and `parseconfig`.
pub fn searchable(text: &str) -> String {
    let folded = folded(beginning(text));
    let mut words = String::with_capacity(folded.len() + 2);
    words.push(' ');
    let mut identifiers = String::new();
    each_token(&folded, &mut |token| {
        each_form(token, &mut |word, part| {
            let list = if part == TermPart::Word { &mut words } else { &mut identifiers };
            list.push_str(word);
            list.push(' ');
        });
    });
    if !identifiers.is_empty() {
        words.push_str(IDENTIFIERS);
        words.push_str(&identifiers);
    }
    words
}

/// The text without accents, and with letters in the place of those that are two in one. Case is kept, because it tells
/// where the words of an identifier begin.
pub(super) fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let is_accent = |char: &char| ('\u{300}'..='\u{36f}').contains(char);
    let mut folded = String::with_capacity(text.len());
    for char in text.nfkd().filter(|char| !is_accent(char)).nfc() {
        match char {
            'ß' => folded.push_str("ss"),
            'ẞ' => folded.push_str("SS"),
            'æ' => folded.push_str("ae"),
            'Æ' => folded.push_str("AE"),
            'œ' => folded.push_str("oe"),
            'Œ' => folded.push_str("OE"),
            'ø' => folded.push('o'),
            'Ø' => folded.push('O'),
            'ł' => folded.push('l'),
            'Ł' => folded.push('L'),
            char => folded.push(char),
        }
    }
    Cow::Owned(folded)
}

fn beginning(text: &str) -> &str {
    let mut end = text.len().min(MOST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
