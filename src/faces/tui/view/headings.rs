//! Draws what the selected agent is working on, below the list of agents.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::domain::escape_invisible;
use crate::faces::tui::list_rows::chosen_agent;
use crate::faces::tui::message_view::ago;
use crate::faces::tui::model::HeadingsView;
use crate::faces::tui::state::ChatState;
use crate::faces::tui::theme::Theme;
use crate::faces::tui::wrap::cut;

const LABEL: usize = 10;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &ChatState, theme: Theme) {
    let (Some(headings), true) = (&state.headings, area.height > 0) else { return };
    let width = usize::from(area.width);
    // While another agent's are read, the rows stay where they are.
    let Some(chosen) = chosen_agent(state) else { return };
    if chosen != headings.name {
        return super::put_rows(buffer, area, [rule(chosen, width, theme)]);
    }
    let asked = match headings.asked {
        None => "not asked anything yet".to_string(),
        Some(at) => match ago(at, state.now).as_str() {
            "now" => "asked just now".to_string(),
            age => format!("asked {age} ago"),
        },
    };
    let title = rule(&format!("{}: {asked}", headings.name), width, theme);
    super::put_rows(buffer, area, std::iter::once(title).chain(rows(headings, width, theme)));
}

fn rule(text: &str, width: usize, theme: Theme) -> Line<'static> {
    let text = cut(&escape_invisible(text), width.saturating_sub(4));
    let rest = width.saturating_sub(text.width() + 3);
    Line::styled(format!("─ {text} {}", "─".repeat(rest)), theme.faint())
}

fn rows(headings: &HeadingsView, width: usize, theme: Theme) -> impl Iterator<Item = Line<'static>> {
    headings.rows.iter().map(move |(label, words)| {
        let words = escape_invisible(&words.join(", ")).into_owned();
        Line::from(vec![
            Span::styled(format!("  {label:<LABEL$}  "), theme.strong()),
            Span::raw(cut(&words, width.saturating_sub(LABEL + 4))),
        ])
    })
}
