//! Draws what the selected agent is working on, and in tmux the end of its screen, below the list of agents.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::domain::escape_invisible;
use crate::faces::tui::agent_detail::{SCREEN_ROWS, sight_rows};
use crate::faces::tui::list_rows::chosen_agent;
use crate::faces::tui::message_view::ago;
use crate::faces::tui::model::HeadingsView;
use crate::faces::tui::state::ChatState;
use crate::faces::tui::theme::Theme;
use crate::faces::tui::wrap::cut;

const LABEL: usize = 10;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &ChatState, theme: Theme) {
    let Some(chosen) = chosen_agent(state).filter(|_| area.height > 0) else { return };
    let width = usize::from(area.width);
    // While another agent's are read, the rows stay where they are.
    let headings = state.headings.as_ref().filter(|headings| headings.name == chosen);
    let sight = state.places.news.sight.as_ref().filter(|sight| sight.name == chosen);
    let title = match headings {
        Some(headings) => format!("{chosen}: {}", asked(headings, state)),
        None => chosen.to_string(),
    };
    let mut lines = vec![rule(&title, width, theme)];
    lines.extend(
        sight.into_iter().flat_map(sight_rows).map(|(label, words)| row(label, &words, width, theme)),
    );
    lines.extend(headings.into_iter().flat_map(|headings| rows(headings, width, theme)));
    if let Some(sight) = sight {
        // The end of the screen says most.
        let room = usize::from(area.height).saturating_sub(lines.len()).min(SCREEN_ROWS);
        let shown = &sight.screen[sight.screen.len().saturating_sub(room)..];
        let label = |number: usize| if number == 0 { "its screen" } else { "" };
        let screen = shown.iter().enumerate();
        lines.extend(screen.map(|(number, line)| row(label(number), &format!("│ {line}"), width, theme)));
    }
    super::put_rows(buffer, area, lines);
}

fn asked(headings: &HeadingsView, state: &ChatState) -> String {
    match headings.asked {
        None => "not asked anything yet".to_string(),
        Some(at) => match ago(at, state.now).as_str() {
            "now" => "asked just now".to_string(),
            age => format!("asked {age} ago"),
        },
    }
}

fn rule(text: &str, width: usize, theme: Theme) -> Line<'static> {
    let text = cut(&escape_invisible(text), width.saturating_sub(4));
    let rest = width.saturating_sub(text.width() + 3);
    Line::styled(format!("─ {text} {}", "─".repeat(rest)), theme.faint())
}

fn rows(headings: &HeadingsView, width: usize, theme: Theme) -> impl Iterator<Item = Line<'static>> {
    headings.rows.iter().map(move |(label, words)| row(label, &words.join(", "), width, theme))
}

fn row(label: &str, words: &str, width: usize, theme: Theme) -> Line<'static> {
    Line::from(vec![
        Span::styled(format!("  {label:<LABEL$}  "), theme.strong()),
        Span::raw(cut(&escape_invisible(words), width.saturating_sub(LABEL + 4))),
    ])
}
