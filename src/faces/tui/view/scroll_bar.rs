//! Draws a scroll bar at the right edge of a list or a conversation that does not fit.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::faces::tui::list_rows;
use crate::faces::tui::state::{ChatState, Tab};
use crate::faces::tui::theme::Theme;

/// Screens that are narrower have no column for it.
const FROM: u16 = 20;

/// The columns beside a scroll bar.
pub(in crate::faces::tui) fn beside(width: u16) -> u16 {
    if width < FROM { width } else { width - 1 }
}

/// Draws the bar if something does not fit, and returns the area beside it.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &ChatState, theme: Theme) -> Rect {
    let rest = Rect { width: beside(area.width), ..area };
    let Some((first, shown, total)) = position(state, area.height.into()) else { return area };
    if total <= shown || rest.width == area.width || area.height == 0 {
        return if state.talk().is_some() { rest } else { area };
    }
    let height = usize::from(area.height);
    let (start, length) = thumb(first, shown, total, height);
    for (place, y) in (area.top()..area.bottom()).enumerate() {
        let symbol = if (start..start + length).contains(&place) { "█" } else { "│" };
        buffer.set_line(rest.right(), y, &Line::styled(symbol, theme.faint()), 1);
    }
    rest
}

/// Where the visible part begins and how long it is, in rows of the bar.
fn thumb(first: usize, shown: usize, total: usize, height: usize) -> (usize, usize) {
    let length = (shown * height).checked_div(total).unwrap_or(0).clamp(1, height.max(1));
    let room = height.saturating_sub(length);
    let hidden = total.saturating_sub(shown).max(1);
    ((first * room).div_ceil(hidden).min(room), length)
}

/// The first visible item, how many are visible, and how many there are.
fn position(state: &ChatState, height: usize) -> Option<(usize, usize, usize)> {
    let list = state.list();
    let with_heading = |total: usize| {
        let at = list.at.min(total.saturating_sub(1));
        (super::knowledge::first_item(at, height), height.saturating_sub(1), total)
    };
    Some(match &state.tab {
        Tab::Conversation(_) | Tab::All => state.talk()?.position(state.window(&state.filter.text)),
        Tab::Agents => {
            let all = list_rows::agents(state);
            (super::agents::first_row(&all, list, height), height, all.len())
        }
        Tab::Tasks => {
            let all = list_rows::tasks(state);
            (super::tasks::first_row(&all, list, height), height, all.len())
        }
        Tab::Chats => {
            let total = list_rows::count(state);
            (list_rows::first_row(total, Some(list.at), height), height, total)
        }
        Tab::Reservations => with_heading(list_rows::holds(state).len()),
        Tab::Feed => {
            let total = list_rows::count(state);
            (list.first_of_tail(total, height), height, total)
        }
        Tab::Runs if state.runs.open.is_none() => with_heading(list_rows::count(state)),
        Tab::Knowledge if state.knowledge.open.is_none() => with_heading(list_rows::count(state)),
        Tab::Overlaps => (list.at, height, list_rows::count(state)),
        Tab::Runs | Tab::Knowledge => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thumb_is_at_the_edge_only_at_the_edge() {
        assert_eq!(thumb(0, 10, 100, 10), (0, 1));
        assert_eq!(thumb(1, 10, 100, 10), (1, 1), "something is above");
        assert_eq!(thumb(90, 10, 100, 10), (9, 1));
        assert_eq!(thumb(0, 5, 6, 10), (0, 8));
        assert_eq!(thumb(1, 5, 6, 10), (2, 8));
        assert_eq!(thumb(0, 1, 1_000_000, 4), (0, 1));
    }
}
