//! What the tabs with records share: a row of columns in the list, and the page of one record.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::domain::escape_invisible;
use crate::faces::tui::theme::Theme;
use crate::faces::tui::wrap::{cut, fit, wrap};

/// Between columns, and before the lines of a page.
pub(super) const GAP: &str = "  ";

/// A row of the list: texts with their widths. A column without a width is left out.
pub(super) fn columns(columns: impl IntoIterator<Item = (String, usize, Style)>) -> Line<'static> {
    let mut spans = Vec::new();
    for (text, width, style) in columns.into_iter().filter(|(_, width, _)| *width > 0) {
        if !spans.is_empty() {
            spans.push(Span::raw(GAP));
        }
        spans.push(Span::styled(fit(&text, width), style));
    }
    Line::from(spans)
}

/// The rows of a page on a screen of that width. The heading is one row.
pub(super) fn rows(heading: &str, lines: &[String], width: u16) -> Vec<String> {
    let heading = cut(&escape_invisible(heading), width.into());
    std::iter::once(heading).chain(indented(lines, width)).collect()
}

/// The rows of lines below a heading.
pub(super) fn indented(lines: &[String], width: u16) -> impl Iterator<Item = String> {
    let width = usize::from(width).saturating_sub(GAP.len());
    lines.iter().flat_map(move |line| wrap(line, width)).map(|row| format!("{GAP}{row}"))
}

/// The rows of a screen: lines of others with a mark before each, cut where they are too long.
pub(super) fn screen_rows(lines: &[String], width: u16) -> impl Iterator<Item = String> {
    lines.iter().map(move |line| cut(&format!("{GAP}│ {}", escape_invisible(line)), width.into()))
}

/// Draws the rows of a page, from that row on if there are so many.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, rows: Vec<String>, from: usize, theme: Theme) {
    let from = from.min(rows.len().saturating_sub(area.height.into()));
    let lines = rows.into_iter().enumerate().skip(from).map(|(number, row)| match number {
        0 => Line::styled(row, theme.strong()),
        _ => Line::raw(row),
    });
    super::put_rows(buffer, area, lines);
}
