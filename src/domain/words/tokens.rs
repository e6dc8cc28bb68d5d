//! Takes texts apart: tokens, and the words of each. `parse_config` and `parseConfig` are two words each.

use super::script::{each_pair, is_without_spaces};

/// The most of a text that is read, in bytes.
const MAX_READ: usize = 64 * 1024;
/// How a term stands in its token.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TermPart {
    /// A word, or a part of an identifier.
    Word,
    /// An identifier with its parts put together: `parse_config` and `parseConfig` are both `parseconfig`.
    Whole,
}

/// Calls `take` with each token: a run of letters, digits and what joins them in identifiers and numbers.
pub fn each_token<'a>(text: &'a str, take: &mut dyn FnMut(&'a str)) {
    let is_joint = |char: char| matches!(char, '_' | '.' | '-' | '\'' | '’' | ',');
    let runs = beginning(text).split(|char: char| !char.is_alphanumeric() && !is_joint(char));
    for run in runs {
        let token = run.trim_matches(is_joint);
        if !token.is_empty() {
            take(token);
        }
    }
}

/// Calls `take` with the words of a token in lower case, and with the whole of it if it has several.
pub fn each_form(token: &str, take: &mut dyn FnMut(&str, TermPart)) {
    let is_plain = token.bytes().all(|byte| byte.is_ascii_lowercase());
    if is_plain {
        return take(token, TermPart::Word);
    }
    if is_number(token) {
        return take(&token.replace(',', ""), TermPart::Word);
    }
    let token = ["'s", "’s"].into_iter().find_map(|end| token.strip_suffix(end)).unwrap_or(token);
    let mut whole = String::new();
    let mut words = 0;
    for part in token.split(['_', '.', '-', '\'', '’', ',']).filter(|part| !part.is_empty()) {
        each_part(part, &mut |word| {
            words += 1;
            whole.push_str(word);
            take(word, TermPart::Word);
        });
    }
    let is_dense = token.chars().any(is_without_spaces);
    if words > 1 && !is_dense && !token.contains([',', '\'', '’']) {
        take(&whole, TermPart::Whole);
    }
}

/// Calls `take` with the parts of `camelCase2` in lower case.
fn each_part(part: &str, take: &mut dyn FnMut(&str)) {
    let mut start = 0;
    let mut chars = part.char_indices().peekable();
    let mut before: Option<char> = None;
    while let Some((at, char)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        if before.is_some_and(|before| is_boundary(before, char, next)) {
            word(&part[start..at], take);
            start = at;
        }
        before = Some(char);
    }
    word(&part[start..], take);
}

fn word(text: &str, take: &mut dyn FnMut(&str)) {
    if text.starts_with(is_without_spaces) {
        return each_pair(text, take);
    }
    take(&text.to_lowercase());
}

fn is_boundary(before: char, char: char, next: Option<char>) -> bool {
    let is_digit = char.is_numeric() != before.is_numeric();
    let is_script = is_without_spaces(char) != is_without_spaces(before);
    let is_after_lower = char.is_uppercase() && before.is_lowercase();
    // The last letter of the acronym in `HTTPServer`.
    let is_after_acronym =
        char.is_uppercase() && before.is_uppercase() && next.is_some_and(char::is_lowercase);
    is_digit || is_script || is_after_lower || is_after_acronym
}

/// `60`, `0.28`, `10,000`.
fn is_number(token: &str) -> bool {
    token.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b','))
}

fn beginning(text: &str) -> &str {
    let mut end = text.len().min(MAX_READ);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
