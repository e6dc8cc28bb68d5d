//! The rows of the lists. Filters match the text that is shown.

use std::cmp::Reverse;

use jiff::Timestamp;

use crate::domain::awareness::PredictionEnd;
use crate::domain::{Presence, escape_invisible};

use super::conversation::Conversation;
use super::message_view::ago;
use super::model::{
    ConflictItem, FeedLine, HeadsUpItem, OverlapItem, PeerItem, ReservationItem, RunItem, SpecView, TaskItem,
    TaskStateView,
};
use super::state::{ChatState, Tab};

/// A row of the list of agents.
#[derive(Clone, Debug)]
pub(super) enum AgentRow<'a> {
    /// The spec of the agents that follow.
    Group(String),
    Agent(&'a PeerItem),
}

/// A row of the list of tasks.
#[derive(Clone, Debug)]
pub(super) enum TaskRow<'a> {
    Board(&'a SpecView),
    Task(&'a TaskItem),
    Empty,
}

/// A row of the overlaps.
#[derive(Clone, Debug)]
pub(super) enum OverlapRow<'a> {
    Heading(&'static str),
    Conflict(&'a ConflictItem),
    Pair(&'a OverlapItem),
    /// Why the pair above may meet.
    Why(&'a OverlapItem),
    Told(&'a HeadsUpItem),
    /// What became of the heads-up above, where it has no room beside it.
    Outcome(&'a HeadsUpItem),
    /// How to end the heads-up above.
    Dismissal(&'a HeadsUpItem),
    Empty,
}

fn fits(filter: &str, words: &[&str]) -> bool {
    filter.is_empty() || {
        let wanted = filter.to_lowercase();
        words.iter().any(|word| word.to_lowercase().contains(&wanted))
    }
}

/// Agents grouped by spec; agents without one come last.
pub(super) fn agents(state: &ChatState) -> Vec<AgentRow<'_>> {
    let filter = &state.filter.text;
    let matches = |peer: &&PeerItem| {
        let task = peer.task.as_ref().map_or("", |(task, _)| task);
        let (spec, status) = (peer.spec.as_deref().unwrap_or(""), peer.status.as_deref().unwrap_or(""));
        let place = state.places.place(&peer.name).map_or("", |place| &place.text);
        let machine = peer.machine.as_deref().unwrap_or("");
        let presence = peer.presence.name();
        let words = [&peer.name, machine, task, spec, status, presence, &peer.harness, &peer.model, place];
        fits(filter, &words.map(|word| word as &str))
    };
    let mut peers: Vec<&PeerItem> = state.world.peers.iter().filter(matches).collect();
    let group = |peer: &PeerItem| match (state.world.is_in_trouble(peer), peer.presence, &peer.spec) {
        (true, Presence::Stuck, _) => (0, None),
        (true, ..) => (1, None),
        (false, _, Some(spec)) => (2, Some(spec.clone())),
        (false, _, None) => (3, None),
    };
    peers.sort_by_cached_key(|peer| (group(peer), peer.name.clone()));
    let mut rows = Vec::new();
    let mut last = None;
    for peer in peers {
        let title = match group(peer) {
            (0 | 1, _) => "Stuck or waiting:".to_string(),
            (_, Some(spec)) => format!("{}:", escape_invisible(&spec)),
            (_, None) => "No spec:".to_string(),
        };
        if last.as_ref() != Some(&title) {
            rows.push(AgentRow::Group(title.clone()));
            last = Some(title);
        }
        rows.push(AgentRow::Agent(peer));
    }
    rows
}

/// The conversations with agents: those with unread messages first, then by their last message.
pub(super) fn all_chats(state: &ChatState) -> Vec<&Conversation> {
    let mut chats: Vec<&Conversation> = state.conversations.iter().collect();
    let last = |chat: &Conversation| chat.messages.last().map(|message| message.key.clone());
    chats.sort_by_cached_key(|chat| Reverse((chat.unread() > 0, last(chat))));
    chats
}

pub(super) fn chats(state: &ChatState) -> Vec<&Conversation> {
    let filter = &state.filter.text;
    let matches = |chat: &&Conversation| {
        let last = chat.messages.last().map_or("", |message| &message.text);
        fits(filter, &[&chat.with, last])
    };
    all_chats(state).into_iter().filter(matches).collect()
}

pub(super) fn tasks(state: &ChatState) -> Vec<TaskRow<'_>> {
    let filter = &state.filter.text;
    let matches = |task: &&TaskItem| {
        let by = match &task.state {
            TaskStateView::Claimed { by, .. } | TaskStateView::Done { by: Some(by) } => by,
            _ => "",
        };
        fits(filter, &[&task.id, &task.title, by, progress_name(&task.state)])
    };
    let mut rows = Vec::new();
    for board in &state.world.boards {
        if !rows.is_empty() {
            rows.push(TaskRow::Empty);
        }
        rows.push(TaskRow::Board(board));
        rows.extend(board.tasks.iter().filter(matches).map(TaskRow::Task));
    }
    rows
}

pub(super) fn holds(state: &ChatState) -> Vec<&ReservationItem> {
    let filter = &state.filter.text;
    let matches = |hold: &&ReservationItem| {
        let reason = hold.reason.as_deref().unwrap_or("");
        fits(filter, &[&hold.pattern, &hold.holder, reason])
            || hold.refused.iter().any(|name| fits(filter, &[name]))
    };
    state.world.holds.iter().filter(matches).collect()
}

pub(super) fn events(state: &ChatState) -> Vec<&FeedLine> {
    let filter = &state.filter.text;
    state.events.iter().filter(|event| fits(filter, &[&event.who, &event.what])).collect()
}

pub(super) fn runs(state: &ChatState) -> Vec<&RunItem> {
    let filter = &state.filter.text;
    let matches = |run: &&RunItem| {
        let doing = run.doing.as_deref().unwrap_or("");
        fits(filter, &[&run.id, &run.state, &run.profile, &run.title, doing])
    };
    state.runs.list.iter().flatten().filter(matches).collect()
}

/// Whether what became of a heads-up has no room beside it.
pub(super) fn is_narrow(state: &ChatState) -> bool {
    state.size.width < 60
}

/// What can't be merged, who may meet whom, and earlier heads-ups.
pub(super) fn overlaps(state: &ChatState) -> Vec<OverlapRow<'_>> {
    let Some(seen) = &state.overlaps else { return Vec::new() };
    let filter = &state.filter.text;
    let conflicts = seen.conflicts.iter().filter(|one| {
        let names = one.sides.iter().any(|(name, _)| fits(filter, &[name]));
        names || fits(filter, &[&one.file])
    });
    let conflicts: Vec<_> = conflicts.map(OverlapRow::Conflict).collect();
    let pairs = seen.pairs.iter().filter(|one| {
        let (file, why) = (one.file.as_deref().unwrap_or(""), one.why.as_deref().unwrap_or(""));
        let signals = one.signals.iter().any(|signal| fits(filter, &[signal]));
        signals || fits(filter, &[&one.who, &one.with, file, why])
    });
    let has_reason = |one: &OverlapItem| one.why.is_some() || !one.signals.is_empty();
    let pairs: Vec<_> = pairs
        .flat_map(|one| [Some(OverlapRow::Pair(one)), has_reason(one).then_some(OverlapRow::Why(one))])
        .flatten()
        .collect();
    let told = seen.told.iter().filter(|one| {
        let end = one.end.map_or("open", PredictionEnd::describe);
        fits(filter, &[&one.who, &one.with, &one.file, end, &one.id])
    });
    let told: Vec<_> = told
        .flat_map(|one| {
            let outcome = is_narrow(state).then_some(OverlapRow::Outcome(one));
            let dismissal = one.end.is_none().then_some(OverlapRow::Dismissal(one));
            [Some(OverlapRow::Told(one)), outcome, dismissal]
        })
        .flatten()
        .collect();
    let sections =
        [("Can't be merged, in different worktrees:", conflicts), ("May collide:", pairs), ("Told:", told)];
    let mut rows = Vec::new();
    for (heading, section) in sections.into_iter().filter(|(_, section)| !section.is_empty()) {
        if !rows.is_empty() {
            rows.push(OverlapRow::Empty);
        }
        rows.push(OverlapRow::Heading(heading));
        rows.extend(section);
    }
    rows
}

/// The number of rows in the list of the open tab.
pub(super) fn count(state: &ChatState) -> usize {
    match state.tab {
        Tab::Agents => agents(state).len(),
        Tab::Chats => chats(state).len(),
        Tab::Tasks => tasks(state).len(),
        // One more for the heading.
        Tab::Reservations => holds(state).len() + 1,
        Tab::Feed => events(state).len(),
        Tab::Knowledge => state.knowledge.list.as_ref().map_or(0, |list| list.items.len()),
        Tab::Overlaps => overlaps(state).len(),
        Tab::Runs => runs(state).len(),
        Tab::Conversation(_) | Tab::All => 0,
    }
}

/// The tasks that can be selected, with their specs, in the order of their rows.
pub(super) fn task_items(state: &ChatState) -> Vec<(&SpecView, &TaskItem)> {
    let mut board = None;
    let mut items = Vec::new();
    for row in tasks(state) {
        match (row, board) {
            (TaskRow::Board(next), _) => board = Some(next),
            (TaskRow::Task(task), Some(board)) => items.push((board, task)),
            (TaskRow::Task(_) | TaskRow::Empty, _) => {}
        }
    }
    items
}

/// The number of items that can be selected in the open tab; where none can be, the number of rows.
pub(super) fn item_count(state: &ChatState) -> usize {
    match state.tab {
        Tab::Agents => choosable(state).len(),
        Tab::Tasks => task_items(state).len(),
        Tab::Reservations => holds(state).len(),
        _ => count(state),
    }
}

/// What identifies each item that can be selected, in tabs whose order changes by itself.
pub(super) fn item_keys(state: &ChatState) -> Vec<String> {
    match state.tab {
        Tab::Agents => choosable(state).into_iter().map(|peer| peer.name.clone()).collect(),
        Tab::Chats => chats(state).into_iter().map(|chat| chat.with.clone()).collect(),
        Tab::Tasks => {
            let key = |(board, task): (&SpecView, &TaskItem)| format!("{}\n{}", board.path, task.id);
            task_items(state).into_iter().map(key).collect()
        }
        Tab::Reservations => {
            holds(state).into_iter().map(|hold| format!("{}\n{}", hold.holder, hold.target)).collect()
        }
        _ => Vec::new(),
    }
}

/// The row of the selected item in a list with rows that can't be selected.
pub(super) fn chosen_row(is_item: impl IntoIterator<Item = bool>, at: usize) -> Option<usize> {
    is_item.into_iter().enumerate().filter(|(_, is_item)| *is_item).nth(at).map(|(number, _)| number)
}

/// The first visible row, chosen so that the selected one and the row after it are visible.
pub(super) fn first_row(rows: usize, chosen: Option<usize>, height: usize) -> usize {
    let last = rows.saturating_sub(height);
    (chosen.unwrap_or(0) + 2).saturating_sub(height).min(last)
}

/// The agents that can be selected, in the order of their rows.
pub(super) fn choosable(state: &ChatState) -> Vec<&PeerItem> {
    let agent = |row| match row {
        AgentRow::Agent(peer) => Some(peer),
        AgentRow::Group(_) => None,
    };
    agents(state).into_iter().filter_map(agent).collect()
}

/// The agent that is selected in the list of agents, if that is open.
pub(super) fn chosen_agent(state: &ChatState) -> Option<&str> {
    if state.tab != Tab::Agents {
        return None;
    }
    choosable(state).get(state.list().at).map(|peer| peer.name.as_str())
}

/// The agent that is shown in full: the one that is selected or, beside a conversation, the one it is with.
pub(super) fn shown_agent(state: &ChatState) -> Option<&str> {
    match &state.tab {
        Tab::Conversation(name) => state.world.peer(name).map(|peer| peer.name.as_str()),
        _ => chosen_agent(state),
    }
}

pub(super) fn progress_name(state: &TaskStateView) -> &'static str {
    match state {
        TaskStateView::Open => "ready",
        TaskStateView::Blocked(_) => "blocked",
        TaskStateView::Claimed { .. } => "claimed",
        TaskStateView::Done { .. } => "done",
    }
}

/// The text shown next to a task.
pub(super) fn task_note(task: &TaskItem, now: Timestamp) -> String {
    match &task.state {
        TaskStateView::Open => String::new(),
        TaskStateView::Blocked(by) => format!("waits for {}", by.join(", ")),
        TaskStateView::Claimed { by, since } => format!("{by} · {}", ago(*since, now)),
        TaskStateView::Done { by } => by.clone().unwrap_or_default(),
    }
}
