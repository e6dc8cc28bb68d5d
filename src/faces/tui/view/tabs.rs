//! The tabs: agents, a conversation each, all, tasks, reservations, feed.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::domain::visible;
use crate::faces::tui::state::{State, Tab};
use crate::faces::tui::theme::{Theme, dot};

struct Label {
    tab: Tab,
    dot: Option<Span<'static>>,
    name: String,
    unread: usize,
}

impl Label {
    fn width(&self) -> u16 {
        let dot = self.dot.as_ref().map_or(0, |dot| dot.width() + 1);
        let unread = if self.unread > 0 { self.count().width() } else { 0 };
        u16::try_from(dot + self.name.width() + unread + 2).unwrap_or(u16::MAX)
    }

    fn count(&self) -> String {
        format!(" ({})", self.unread)
    }

    fn line(self, is_open: bool, theme: Theme) -> Line<'static> {
        let count = (self.unread > 0).then(|| Span::styled(self.count(), theme.unread()));
        let mut spans = vec![Span::raw(" ")];
        if let Some(dot) = self.dot {
            spans.extend([dot, Span::raw(" ")]);
        }
        spans.push(Span::raw(self.name));
        spans.extend(count);
        spans.push(Span::raw(" "));
        let line = Line::from(spans);
        if is_open { super::chosen(line, theme) } else { line }
    }
}

fn labels(state: &State, theme: Theme) -> Vec<Label> {
    let label = |tab: Tab| {
        let (mut mark, mut unread) = (None, 0);
        let name = match &tab {
            Tab::Agents => "Agents".to_string(),
            Tab::All => {
                unread = state.all.unread();
                "All".to_string()
            }
            Tab::Tasks => "Tasks".to_string(),
            Tab::Reservations => "Reservations".to_string(),
            Tab::Feed => "Feed".to_string(),
            Tab::Talk(name) => {
                unread = state.talks.iter().find(|talk| talk.is_with(name)).map_or(0, |talk| talk.unread());
                mark = Some(match state.world.peer(name) {
                    Some(peer) => Span::styled(dot(peer.presence), theme.presence(peer.presence)),
                    None => Span::styled("·", theme.faint()),
                });
                visible(name).into_owned()
            }
        };
        Label { tab, dot: mark, name, unread }
    };
    state.tabs().into_iter().map(label).collect()
}

/// Each label that fits, and where it starts: the open one is among them.
fn placed(state: &State, area: Rect, theme: Theme) -> Vec<(u16, Label)> {
    let mut labels = labels(state, theme);
    let open = labels.iter().position(|label| label.tab == state.tab).unwrap_or(0);
    let widths: Vec<u16> = labels.iter().map(Label::width).collect();
    // As many to the left of the open one as leave room for it, and for the next if there is one.
    let wanted = open.min(labels.len().saturating_sub(2)) + 1;
    let mut first = 0;
    let sum =
        |from: usize, to: usize| widths[from..=to].iter().fold(0_u16, |sum, wide| sum.saturating_add(*wide));
    while first < open && sum(first, wanted.min(widths.len() - 1)) > area.width {
        first += 1;
    }
    let mut x = area.x;
    labels.drain(..first);
    let place = |label: Label| {
        let start = x;
        x = x.saturating_add(label.width());
        (start, label)
    };
    labels.into_iter().map(place).take_while(|(start, _)| *start < area.right()).collect()
}

pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &State, theme: Theme) {
    if area.height == 0 {
        return;
    }
    for (x, label) in placed(state, area, theme) {
        let is_open = label.tab == state.tab;
        buffer.set_line(x, area.y, &label.line(is_open, theme), area.right() - x);
    }
}

/// The tab in that column.
pub(in crate::faces::tui) fn at(state: &State, area: Rect, column: u16) -> Option<Tab> {
    let theme = Theme { colour: false };
    let mut placed = placed(state, area, theme).into_iter();
    placed
        .find(|(x, label)| (*x..x.saturating_add(label.width())).contains(&column))
        .map(|(_, label)| label.tab)
}
