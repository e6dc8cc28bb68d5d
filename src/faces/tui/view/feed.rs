//! Draws the feed.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::domain::escape_invisible;
use crate::faces::tui::list_rows::events;
use crate::faces::tui::message_view::ago;
use crate::faces::tui::state::ChatState;
use crate::faces::tui::theme::Theme;
use crate::faces::tui::wrap::cut;

const AGE: usize = 6;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &ChatState, theme: Theme) {
    let all = events(state);
    if all.is_empty() {
        let text =
            if state.filter.text.is_empty() { "Nothing has happened yet." } else { "No event matches." };
        return super::put_empty(buffer, area, text, theme);
    }
    let first = state.list().first_of_tail(all.len(), area.height.into());
    let rows = all.into_iter().skip(first).map(|event| {
        let age = ago(event.at, state.now);
        let who = escape_invisible(&event.who).into_owned();
        let times = if event.times > 1 { format!(" ×{}", event.times) } else { String::new() };
        let room = usize::from(area.width).saturating_sub(AGE + 2 + who.width() + 1 + times.width());
        Line::from(vec![
            Span::styled(format!("{age:>AGE$}  "), theme.faint()),
            Span::styled(who, theme.strong()),
            Span::raw(" "),
            Span::styled(cut(&escape_invisible(&event.what), room), theme.tone(event.tone)),
            Span::styled(times, theme.faint()),
        ])
    });
    super::put_rows(buffer, area, rows);
}
