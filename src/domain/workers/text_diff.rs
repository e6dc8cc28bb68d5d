//! The difference of two texts, like `diff -u`.

use similar::TextDiff;

/// The lines that differ, with three lines around them; empty if the texts are the same.
pub fn unified_diff(before: &str, after: &str, names: (&str, &str)) -> String {
    TextDiff::from_lines(before, after).unified_diff().header(names.0, names.1).to_string()
}
