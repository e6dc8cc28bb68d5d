//! What would change in a file, as `diff -u` shows it.

use std::borrow::Cow;

use diffy::{DiffOptions, Line, PatchFormatter};

use super::output::style;
use crate::domain::visible;
use crate::ops::install::Change;

/// The diff as programs read it.
pub(super) fn unified(change: &Change) -> String {
    let (before, after) = (text(change.before.as_deref()), text(change.after.as_deref()));
    let patch = options(change).create_patch(&before, &after);
    PatchFormatter::new().suppress_blank_empty(false).fmt_patch(&patch).to_string()
}

/// The diff as people read it.
pub(super) fn lines(change: &Change) -> Vec<String> {
    let (before, after) = (text(change.before.as_deref()), text(change.after.as_deref()));
    let patch = options(change).create_patch(&before, &after);
    let (old, new) = names(change);
    let mut lines =
        vec![style::bold(&visible(&format!("--- {old}"))), style::bold(&visible(&format!("+++ {new}")))];
    for hunk in patch.hunks() {
        lines.push(style::dim(&format!("@@ -{} +{} @@", hunk.old_range(), hunk.new_range())));
        lines.extend(hunk.lines().iter().map(|line| match line {
            Line::Context(line) => format!(" {}", shown(line)),
            Line::Delete(line) => style::bad(&format!("-{}", shown(line))),
            Line::Insert(line) => style::good(&format!("+{}", shown(line))),
        }));
    }
    lines
}

/// Line endings stay as they are, and need not be seen.
fn shown(line: &str) -> Cow<'_, str> {
    visible(line.trim_end_matches(['\n', '\r']))
}

fn options(change: &Change) -> DiffOptions {
    let (old, new) = names(change);
    let mut options = DiffOptions::new();
    options.set_context_len(3).set_original_filename(old).set_modified_filename(new);
    options
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
