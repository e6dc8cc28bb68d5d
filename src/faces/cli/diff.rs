//! What would change in a file, as `diff -u` shows it.

use similar::{ChangeTag, TextDiff};

use super::output::style;
use crate::domain::visible;
use crate::ops::install::Change;

/// The diff as programs read it.
pub(super) fn unified(change: &Change) -> String {
    let (before, after) = (text(change.before.as_deref()), text(change.after.as_deref()));
    let diff = TextDiff::from_lines(before.as_str(), after.as_str());
    let (old, new) = names(change);
    diff.unified_diff().context_radius(3).header(&old, &new).to_string()
}

/// The diff as people read it.
pub(super) fn lines(change: &Change) -> Vec<String> {
    let (before, after) = (text(change.before.as_deref()), text(change.after.as_deref()));
    let diff = TextDiff::from_lines(before.as_str(), after.as_str());
    let (old, new) = names(change);
    let mut lines =
        vec![style::bold(&visible(&format!("--- {old}"))), style::bold(&visible(&format!("+++ {new}")))];
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        lines.push(style::dim(&hunk.header().to_string()));
        for line in hunk.iter_changes() {
            // Line endings stay as they are, and need not be seen.
            let text = visible(line.value().trim_end_matches(['\n', '\r']));
            lines.push(match line.tag() {
                ChangeTag::Equal => format!(" {text}"),
                ChangeTag::Delete => style::bad(&format!("-{text}")),
                ChangeTag::Insert => style::good(&format!("+{text}")),
            });
        }
    }
    lines
}

fn names(change: &Change) -> (String, String) {
    let path = change.path.display().to_string();
    let name = |content: &Option<Vec<u8>>| {
        if content.is_some() { path.clone() } else { "/dev/null".to_string() }
    };
    (name(&change.before), name(&change.after))
}

fn text(content: Option<&[u8]>) -> String {
    String::from_utf8_lossy(content.unwrap_or_default()).into_owned()
}
