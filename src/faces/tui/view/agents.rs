//! Draws the list of agents, grouped by spec.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::{Presence, escape_invisible};
use crate::faces::tui::list_rows::{self, AgentRow, agents};
use crate::faces::tui::list_state::ListState;
use crate::faces::tui::message_view::ago;
use crate::faces::tui::model::PeerItem;
use crate::faces::tui::places_state::PlacesState;
use crate::faces::tui::state::ChatState;
use crate::faces::tui::theme::{Theme, dot};
use crate::faces::tui::wrap::fit;

/// Minimum width for the columns branch, model, harness and place.
const WIDE: usize = 72;
/// Minimum width for the branch beside a column with places.
const WIDER: usize = 100;

struct Columns {
    name: usize,
    /// The machine, if somebody is on another one.
    machine: usize,
    presence: usize,
    /// Task, reason or status.
    work: usize,
    branch: usize,
    model: usize,
    harness: usize,
    /// Where its terminal is.
    place: usize,
}

impl Columns {
    fn of(peers: &[&PeerItem], places: &PlacesState, width: usize) -> Self {
        let longest = |text: fn(&PeerItem) -> usize, most: usize| {
            peers.iter().map(|peer| text(peer)).max().unwrap_or(0).min(most)
        };
        let name = longest(|peer| peer.name.len(), if width < 30 { 10 } else { 20 });
        let is_unreachable = peers.iter().any(|peer| peer.presence == Presence::Unreachable);
        let presence = if is_unreachable { Presence::Unreachable.name().len() } else { PRESENCE };
        let machine = longest(|peer| peer.machine.as_ref().map_or(0, String::len), width / 6);
        let (mut branch, mut model, mut harness, mut place) = (0, 0, 0, 0);
        if width >= WIDE {
            let places = peers.iter().map(|peer| place_of(peer, places).chars().count());
            place = places.max().unwrap_or(0).min(width / 5);
            branch =
                longest(|peer| peer.branch.as_deref().map_or(0, |branch| branch.chars().count()), width / 8);
            model = longest(|peer| peer.model.chars().count(), width / 8);
            harness = longest(|peer| peer.harness.len(), 8);
        }
        if place > 0 && width < WIDER {
            branch = 0;
        }
        let rest: usize = [machine, branch, model, harness, place]
            .iter()
            .filter(|wide| **wide > 0)
            .map(|wide| wide + 2)
            .sum();
        // A margin, the dot, presence and age.
        let taken = 2 + 2 + name + 2 + presence + 2 + rest + AGE;
        Self { name, machine, presence, work: width.saturating_sub(taken), branch, model, harness, place }
    }
}

const PRESENCE: usize = 7;
const AGE: usize = 6;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &ChatState, theme: Theme) {
    let all = agents(state);
    if all.is_empty() {
        let text = match (state.is_loaded, state.filter.text.is_empty()) {
            (false, _) => "…",
            (true, true) => "Nobody else is here. `msg setup` lets your agents join.",
            (true, false) => "No agent matches.",
        };
        return super::put_empty(buffer, area, text, theme);
    }
    let peers: Vec<&PeerItem> = all.iter().filter_map(agent_of).collect();
    let columns = Columns::of(&peers, &state.places, area.width.into());
    let chosen = chosen_row(&all, state.list());
    let first = first_row(&all, state.list(), area.height.into());
    let rows = all.iter().enumerate().skip(first).take(area.height.into()).map(|(number, row)| match row {
        AgentRow::Group(title) => Line::styled(title.clone(), theme.strong()),
        AgentRow::Agent(peer) => {
            let line = line(peer, &columns, state, theme);
            if Some(number) == chosen { super::chosen(line, theme) } else { line }
        }
    });
    super::put_rows(buffer, area, rows);
}

fn agent_of<'a>(row: &AgentRow<'a>) -> Option<&'a PeerItem> {
    match row {
        AgentRow::Agent(peer) => Some(peer),
        AgentRow::Group(_) => None,
    }
}

/// The row of the selected agent.
fn chosen_row(all: &[AgentRow<'_>], list: ListState) -> Option<usize> {
    list_rows::chosen_row(all.iter().map(|row| agent_of(row).is_some()), list.at)
}

/// The first visible row.
pub(in crate::faces::tui) fn first_row(all: &[AgentRow<'_>], list: ListState, height: usize) -> usize {
    list_rows::first_row(all.len(), chosen_row(all, list), height)
}

fn line(peer: &PeerItem, columns: &Columns, state: &ChatState, theme: Theme) -> Line<'static> {
    let faint = |text: &str, width: usize| Span::styled(fit(&escape_invisible(text), width), theme.faint());
    let mut spans = vec![
        Span::raw("  "),
        Span::styled(dot(peer.presence), theme.presence(peer.presence)),
        Span::raw(" "),
        Span::styled(fit(&escape_invisible(&peer.name), columns.name), theme.strong()),
        Span::raw("  "),
    ];
    if columns.machine > 0 {
        let machine = peer.machine.as_deref().unwrap_or("");
        spans.extend([faint(machine, columns.machine), Span::raw("  ")]);
    }
    spans.extend([
        Span::styled(fit(peer.presence.name(), columns.presence), theme.presence(peer.presence)),
        Span::raw("  "),
    ]);
    spans.extend(work(peer, columns.work, theme));
    let branch = peer.branch.as_deref().unwrap_or("");
    let (model, place) = (peer.model.as_str(), place_of(peer, &state.places));
    for (text, width) in [
        (branch, columns.branch),
        (model, columns.model),
        (&peer.harness, columns.harness),
        (place, columns.place),
    ] {
        if width > 0 {
            spans.extend([Span::raw("  "), faint(text, width)]);
        }
    }
    let age = ago(peer.last_sign, state.now);
    spans.push(Span::styled(format!("{age:>AGE$}"), theme.faint()));
    Line::from(spans)
}

fn place_of<'a>(peer: &PeerItem, places: &'a PlacesState) -> &'a str {
    places.place(&peer.name).map_or("", |place| place.text.as_str())
}

/// What the agent is doing: its task and the reason for it, or else its status.
fn work(peer: &PeerItem, width: usize, theme: Theme) -> Vec<Span<'static>> {
    let said = peer.status.as_deref().map(escape_invisible).unwrap_or_default();
    let Some((task, reason)) = &peer.task else { return vec![Span::raw(fit(&said, width))] };
    let about =
        reason.as_deref().map(|reason| escape_invisible(reason).into_owned()).unwrap_or(said.into_owned());
    let task = escape_invisible(task).into_owned();
    let room = width.saturating_sub(task.chars().count() + 1);
    match width.checked_sub(task.chars().count() + 1) {
        Some(_) => vec![Span::styled(format!("{task} "), theme.unread()), Span::raw(fit(&about, room))],
        None => vec![Span::styled(fit(&task, width), theme.unread())],
    }
}
