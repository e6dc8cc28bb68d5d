//! The views of the chat: one file per tab or part of the screen. They draw the state and change nothing.

pub(super) mod agents;
mod chat;
mod chats;
mod detail;
mod feed;
mod headings;
pub(super) mod help;
mod input;
pub(super) mod knowledge;
mod menu;
mod overlaps;
mod pane_command;
mod record_page;
mod reservations;
pub(super) mod runs;
pub(super) mod scroll_bar;
pub(super) mod tabs;
pub(super) mod tasks;
mod title;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::layout::{areas, is_split};
use super::state::{ChatState, Tab};
use super::theme::Theme;

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, state: &ChatState, theme: Theme) {
    let areas = areas(state);
    let buffer = frame.buffer_mut();
    title::draw(buffer, areas.title, state, theme);
    tabs::draw(buffer, areas.tabs, state, theme);
    let body = scroll_bar::draw(buffer, areas.body, state, theme);
    match &state.tab {
        Tab::Agents => agents::draw(buffer, body, state, theme),
        Tab::Chats => chats::draw(buffer, body, state, theme),
        Tab::Conversation(_) | Tab::All => chat::draw(buffer, body, state, theme),
        Tab::Tasks => tasks::draw(buffer, body, state, theme),
        Tab::Reservations => reservations::draw(buffer, body, state, theme),
        Tab::Feed => feed::draw(buffer, body, state, theme),
        Tab::Knowledge => knowledge::draw(buffer, body, state, theme),
        Tab::Overlaps => overlaps::draw(buffer, body, state, theme),
        Tab::Runs => runs::draw(buffer, body, state, theme),
    }
    if is_split(state.size) {
        detail::draw(buffer, areas.detail, state, theme);
    } else {
        headings::draw(buffer, areas.detail, state, theme);
    }
    input::draw_rule(buffer, areas.rule, state, theme);
    let cursor = input::draw(buffer, areas.input, state, theme);
    input::draw_completion(buffer, areas, state, theme);
    if let Some(menu) = &state.menu {
        menu::draw(buffer, areas.body, menu, theme);
    }
    if let Some(command) = &state.places.command {
        pane_command::draw(buffer, areas.body, command, theme);
    } else if state.is_help_open {
        help::draw(buffer, areas.body, state.help_from, theme);
    } else {
        frame.set_cursor_position(cursor);
    }
}

/// Draws rows from the top of an area; rows that do not fit are left out.
fn put_rows<'a>(buffer: &mut Buffer, area: Rect, rows: impl IntoIterator<Item = Line<'a>>) {
    for (y, row) in (area.top()..area.bottom()).zip(rows) {
        buffer.set_line(area.x, y, &row, area.width);
    }
}

/// Highlights a line as a whole, without the colours of its parts.
fn chosen(line: Line<'_>, theme: Theme) -> Line<'_> {
    let spans = line.spans.into_iter().map(|span| span.style(Style::new()));
    Line::from(spans.collect::<Vec<_>>()).style(theme.chosen())
}

/// Centres a text in an area that is otherwise empty.
fn put_empty(buffer: &mut Buffer, area: Rect, text: &str, theme: Theme) {
    if area.height > 0 {
        let middle = Rect { y: area.y + (area.height - 1) / 2, height: 1, ..area };
        let words = super::wrap::cut(text, area.width.into());
        put_rows(buffer, middle, [Line::styled(words, theme.faint()).centered()]);
    }
}
