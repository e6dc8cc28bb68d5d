//! Edits of settings files that belong to other programs: adds and removes our entries and keeps every other byte.
//!
//! Every edit is a splice into the text, so comments, order, indentation and line endings are not touched. The parsers
//! only report where each value is. Both parsers can also write a changed document, but then they change more than the
//! entry; [`json`] and [`toml`] say what.

pub mod json;
pub mod lines;
pub mod toml;
pub mod undo;

#[cfg(test)]
mod tests;

use super::text_position::TextPosition;

/// Why a file cannot be edited, and where in it. Lines and columns count from one.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{reason} (line {line}, column {column})")]
pub struct EditError {
    pub reason: String,
    pub line: usize,
    pub column: usize,
}

impl EditError {
    /// A refusal at a byte offset in the text.
    fn at(text: &str, offset: usize, reason: impl Into<String>) -> Self {
        let TextPosition { line, column } = TextPosition::of(text, offset);
        Self { reason: reason.into(), line, column }
    }
}

const BOM: char = '\u{feff}';

/// The text of a file, and whether it starts with a byte order mark, which is kept apart.
fn text_of(bytes: &[u8]) -> Result<(bool, &str), EditError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        EditError::at(valid, valid.len(), "it is not UTF-8 text")
    })?;
    Ok(text.strip_prefix(BOM).map_or((false, text), |rest| (true, rest)))
}

fn bytes_of(bom: bool, text: String) -> Vec<u8> {
    if bom { format!("{BOM}{text}").into_bytes() } else { text.into_bytes() }
}

/// The line ending that the text uses.
fn newline_of(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// A change of text: the range is replaced.
struct Splice {
    range: std::ops::Range<usize>,
    with: String,
}

/// Applies splices that don't overlap.
fn spliced(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|splice| splice.range.start);
    let mut out = String::with_capacity(text.len() + 256);
    let mut done = 0;
    for Splice { range, with } in splices {
        out.push_str(&text[done..range.start]);
        out.push_str(&with);
        done = range.end;
    }
    out.push_str(&text[done..]);
    out
}
