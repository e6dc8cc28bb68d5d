//! Draws the tabs: agents, all, tasks, reservations, feed, runs, knowledge, overlaps, then one per conversation.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::faces::tui::model::shown_name;
use crate::faces::tui::state::{ChatState, Tab};
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

fn labels(state: &ChatState, theme: Theme) -> Vec<Label> {
    let label = |tab: Tab| {
        let (mut mark, mut unread) = (None, 0);
        let name = match &tab {
            Tab::Agents => "Agents".to_string(),
            Tab::All => {
                unread = state.all.unread();
                "All".to_string()
            }
            Tab::Tasks => "Tasks".to_string(),
            Tab::Reservations => "Reserved".to_string(),
            Tab::Feed => "Feed".to_string(),
            Tab::Knowledge => "Knowledge".to_string(),
            Tab::Overlaps => "Overlaps".to_string(),
            Tab::Runs => "Runs".to_string(),
            Tab::Conversation(name) => {
                unread = state
                    .conversations
                    .iter()
                    .find(|conversation| conversation.is_with(name))
                    .map_or(0, |conversation| conversation.unread());
                mark = Some(match state.world.peer(name) {
                    Some(peer) => Span::styled(dot(peer.presence), theme.presence(peer.presence)),
                    None => Span::styled("·", theme.faint()),
                });
                shown_name(name).into_owned()
            }
        };
        Label { tab, dot: mark, name, unread }
    };
    state.tabs().into_iter().map(label).collect()
}

/// The visible labels with their start columns, and whether there are more on either side.
struct Strip {
    labels: Vec<(u16, Label)>,
    before: bool,
    after: bool,
}

/// The width of the mark that shows that there are more.
const MORE: u16 = 2;

/// The part of the tab bar that fits; it contains the open tab.
fn strip(state: &ChatState, area: Rect, theme: Theme) -> Strip {
    let mut labels = labels(state, theme);
    let open = labels.iter().position(|label| label.tab == state.tab).unwrap_or(0);
    let widths: Vec<u16> = labels.iter().map(Label::width).collect();
    let last = widths.len().saturating_sub(1);
    let mark = |is_there: bool| if is_there { MORE } else { 0 };
    let sum = |from: usize| widths[from..=open].iter().fold(0_u16, |sum, wide| sum.saturating_add(*wide));
    let fits = |first: usize| {
        let taken = sum(first).saturating_add(mark(first > 0)).saturating_add(mark(open < last));
        taken <= area.width
    };
    let first = (0..open).find(|first| fits(*first)).unwrap_or(open);
    labels.drain(..first);
    let mut strip = Strip { labels: Vec::new(), before: first > 0, after: false };
    let mut x = area.x.saturating_add(mark(first > 0));
    for (number, label) in labels.into_iter().enumerate() {
        let end = x.saturating_add(label.width());
        let room = area.right().saturating_sub(mark(first + number < last));
        // The open tab is shown even if there is not enough room for it. What follows a name may be cut.
        if end.saturating_sub(1) > room && first + number != open {
            strip.after = true;
            break;
        }
        strip.labels.push((x, label));
        x = end;
    }
    strip
}

pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &ChatState, theme: Theme) {
    if area.height == 0 {
        return;
    }
    let strip = strip(state, area, theme);
    for (x, label) in strip.labels.into_iter().filter(|(x, _)| *x < area.right()) {
        let is_open = label.tab == state.tab;
        buffer.set_line(x, area.y, &label.line(is_open, theme), area.right() - x);
    }
    let more = [(strip.before, area.x, "‹"), (strip.after, area.right().saturating_sub(1), "›")];
    for (_, x, mark) in more.into_iter().filter(|(is_there, ..)| *is_there) {
        buffer.set_line(x, area.y, &Line::styled(mark, theme.unread()), 1);
    }
}

/// The tab at a column.
pub(in crate::faces::tui) fn at(state: &ChatState, area: Rect, column: u16) -> Option<Tab> {
    let theme = Theme { has_colour: false };
    let mut placed = strip(state, area, theme).labels.into_iter();
    placed
        .find(|(x, label)| (*x..x.saturating_add(label.width())).contains(&column))
        .map(|(_, label)| label.tab)
}
