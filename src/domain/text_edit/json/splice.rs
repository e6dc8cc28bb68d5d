//! The smallest change of a JSON text that inserts, removes or replaces a value.

use std::ops::Range;

use super::write::{Json, Spacing, Style, quoted};
use super::{Document, JsonNode};
use crate::domain::text_edit::Splice;

impl Document {
    pub(super) fn replacement(&self, node: &JsonNode, value: &Json) -> Splice {
        let old = &self.text[node.range.clone()];
        let is_scalar = node.children().is_empty();
        let with = if old.contains('\n') || (is_scalar && self.text.trim_end().contains('\n')) {
            value.on_lines(&Style::of(&self.text), self.indent_at(node.range.start))
        } else {
            value.on_one_line(self.spacing(&node.range))
        };
        Splice { range: node.range.clone(), with }
    }

    /// Inserts a new last element.
    pub(super) fn insertion(&self, container: &JsonNode, name: Option<&str>, value: &Json) -> Vec<Splice> {
        let style = Style::of(&self.text);
        let inner = container.range.start + 1..container.range.end - 1;
        let children = container.children();
        let has_lines = self.text[inner.clone()].contains('\n');
        let is_root = container.range == self.root.range;
        let one_line =
            !has_lines && (!children.is_empty() || !(is_root || self.text.trim_end().contains('\n')));
        let spacing = self.spacing(&self.root.range);
        let own = self.indent_at(container.range.start);
        let indent = match children.first() {
            Some(first) if self.starts_line(first.start) => self.indent_at(first.start).to_string(),
            _ => format!("{own}{}", style.unit),
        };
        let colon = if one_line && spacing == Spacing::Compact { ":" } else { ": " };
        let value = if one_line { value.on_one_line(spacing) } else { value.on_lines(&style, &indent) };
        let entry = name.map_or(value.clone(), |name| format!("{}{colon}{value}", quoted(name)));
        let (newline, at) = (style.newline, |range: Range<usize>, with: String| Splice { range, with });
        let Some(last) = children.last() else {
            // Comments stay before it.
            let kept = self.text[inner.clone()].trim_end().len();
            let (gap, range) = (if kept == 0 { "" } else { " " }, inner.start + kept..inner.end);
            let with = if one_line {
                format!("{gap}{entry}")
            } else {
                format!("{newline}{indent}{entry}{newline}{own}")
            };
            return vec![at(range, with)];
        };
        let comma = self.comma_in(last.end..inner.end);
        let (before, after) = if comma.is_some() { ("", ",") } else { (",", "") };
        if one_line {
            let space = spacing.text();
            let point = comma.map_or(last.end, |comma| comma + 1);
            return vec![at(point..point, format!("{before}{space}{entry}{after}"))];
        }
        let point = self.end_of_notes(comma.map_or(last.end, |comma| comma + 1)..inner.end);
        vec![
            at(last.end..last.end, before.to_string()),
            at(point..point, format!("{newline}{indent}{entry}{after}")),
        ]
    }

    /// Removes an element with its comma, and with its line if there is nothing else on it.
    pub(super) fn removal(&self, container: &JsonNode, index: usize) -> Vec<Splice> {
        let children = container.children();
        let Some(Range { start, end }) = children.get(index).cloned() else { return Vec::new() };
        let inner = container.range.start + 1..container.range.end - 1;
        let gone = |range: Range<usize>| Splice { range, with: String::new() };
        if children.len() == 1 {
            let (before, after) = (&self.text[inner.start..start], &self.text[end..inner.end]);
            let after_comma = after.trim_start().strip_prefix(',').unwrap_or(after);
            if before.trim().is_empty() && after_comma.trim().is_empty() {
                return vec![gone(inner)];
            }
        }
        let next = children.get(index + 1).map_or(inner.end, |next| next.start);
        let comma = self.comma_in(end..next);
        let mut splices = Vec::new();
        if comma.is_none()
            && let Some(previous) = index.checked_sub(1).and_then(|index| children.get(index))
            && let Some(comma) = self.comma_in(previous.end..start)
        {
            splices.push(gone(comma..comma + 1));
        }
        let bare_end = comma.map_or(end, |comma| comma + 1);
        let rest = &self.text[bare_end..];
        let until = bare_end + rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let rest_is_empty = self.text[until..].starts_with(['\n', '\r']);
        let line = self.text[..start].trim_end_matches([' ', '\t']);
        let above = line.strip_suffix('\n').map(|above| above.strip_suffix('\r').unwrap_or(above).len());
        splices.push(gone(match above {
            Some(above) if rest_is_empty => above..until,
            None if index + 1 == children.len() => line.len()..bare_end,
            _ => start..until,
        }));
        splices
    }

    /// The position of the comma between two values, outside of comments.
    fn comma_in(&self, range: Range<usize>) -> Option<usize> {
        let mut at = range.start;
        while at < range.end {
            match self.text.as_bytes()[at] {
                b',' => return Some(at),
                b'/' => at = self.end_of_comment(at),
                _ => at += 1,
            }
        }
        None
    }

    /// The end of the last comment on this line; the start of the range if there is none.
    fn end_of_notes(&self, range: Range<usize>) -> usize {
        let (mut at, mut end) = (range.start, range.start);
        while at < range.end {
            match self.text.as_bytes()[at] {
                b' ' | b'\t' => at += 1,
                b'/' => {
                    at = self.end_of_comment(at);
                    end = at;
                }
                _ => break,
            }
        }
        end
    }

    fn end_of_comment(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        let length = if rest.starts_with("/*") {
            rest.find("*/").map(|end| end + 2)
        } else {
            rest.find('\n').map(|end| rest[..end].trim_end_matches('\r').len())
        };
        at + length.unwrap_or(rest.len())
    }

    fn line_before(&self, at: usize) -> &str {
        let before = &self.text[..at];
        &before[before.rfind('\n').map_or(0, |newline| newline + 1)..]
    }

    fn starts_line(&self, at: usize) -> bool {
        self.line_before(at).trim_matches([' ', '\t']).is_empty()
    }

    /// The indentation of the line that contains this position.
    fn indent_at(&self, at: usize) -> &str {
        let line = self.line_before(at);
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// Whether there is a space after colons and commas.
    fn spacing(&self, range: &Range<usize>) -> Spacing {
        let text = &self.text[range.clone()];
        let is_spaced =
            !text.contains(':') && !text.contains(',') || text.contains(": ") || text.contains(", ");
        if is_spaced { Spacing::Spaced } else { Spacing::Compact }
    }
}
