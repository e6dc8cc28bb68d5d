//! What happened.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::visible;
use crate::faces::tui::bubble::ago;
use crate::faces::tui::rows::events;
use crate::faces::tui::state::State;
use crate::faces::tui::theme::Theme;

const AGE: usize = 6;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &State, theme: Theme) {
    let all = events(state);
    if all.is_empty() {
        let text = if state.filter.text.is_empty() {
            "Nothing has happened yet."
        } else {
            "Nothing like that happened."
        };
        return super::put_empty(buffer, area, text, theme);
    }
    let first = state.list().first_of_tail(all.len(), area.height.into());
    let rows = all.into_iter().skip(first).map(|event| {
        let age = ago(event.at, state.now);
        Line::from(vec![
            Span::styled(format!("{age:>AGE$}  "), theme.faint()),
            Span::styled(visible(&event.who).into_owned(), theme.strong()),
            Span::raw(" "),
            Span::styled(visible(&event.what).into_owned(), theme.tone(event.tone)),
        ])
    });
    super::put_rows(buffer, area, rows);
}
