//! What the chat knows of where agents sit: the place of each, what the selected one does in its tmux pane, and which pane
//! the next key may show.

use std::collections::BTreeMap;
use std::time::Instant;

use super::model::{SeatView, SightView};

/// Where agents sit, and the screen of the selected one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SeatsNews {
    /// By name.
    pub(super) seats: BTreeMap<String, SeatView>,
    /// Of the selected agent, if it is in tmux.
    pub(super) sight: Option<SightView>,
}

/// What is shown of it. Only that is read.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) enum SeatsFocus {
    #[default]
    Nothing,
    /// The list of these agents.
    Agents {
        names: Vec<String>,
        /// Whose screen is shown.
        selected: Option<String>,
    },
}

/// Work for the thread that asks tmux.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum SeatsCall {
    /// From now on this is shown.
    Show(SeatsFocus),
    /// The user wants to see the pane of this agent.
    GoToAgent(String),
    /// The same for the worker of the run with this id.
    GoToWorker(String),
}

/// A call, and when the user asked for it: nobody wants to be taken elsewhere long after a key.
#[derive(Clone, Debug)]
pub(super) struct TimedSeatsCall {
    pub(super) call: SeatsCall,
    pub(super) asked_at: Instant,
}

impl TimedSeatsCall {
    pub(super) fn now(call: SeatsCall) -> Self {
        Self { call, asked_at: Instant::now() }
    }
}

/// The command that shows a pane, and why this terminal can't.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct PaneCommand {
    pub(super) words: Vec<String>,
    pub(super) why: String,
}

#[derive(Debug, Default)]
pub(super) struct SeatsState {
    pub(super) news: SeatsNews,
    /// Whether the screen says that Enter shows a pane.
    pub(super) is_offered: bool,
    /// What is shown if the user asked for a pane that this terminal can't show.
    pub(super) command: Option<PaneCommand>,
    /// What was last said to be shown.
    pub(super) followed: SeatsFocus,
}

impl SeatsState {
    /// Where this agent sits.
    pub(super) fn seat(&self, name: &str) -> Option<&SeatView> {
        self.news.seats.get(name)
    }

    /// The place of the tmux pane of this agent.
    pub(super) fn pane(&self, name: &str) -> Option<&str> {
        self.seat(name).filter(|seat| seat.is_pane).map(|seat| seat.text.as_str())
    }
}
