//! What the chat knows of where agents sit: the place of each, what the selected one does in its tmux pane, and which pane
//! the next key may show.

use std::collections::BTreeMap;

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

#[derive(Debug, Default)]
pub(super) struct SeatsState {
    pub(super) news: SeatsNews,
    /// Whether this key was told to show a pane if it is Enter.
    pub(super) is_offered: bool,
    /// The command that shows the pane that the user asked for, if this terminal can't show it.
    pub(super) command: Option<String>,
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
