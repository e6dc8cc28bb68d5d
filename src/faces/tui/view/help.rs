//! The keys.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::faces::tui::theme::Theme;

const KEYS: [(&str, &str); 13] = [
    ("Tab ← →", "the next tab, the one before"),
    ("↑ ↓ PgUp PgDn", "scroll; choose an agent"),
    ("Home End", "the beginning, the end"),
    ("Enter", "send; open the agent that is chosen"),
    ("Alt-Enter", "a new line"),
    ("@Name text", "to that one, from any tab"),
    ("@all text", "to everyone"),
    ("/", "look for something in this tab"),
    ("//", "begin a message with /"),
    ("Ctrl-W U K Y", "cut a word, a line; put it back"),
    ("Ctrl-Z", "to the background; `fg` comes back"),
    ("Esc", "close what is open, then the program"),
    ("Ctrl-C", "close the program"),
];

pub(super) fn draw(buffer: &mut Buffer, area: Rect, theme: Theme) {
    Clear.render(area, buffer);
    let rows = KEYS.iter().map(|(keys, what)| {
        Line::from(vec![Span::styled(format!("  {keys:<15}"), theme.strong()), Span::raw(*what)])
    });
    super::put_rows(buffer, area, rows);
}
