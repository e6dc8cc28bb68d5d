//! Draws the input, the notice above it, and the names that are offered.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};
use unicode_width::UnicodeWidthStr;

use crate::domain::{AgentName, escape_invisible, machine_of_notice};
use crate::faces::tui::layout::{Areas, PROMPT, input_width};
use crate::faces::tui::list_rows::chosen_agent;
use crate::faces::tui::recipients::is_group;
use crate::faces::tui::state::{ChatState, Tab};
use crate::faces::tui::theme::Theme;
use crate::faces::tui::wrap::cut;

/// The line above the input.
pub(super) fn draw_rule(buffer: &mut Buffer, area: Rect, state: &ChatState, theme: Theme) {
    let (text, style) = urgent(state, theme).unwrap_or_else(|| (hint(state), theme.faint()));
    let width = usize::from(area.width);
    let text = cut(&text, width.saturating_sub(4));
    let rest = width.saturating_sub(text.width() + 3);
    let line = Line::from(vec![
        Span::styled("─ ", theme.faint()),
        Span::styled(text, style),
        Span::styled(format!(" {}", "─".repeat(rest)), theme.faint()),
    ]);
    super::put_rows(buffer, area, [line]);
}

/// A question, or else the notice.
fn urgent(state: &ChatState, theme: Theme) -> Option<(String, Style)> {
    if let Some(question) = state.knowledge.question().filter(|_| state.tab == Tab::Knowledge) {
        return Some((question.to_string(), theme.unread()));
    }
    if let Some(question) = state.menu.as_ref().and_then(|menu| menu.question()) {
        return Some((escape_invisible(question).into_owned(), theme.unread()));
    }
    if let Some(question) = state.runs.question().filter(|_| state.tab == Tab::Runs) {
        return Some((question, theme.unread()));
    }
    let notice = state.notice.as_ref()?;
    let style = if notice.is_error { theme.error() } else { theme.strong() };
    Some((escape_invisible(&notice.text).into_owned(), style))
}

fn hint(state: &ChatState) -> String {
    let more = match state.talk() {
        Some(conversation) if !conversation.is_at_end() => " · End: the latest",
        _ => "",
    };
    let what = match &state.tab {
        _ if state.menu.is_some() => return "a key or Enter does it · Esc back".to_string(),
        Tab::Knowledge if state.knowledge.open.is_some() => "c confirm · r retire · Esc back".to_string(),
        Tab::Knowledge if state.filter.is_open => "Enter read, Esc clear".to_string(),
        _ if state.filter.is_open => "Enter keep, Esc clear".to_string(),
        _ if !state.filter.text.is_empty() => {
            format!("filter: {} · Esc clear", escape_invisible(&state.filter.text))
        }
        Tab::Conversation(name) if AgentName::is_program(name) => "notices from msg itself".to_string(),
        Tab::Conversation(name) if machine_of_notice(name).is_some() => {
            "notices of msg on another machine".to_string()
        }
        Tab::Conversation(name) if state.pane_of(name).is_some() && state.draft().is_empty() => {
            format!("to {} · Enter twice: its pane · Space acts", escape_invisible(name))
        }
        Tab::Conversation(name) if state.draft().is_empty() => {
            format!("to {} · Space acts", escape_invisible(name))
        }
        Tab::Conversation(name) => format!("to {}", escape_invisible(name)),
        Tab::All => "to all".to_string(),
        Tab::Agents if chosen_agent(state).is_some_and(|name| state.places.pane(name).is_some()) => {
            "Enter opens, again: its pane · Space acts · @Name text · / filter".to_string()
        }
        Tab::Agents => "Enter opens · Space acts · @Name text · / filter".to_string(),
        Tab::Chats => "Enter opens · Space acts · / filter".to_string(),
        Tab::Tasks | Tab::Reservations => "Space acts · @Name text · / filter".to_string(),
        Tab::Knowledge => "type to search · Enter reads · @Name text".to_string(),
        Tab::Runs if has_pane(state) => "Enter goes to its pane · s stop · Esc back".to_string(),
        Tab::Runs if state.runs.open.is_some() => "s stop · Esc back".to_string(),
        Tab::Runs => "Enter opens · s stop · @Name text · / filter".to_string(),
        _ => "@Name text · / filter".to_string(),
    };
    format!("{what}{more} · ? keys")
}

/// Whether the worker of the open run is in a tmux pane.
fn has_pane(state: &ChatState) -> bool {
    let detail = state.runs.open.as_ref().and_then(|open| open.detail.as_ref());
    detail.is_some_and(|detail| detail.has_pane)
}

/// Draws what is typed, and returns the position of the cursor.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &ChatState, theme: Theme) -> Position {
    if state.filter.is_open {
        let text = format!("/{}", escape_invisible(&state.filter.text));
        let shown = cut(&text, usize::from(area.width).saturating_sub(1));
        let column = u16::try_from(shown.width()).unwrap_or(0);
        super::put_rows(buffer, area, [Line::raw(shown)]);
        return Position::new(area.x + column, area.y);
    }
    // A screen without a rule has no other place for the notice, so it takes that of an empty draft.
    let is_low = state.size.height < 8 && state.draft().is_empty();
    if let Some((text, style)) = urgent(state, theme).filter(|_| is_low) {
        super::put_rows(buffer, area, [Line::styled(text, style)]);
        return Position::new(area.x, area.y);
    }
    let (rows, (row, column)) = state.draft().rows(input_width(area.width));
    let height = usize::from(area.height).max(1);
    let first = (row + 1).saturating_sub(height);
    let prompt = |number: usize| if number == 0 { PROMPT } else { "  " };
    let lines = rows.iter().enumerate().skip(first).map(|(number, row)| {
        Line::from(vec![Span::styled(prompt(number), theme.mine()), Span::raw(row.clone())])
    });
    super::put_rows(buffer, area, lines);
    let x = area.x + u16::try_from(PROMPT.width() + column).unwrap_or(0);
    let y = area.y + u16::try_from(row - first).unwrap_or(0);
    Position::new(x.min(area.right().saturating_sub(1)), y)
}

/// Draws the offered names, just above the input.
pub(super) fn draw_completion(buffer: &mut Buffer, areas: Areas, state: &ChatState, theme: Theme) {
    let Some(completion) = &state.completion else { return };
    let body = areas.body;
    let rows = u16::try_from(completion.names.len()).unwrap_or(0).min(body.height);
    let label = |name: &String| match is_group(name, &state.world) {
        true => format!("{} (group)", escape_invisible(name)),
        false => escape_invisible(name).into_owned(),
    };
    let labels: Vec<String> = completion.names.iter().map(label).collect();
    let widest = labels.iter().map(|label| label.width()).max().unwrap_or(0);
    let width = u16::try_from(widest + 2).unwrap_or(body.width).min(body.width);
    let area = Rect::new(body.x + 1.min(body.width - width), body.bottom() - rows, width, rows);
    Clear.render(area, buffer);
    let lines = labels.iter().enumerate().map(|(number, label)| {
        let style = if number == completion.chosen { theme.chosen() } else { theme.strong() };
        Line::styled(format!(" {label:<widest$} "), style)
    });
    super::put_rows(buffer, area, lines);
}
