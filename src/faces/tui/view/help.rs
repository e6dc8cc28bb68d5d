//! Draws the list of keys.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::faces::tui::theme::Theme;

const KEYS: [(&str, &str); 19] = [
    ("Esc", "back; twice to quit"),
    ("Ctrl-C Ctrl-Q", "quit"),
    ("Tab ← →", "next / previous tab"),
    ("↑ ↓ PgUp PgDn", "scroll; choose an agent, see its topics and files"),
    ("Knowledge tab", "type to search; Enter reads, c confirms, r retires"),
    ("Overlaps tab", "who may collide, why"),
    ("Runs tab", "workers; Enter opens, then goes to its tmux pane; s stops"),
    ("Home End", "first / last"),
    ("Enter", "send; open the chosen agent; again: go to its tmux pane"),
    ("Alt-Enter", "new line"),
    ("Ctrl-A", "acknowledge what wants an ack here"),
    ("@Name text", "send to that agent, from any tab"),
    ("@all text", "send to this project; also @spec, @branch, @harness:NAME"),
    ("/", "filter this tab"),
    ("//", "start a message with /"),
    ("Ctrl-W U K Y", "cut a word, a line; put it back"),
    ("Ctrl-Z", "suspend (`fg` to return)"),
    ("Ctrl-L", "redraw the screen"),
    ("?", "these keys"),
];

/// The first key on the last page, for a screen of `height` rows.
pub(in crate::faces::tui) fn last_start(height: usize) -> usize {
    // One row says that there is more.
    if KEYS.len() <= height { 0 } else { KEYS.len() + 1 - height.max(2) }
}

pub(super) fn draw(buffer: &mut Buffer, area: Rect, from: usize, theme: Theme) {
    Clear.render(area, buffer);
    let height = usize::from(area.height);
    let last = last_start(height);
    let from = from.min(last);
    let shown = if last == 0 { height } else { height.saturating_sub(1) };
    let rows = KEYS.iter().skip(from).take(shown).map(|(keys, what)| {
        Line::from(vec![Span::styled(format!("  {keys:<15}"), theme.strong()), Span::raw(*what)])
    });
    let more = match (last, from < last) {
        (0, _) => None,
        (_, true) => Some(Line::styled("  ↓ more", theme.faint())),
        (_, false) => Some(Line::styled("  ↑ more", theme.faint())),
    };
    super::put_rows(buffer, area, rows.chain(more));
}
