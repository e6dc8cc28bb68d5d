//! Draws an agent in full, beside the list or the conversation: what it is doing, its task, what it holds and waits for,
//! what it is working on, what it did last, and in tmux the end of its screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::escape_invisible;
use crate::faces::tui::agent_detail::sight_rows;
use crate::faces::tui::list_rows::shown_agent;
use crate::faces::tui::message_view::ago;
use crate::faces::tui::model::{PeerItem, ReservationItem};
use crate::faces::tui::state::{ChatState, Tab};
use crate::faces::tui::theme::{Theme, dot};
use crate::faces::tui::wrap::{cut, wrap};

const LABEL: usize = 10;
/// The most rows of one text.
const MOST_ROWS: usize = 3;
/// The most paths that are listed.
const MOST_PATHS: usize = 8;
/// The most events of the feed.
const MOST_EVENTS: usize = 8;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &ChatState, theme: Theme) {
    let Some(peer) = shown_agent(state).and_then(|name| state.world.peer(name)) else { return };
    if area.width < 3 {
        return;
    }
    for y in area.top()..area.bottom() {
        buffer.set_line(area.x, y, &Line::styled("│", theme.faint()), 1);
    }
    let inner = Rect { x: area.x + 2, width: area.width - 2, ..area };
    let page = Page { peer, state, theme, width: inner.width.into() };
    let mut lines = page.about();
    lines.extend(page.mail());
    lines.extend(page.paths());
    lines.extend(page.heading());
    lines.extend(page.lately());
    let room = usize::from(inner.height).saturating_sub(lines.len());
    lines.extend(page.screen(room));
    super::put_rows(buffer, inner, lines);
}

struct Page<'a> {
    peer: &'a PeerItem,
    state: &'a ChatState,
    theme: Theme,
    width: usize,
}

impl Page<'_> {
    /// A label and a text of at most [`MOST_ROWS`] rows.
    fn labelled(&self, label: &str, text: &str) -> Vec<Line<'static>> {
        let room = self.width.saturating_sub(LABEL + 2);
        let mut rows = wrap(text, room);
        if rows.len() > MOST_ROWS {
            rows.truncate(MOST_ROWS);
            let last = rows.pop().unwrap_or_default();
            rows.push(cut(&format!("{last} …"), room));
        }
        let label = |number: usize| if number == 0 { label } else { "" };
        let row = |(number, row): (usize, String)| {
            Line::from(vec![
                Span::styled(format!("{:<LABEL$}  ", label(number)), self.theme.strong()),
                Span::raw(row),
            ])
        };
        rows.into_iter().enumerate().map(row).collect()
    }

    /// The name, what the agent is, its task and what it does.
    fn about(&self) -> Vec<Line<'static>> {
        let (peer, theme) = (self.peer, self.theme);
        let age = match ago(peer.last_sign, self.state.now).as_str() {
            "now" => String::new(),
            age => format!(" for {age}"),
        };
        let mut lines = vec![Line::from(vec![
            Span::styled(dot(peer.presence), theme.presence(peer.presence)),
            Span::raw(" "),
            Span::styled(escape_invisible(&peer.name).into_owned(), theme.strong()),
            Span::raw("  "),
            Span::styled(format!("{}{age}", peer.presence.name()), theme.presence(peer.presence)),
        ])];
        let place = self.state.places.place(&peer.name).map_or("", |place| &place.text);
        let machine = peer.machine.as_deref().map_or(String::new(), |machine| format!("on {machine}"));
        let facts =
            [machine.as_str(), &peer.harness, &peer.model, peer.branch.as_deref().unwrap_or(""), place];
        let facts: Vec<&str> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
        if !facts.is_empty() {
            let text = cut(&escape_invisible(&facts.join(" · ")), self.width);
            lines.push(Line::styled(text, theme.faint()));
        }
        lines.push(Line::default());
        if let Some((task, reason)) = &peer.task {
            let about = reason.as_ref().map_or_else(|| task.clone(), |reason| format!("{task}: {reason}"));
            lines.extend(self.labelled("task", &about));
        }
        lines.extend(peer.spec.iter().flat_map(|spec| self.labelled("spec", spec)));
        lines.extend(peer.status.iter().flat_map(|status| self.labelled("status", status)));
        lines
    }

    /// Its messages that I have not read or not acknowledged.
    fn mail(&self) -> Vec<Line<'static>> {
        // Beside the conversation, they are on the screen.
        if self.state.tab != Tab::Agents {
            return Vec::new();
        }
        let talk = self.state.conversations.iter().find(|talk| talk.is_with(&self.peer.name));
        let Some(talk) = talk else { return Vec::new() };
        let mut told = Vec::new();
        match talk.unread() {
            0 => {}
            1 => told.push("1 message to you".to_string()),
            count => told.push(format!("{count} messages to you")),
        }
        let owed = talk.owed_acks().len();
        if owed > 0 {
            told.push(format!("{owed} to acknowledge (Space, a)"));
        }
        if told.is_empty() { Vec::new() } else { self.labelled("unread", &told.join(" · ")) }
    }

    /// What it holds, and what it waits for.
    fn paths(&self) -> Vec<Line<'static>> {
        let world = &self.state.world;
        let held: Vec<_> = world.held_by(&self.peer.name).map(|hold| self.held(hold)).collect();
        let awaited = world.awaited_by(&self.peer.name);
        let awaited: Vec<_> =
            awaited.map(|hold| format!("{} ({} holds it)", hold.pattern, hold.holder)).collect();
        [self.list("holds", held), self.list("waits for", awaited)].concat()
    }

    fn held(&self, hold: &ReservationItem) -> String {
        let mut text = format!("{} · {}", hold.pattern, ago(hold.since, self.state.now));
        if let Some(reason) = &hold.reason {
            text.push_str(&format!(" · {reason}"));
        }
        if !hold.refused.is_empty() {
            text.push_str(&format!(" · refused: {}", hold.refused.join(", ")));
        }
        text
    }

    /// One row for each, as far as there are not too many.
    fn list(&self, label: &str, texts: Vec<String>) -> Vec<Line<'static>> {
        let room = self.width.saturating_sub(LABEL + 2);
        let more = texts.len().saturating_sub(MOST_PATHS);
        let rest = (more > 0).then(|| format!("… and {more} more"));
        let shown = texts.into_iter().take(MOST_PATHS).chain(rest).enumerate();
        let label = |number: usize| if number == 0 { label } else { "" };
        let row = |(number, text): (usize, String)| {
            Line::from(vec![
                Span::styled(format!("{:<LABEL$}  ", label(number)), self.theme.strong()),
                Span::raw(cut(&escape_invisible(&text), room)),
            ])
        };
        shown.map(row).collect()
    }

    /// What it is working on: its topics, and the files that it changed and read last.
    fn heading(&self) -> Vec<Line<'static>> {
        let headings = self.state.headings.as_ref().filter(|headings| headings.name == self.peer.name);
        // Beside a conversation nobody reads it again, so it would grow old.
        let headings = headings.filter(|_| self.state.tab == Tab::Agents);
        headings
            .into_iter()
            .flat_map(|headings| &headings.rows)
            .flat_map(|(label, words)| self.labelled(label, &words.join(", ")))
            .collect()
    }

    /// What it did last, the latest first.
    fn lately(&self) -> Vec<Line<'static>> {
        let own = self.state.events.iter().rev().filter(|event| event.who == self.peer.name);
        let texts = own.take(MOST_EVENTS).map(|event| {
            let times = if event.times > 1 { format!(" ×{}", event.times) } else { String::new() };
            format!("{:>6}  {}{times}", ago(event.at, self.state.now), event.what)
        });
        self.list("lately", texts.collect())
    }

    /// What it does in tmux, and the end of its screen in `room` rows.
    fn screen(&self, room: usize) -> Vec<Line<'static>> {
        let sight = self.state.places.news.sight.as_ref().filter(|sight| sight.name == self.peer.name);
        let Some(sight) = sight.filter(|_| self.state.tab == Tab::Agents) else { return Vec::new() };
        let mut lines: Vec<_> =
            sight_rows(sight).into_iter().flat_map(|(label, text)| self.labelled(label, &text)).collect();
        // A blank row and a heading, then what fits.
        let rows = room.saturating_sub(lines.len() + 2).min(sight.screen.len());
        if rows > 0 {
            lines.extend([Line::default(), Line::styled("its screen; others wrote it:", self.theme.faint())]);
            let shown = &sight.screen[sight.screen.len() - rows..];
            let row = |line: &String| Line::raw(cut(&format!("│ {}", escape_invisible(line)), self.width));
            lines.extend(shown.iter().map(row));
        }
        lines
    }
}
