//! Shows what would change in a file, like `diff -u`.

use std::borrow::Cow;

use similar::{ChangeTag, TextDiff};

use super::output::style;
use crate::domain::escape_invisible;
use crate::ops::setup::install::FileChange;

/// The diff for programs.
pub(super) fn unified(change: &FileChange) -> String {
    let (before, after) = (text(change.before.as_deref()), text(change.after.as_deref()));
    let (old, new) = names(change);
    TextDiff::from_lines(&before, &after).unified_diff().header(&old, &new).to_string()
}

/// The diff for people.
pub(super) fn lines(change: &FileChange) -> Vec<String> {
    let (before, after) = (text(change.before.as_deref()), text(change.after.as_deref()));
    let (old, new) = names(change);
    let mut lines = vec![
        style::bold(&escape_invisible(&format!("--- {old}"))),
        style::bold(&escape_invisible(&format!("+++ {new}"))),
    ];
    for hunk in TextDiff::from_lines(&before, &after).unified_diff().iter_hunks() {
        lines.push(style::dim(&hunk.header().to_string()));
        lines.extend(hunk.iter_changes().map(|line| match line.tag() {
            ChangeTag::Equal => format!(" {}", shown(line.value())),
            ChangeTag::Delete => style::bad(&format!("-{}", shown(line.value()))),
            ChangeTag::Insert => style::good(&format!("+{}", shown(line.value()))),
        }));
    }
    lines
}

/// A line without its line ending, which need not be shown.
fn shown(line: &str) -> Cow<'_, str> {
    escape_invisible(line.trim_end_matches(['\n', '\r']))
}

fn names(change: &FileChange) -> (String, String) {
    let path = change.path.display().to_string();
    let name = |content: &Option<Vec<u8>>| {
        if content.is_some() { path.clone() } else { "/dev/null".to_string() }
    };
    (name(&change.before), name(&change.after))
}

fn text(content: Option<&[u8]>) -> String {
    String::from_utf8_lossy(content.unwrap_or_default()).into_owned()
}
