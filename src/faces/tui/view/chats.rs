//! Draws the list of conversations: those with unread messages first.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::domain::escape_invisible;
use crate::faces::tui::conversation::Conversation;
use crate::faces::tui::list_rows;
use crate::faces::tui::message_view::ago;
use crate::faces::tui::model::shown_name;
use crate::faces::tui::state::ChatState;
use crate::faces::tui::theme::{Theme, dot};
use crate::faces::tui::wrap::fit;

const AGE: usize = 6;
const WIDEST_NAME: usize = 20;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &ChatState, theme: Theme) {
    let chats = list_rows::chats(state);
    if chats.is_empty() {
        let text = match state.filter.text.is_empty() {
            true => "No conversations yet. `@Name text` begins one.",
            false => "No conversation matches.",
        };
        return super::put_empty(buffer, area, text, theme);
    }
    let name = chats.iter().map(|chat| shown_name(&chat.with).width()).max().unwrap_or(0).min(WIDEST_NAME);
    let count = chats.iter().map(|chat| count(chat).width()).max().unwrap_or(0);
    let at = state.list().at.min(chats.len() - 1);
    let first = list_rows::first_row(chats.len(), Some(at), area.height.into());
    let rows = chats.into_iter().enumerate().skip(first).take(area.height.into()).map(|(number, chat)| {
        let line = line(chat, (name, count, area.width.into()), state, theme);
        if number == at { super::chosen(line, theme) } else { line }
    });
    super::put_rows(buffer, area, rows);
}

/// How many messages are unread.
fn count(chat: &Conversation) -> String {
    match chat.unread() {
        0 => String::new(),
        unread => format!("({unread})"),
    }
}

fn line(
    chat: &Conversation,
    (name, unread, width): (usize, usize, usize),
    state: &ChatState,
    theme: Theme,
) -> Line<'static> {
    let mark = match state.world.peer(&chat.with) {
        Some(peer) => Span::styled(dot(peer.presence), theme.presence(peer.presence)),
        None => Span::styled("·", theme.faint()),
    };
    let last = chat.messages.last();
    let text = last.map_or_else(String::new, |message| {
        let words = message.text.split_whitespace().collect::<Vec<_>>().join(" ");
        if message.is_mine() { format!("you: {words}") } else { words }
    });
    let age = last.map_or_else(String::new, |message| ago(message.at, state.now));
    let gap = if unread > 0 { unread + 1 } else { 0 };
    let room = width.saturating_sub(2 + name + 2 + gap + AGE);
    Line::from(vec![
        mark,
        Span::raw(" "),
        Span::styled(fit(&shown_name(&chat.with), name), theme.strong()),
        Span::raw("  "),
        Span::styled(fit(&count(chat), gap), theme.unread()),
        Span::raw(fit(&escape_invisible(&text), room)),
        Span::styled(format!("{age:>AGE$}"), theme.faint()),
    ])
}
