//! Layout: the areas of the screen.

use ratatui::layout::{Rect, Size};

use super::agent_detail;
use super::list_rows;
use super::state::{ChatState, Tab};

/// Maximum number of visible input rows; a longer input scrolls.
const INPUT_ROWS: usize = 6;
/// Minimum screen height for what the selected agent is working on.
const DETAIL_FROM: u16 = 16;
/// Minimum screen width for the selected agent beside the list instead of below it.
const SPLIT_FROM: u16 = 110;
/// The widest column about an agent.
const WIDEST_SIDE: u16 = 100;
/// Minimum screen height for a rule above the input.
const RULE_FROM: u16 = 8;
/// Shown before the input.
pub(super) const PROMPT: &str = "› ";
const PROMPT_WIDTH: u16 = 2;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Areas {
    pub(super) title: Rect,
    pub(super) tabs: Rect,
    pub(super) body: Rect,
    /// The selected agent: below the body what it is working on, if that is known; on a wide screen all about it, beside
    /// the body.
    pub(super) detail: Rect,
    /// A line with the current notice; it has no row on a low screen.
    pub(super) rule: Rect,
    pub(super) input: Rect,
}

/// The parts of the screen; some may have no rows.
pub(super) fn areas(state: &ChatState) -> Areas {
    let Size { width, height } = state.size;
    let rows = state.draft().rows(input_width(width)).0.len().clamp(1, INPUT_ROWS);
    // Keep two rows for the body if possible.
    let input = u16::try_from(rows).unwrap_or(1).min(height.saturating_sub(4).max(1)).min(height);
    let rule = u16::from(height >= RULE_FROM);
    let title = u16::from(height > input + rule);
    let tabs = u16::from(height > input + rule + title);
    let body = height - input - rule - title - tabs;
    let side = side_columns(state);
    // The list keeps the larger half.
    let detail = if side > 0 { 0 } else { detail_rows(state).min(body / 2) };
    let body = body - detail;
    let mut y = 0;
    let mut take = |rows: u16| {
        let area = Rect::new(0, y, width, rows);
        y += rows;
        area
    };
    let (title, tabs, body, detail) = (take(title), take(tabs), take(body), take(detail));
    let (rule, input) = (take(rule), take(input));
    let (body, detail) = match side {
        0 => (body, detail),
        side => {
            let left = width - side;
            (Rect { width: left.saturating_sub(1), ..body }, Rect { x: left, width: side, ..body })
        }
    };
    Areas { title, tabs, body, detail, rule, input }
}

/// The columns beside the body in which an agent is shown in full.
fn side_columns(state: &ChatState) -> u16 {
    let is_shown = is_split(state.size) && list_rows::shown_agent(state).is_some();
    match state.tab {
        _ if !is_shown => 0,
        Tab::Agents => (state.size.width / 2).min(WIDEST_SIDE),
        _ => (state.size.width * 2 / 5).min(WIDEST_SIDE),
    }
}

/// Whether an agent is shown beside the list.
pub(super) fn is_split(size: Size) -> bool {
    size.width >= SPLIT_FROM && has_detail(size)
}

/// Whether there is room for what an agent is working on.
pub(super) fn has_detail(size: Size) -> bool {
    size.height >= DETAIL_FROM
}

/// A heading and its rows.
fn detail_rows(state: &ChatState) -> u16 {
    let rows = agent_detail::count(state.headings.as_ref(), state.places.news.sight.as_ref());
    let is_shown = state.tab == Tab::Agents && !state.world.peers.is_empty() && has_detail(state.size);
    if is_shown && rows > 0 { u16::try_from(rows + 1).unwrap_or(0) } else { 0 }
}

/// The number of columns for typing.
pub(super) fn input_width(width: u16) -> usize {
    width.saturating_sub(PROMPT_WIDTH).max(1).into()
}
