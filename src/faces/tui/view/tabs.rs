//! Draws the tabs: the fixed ones with their keys and counts, then the conversation that is open.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::faces::tui::model::{TaskStateView, Tone, shown_name};
use crate::faces::tui::navigation::FIXED_TABS;
use crate::faces::tui::state::{ChatState, Tab};
use crate::faces::tui::theme::{Theme, dot};

/// Minimum width for whole names and for counts of what needs nobody.
const WIDE: u16 = 110;

struct Label {
    tab: Tab,
    /// The key that opens it.
    number: Option<usize>,
    dot: Option<Span<'static>>,
    name: String,
    count: Option<Count>,
    is_wide: bool,
}

/// A number beside a name.
struct Count {
    text: String,
    /// Somebody should look at it.
    is_urgent: bool,
}

impl Label {
    fn width(&self) -> u16 {
        let number = self.number.map_or(0, |_| 2);
        let dot = self.dot.as_ref().map_or(0, |dot| dot.width() + 1);
        let gap = usize::from(self.is_wide);
        let count = self.count.as_ref().map_or(0, |count| count.text.width() + gap);
        let padding = 1 + gap;
        u16::try_from(number + dot + self.name.width() + count + padding).unwrap_or(u16::MAX)
    }

    fn line(self, is_open: bool, theme: Theme) -> Line<'static> {
        let mut spans = vec![Span::raw(" ")];
        spans.extend(self.number.map(|number| Span::styled(format!("{number} "), theme.faint())));
        if let Some(dot) = self.dot {
            spans.extend([dot, Span::raw(" ")]);
        }
        spans.push(Span::raw(self.name));
        spans.extend(self.count.map(|count| {
            let style = if count.is_urgent { theme.unread() } else { theme.faint() };
            let gap = if self.is_wide { " " } else { "" };
            Span::styled(format!("{gap}{}", count.text), style)
        }));
        if self.is_wide {
            spans.push(Span::raw(" "));
        }
        let line = Line::from(spans);
        if is_open { super::chosen(line, theme) } else { line }
    }
}

fn name(tab: &Tab, is_wide: bool) -> String {
    let name = match tab {
        Tab::Agents => "Agents",
        Tab::Chats => "Chats",
        Tab::All => "All",
        Tab::Tasks => "Tasks",
        Tab::Reservations if is_wide => "Reserved",
        Tab::Reservations => "Held",
        Tab::Feed => "Feed",
        Tab::Runs => "Runs",
        Tab::Knowledge if is_wide => "Knowledge",
        Tab::Knowledge => "Know",
        Tab::Overlaps => "Overlaps",
        Tab::Conversation(name) => return shown_name(name).into_owned(),
    };
    name.to_string()
}

/// What is counted in a tab: unread messages, agents in trouble, runs that need somebody, files that can't be merged. With
/// enough room also how many agents, tasks and reservations there are.
fn count(tab: &Tab, state: &ChatState, is_wide: bool) -> Option<Count> {
    let world = &state.world;
    let urgent = |text: String| Some(Count { text, is_urgent: true });
    let calm =
        |number: usize, text: String| (is_wide && number > 0).then_some(Count { text, is_urgent: false });
    let unread = |unread: usize| if unread > 0 { urgent(format!("({unread})")) } else { None };
    match tab {
        Tab::Agents => match world.peers.iter().filter(|peer| world.is_in_trouble(peer)).count() {
            0 => calm(world.peers.len(), world.peers.len().to_string()),
            trouble => urgent(format!("▲{trouble}")),
        },
        Tab::Chats => unread(state.conversations.iter().map(|talk| talk.unread()).sum()),
        Tab::All => unread(state.all.unread()),
        Tab::Conversation(name) => {
            unread(state.conversations.iter().find(|talk| talk.is_with(name)).map_or(0, |talk| talk.unread()))
        }
        Tab::Tasks => {
            let tasks = || world.boards.iter().flat_map(|board| &board.tasks);
            let done = tasks().filter(|task| matches!(task.state, TaskStateView::Done { .. })).count();
            calm(tasks().count(), format!("{done}/{}", tasks().count()))
        }
        Tab::Reservations => calm(world.holds.len(), world.holds.len().to_string()),
        Tab::Runs => match state.runs.list.iter().flatten().filter(|run| run.tone == Tone::Bad).count() {
            0 => None,
            needed => urgent(format!("▲{needed}")),
        },
        Tab::Overlaps => match state.overlaps.as_ref().map_or(0, |seen| seen.conflicts.len()) {
            0 => None,
            // On a narrow screen, this tab is the one that would not fit.
            _ if !is_wide => None,
            conflicts => urgent(format!("▲{conflicts}")),
        },
        Tab::Feed | Tab::Knowledge => None,
    }
}

fn labels(state: &ChatState, width: u16, theme: Theme) -> Vec<Label> {
    let is_wide = width >= WIDE;
    let label = |(place, tab): (usize, Tab)| {
        let dot = match &tab {
            Tab::Conversation(name) => Some(match state.world.peer(name) {
                Some(peer) => Span::styled(dot(peer.presence), theme.presence(peer.presence)),
                None => Span::styled("·", theme.faint()),
            }),
            _ => None,
        };
        let number = (place < FIXED_TABS.len()).then_some(place + 1);
        let (name, count) = (name(&tab, is_wide), count(&tab, state, is_wide));
        Label { tab, number, dot, name, count, is_wide }
    };
    state.tabs().into_iter().enumerate().map(label).collect()
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
    let mut labels = labels(state, area.width, theme);
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
    let theme = Theme::PLAIN;
    let mut placed = strip(state, area, theme).labels.into_iter();
    placed
        .find(|(x, label)| (*x..x.saturating_add(label.width())).contains(&column))
        .map(|(_, label)| label.tab)
}
