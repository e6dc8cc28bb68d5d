//! Draws a conversation.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::escape_invisible;
use crate::faces::tui::conversation::Window;
use crate::faces::tui::state::{ChatState, Tab};
use crate::faces::tui::theme::Theme;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &ChatState, theme: Theme) {
    let Some(conversation) = state.talk() else { return };
    let window = state.window(&state.filter.text);
    let window =
        Window { look: crate::faces::tui::message_view::MessageLayout { theme, ..window.look }, ..window };
    let pieces = conversation.pieces(window);
    if pieces.is_empty() {
        let text = match (&state.tab, state.filter.text.is_empty()) {
            (_, false) => "No message matches.".to_string(),
            (Tab::All, true) => {
                "No broadcasts yet. Anything you type here goes to all agents of this project.".to_string()
            }
            (_, true) => {
                format!(
                    "No messages yet. Anything you type here goes to {}.",
                    escape_invisible(&conversation.with)
                )
            }
        };
        return super::put_empty(buffer, area, &text, theme);
    }
    let rows = pieces.into_iter().flat_map(|piece| {
        let range = piece.range;
        piece.rows.into_iter().skip(range.start).take(range.len())
    });
    super::put_rows(buffer, area, rows);
}
