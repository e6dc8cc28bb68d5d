//! Restores an edited text without keeping a copy of the original.
//!
//! An undo has only what the edit removed, and where it was. Our edits insert, so that is next to nothing: a file with
//! tokens in it can be restored from a record that has none of them.

use std::collections::HashMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Texts that differ in more words than this are not compared, because that would take long.
const MOST: usize = 3000;
/// A word this long that an undo would put back, although the edited text still has it, is a sign that the two texts
/// were not matched well. It may be a secret, so the undo is dropped.
const LONG: usize = 8;

/// A part of the edited text, and the original text there. Offsets are in bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UndoSpan {
    pub at: usize,
    pub length: usize,
    pub text: String,
}

/// The spans that turn `edited` back into `original`; `None` if the two have too little in common.
pub fn undo_spans(edited: &str, original: &str) -> Option<Vec<UndoSpan>> {
    let (from, to) = (words(edited), words(original));
    if differences(&from, &to) > MOST {
        return None;
    }
    let mut spans = Vec::new();
    let mut at = 0;
    for op in capture_diff_slices(Algorithm::Myers, &from, &to) {
        let length = from[op.old_range()].iter().map(|word| word.len()).sum();
        if !matches!(op, DiffOp::Equal { .. }) {
            spans.push(UndoSpan { at, length, text: to[op.new_range()].concat() });
        }
        at += length;
    }
    let is_long = |word: &&str| word.len() >= LONG && word.starts_with(char::is_alphanumeric);
    let mut put_back = spans.iter().flat_map(|span| words(&span.text)).filter(is_long);
    let is_matched = put_back.all(|word| !edited.contains(word));
    (is_matched && apply_undo(edited, &spans).as_deref() == Some(original)).then_some(spans)
}

/// The text as it was before the edit; `None` if the spans don't fit.
pub fn apply_undo(edited: &str, spans: &[UndoSpan]) -> Option<String> {
    let mut out = String::with_capacity(edited.len());
    let mut done = 0;
    for UndoSpan { at, length, text } in spans {
        let end = at.checked_add(*length)?;
        out.push_str(edited.get(done..*at)?);
        edited.get(*at..end)?;
        out.push_str(text);
        done = end;
    }
    out.push_str(edited.get(done..)?);
    Some(out)
}

/// The number of words that one of the two has more often than the other. Our edits do not reorder the rest.
fn differences(from: &[&str], to: &[&str]) -> usize {
    let mut counts: HashMap<&str, isize> = HashMap::new();
    for word in from {
        *counts.entry(word).or_default() += 1;
    }
    for word in to {
        *counts.entry(word).or_default() -= 1;
    }
    counts.into_values().map(isize::unsigned_abs).sum()
}

/// Splits a text into runs of letters and digits, runs of whitespace, and single other characters.
fn words(text: &str) -> Vec<&str> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 1,
        c if c.is_whitespace() => 2,
        _ => 0,
    };
    let (mut words, mut start, mut last) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        if at > start && (class(c) == 0 || class(c) != last) {
            words.push(&text[start..at]);
            start = at;
        }
        last = class(c);
    }
    words.extend((start < text.len()).then(|| &text[start..]));
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(edited: &str, original: &str, expected: &[(usize, usize, &str)]) {
        let spans = undo_spans(edited, original).unwrap();
        let found: Vec<(usize, usize, &str)> =
            spans.iter().map(|span| (span.at, span.length, span.text.as_str())).collect();
        assert_eq!(found, expected);
        assert_eq!(apply_undo(edited, &spans).as_deref(), Some(original));
    }

    #[test]
    fn what_was_inserted_goes() {
        check("abc", "abc", &[]);
        check("", "", &[]);
        check("x", "", &[(0, 1, "")]);
        check("", "x", &[(0, 0, "x")]);
        check("{\"a\": 1, \"b\": 2}", "{\"a\": 1}", &[(7, 8, "")]);
        check("[1, 9, secret, 9]", "[1, secret]", &[(4, 3, ""), (13, 3, "")]);
    }

    #[test]
    fn spans_that_do_not_fit_are_refused() {
        let span = |at, length| UndoSpan { at, length, text: String::new() };
        assert_eq!(apply_undo("ab", &[span(1, 2)]), None);
        assert_eq!(apply_undo("ab", &[span(1, 1), span(0, 1)]), None);
        assert_eq!(apply_undo("ä", &[span(1, 1)]), None);
        assert_eq!(apply_undo("a", &[span(usize::MAX, 1)]), None);
    }

    #[test]
    fn what_would_put_a_long_word_back_that_was_never_away_is_dropped() {
        assert_eq!(undo_spans("a b 0123456789", "0123456789 a b"), None);
    }

    proptest! {
        /// If the edit only inserted, the undo contains nothing of the rest.
        #[test]
        fn insertions_keep_nothing(
            lines in proptest::collection::vec("[ ]{0,2}\"k\": \"secret[0-9]{9}\",?", 1..8),
            new in proptest::collection::vec("( *\"hooks\": [\\[{]\"[a-c]{1,3}\"[\\]}],?\n){0,2}", 8),
        ) {
            let original = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let edited: String = lines.iter().zip(&new).map(|(line, new)| format!("{line}\n{new}")).collect();
            let spans = undo_spans(&edited, &original).unwrap();
            prop_assert!(spans.iter().all(|span| !span.text.contains("secret")), "{spans:?}");
            prop_assert_eq!(apply_undo(&edited, &spans), Some(original));
        }

        #[test]
        fn any_two_texts(edited in "[a-c{}\", \n]{0,40}", original in "[a-c{}\", \n]{0,40}") {
            if let Some(spans) = undo_spans(&edited, &original) {
                prop_assert_eq!(apply_undo(&edited, &spans), Some(original));
            }
        }
    }
}
