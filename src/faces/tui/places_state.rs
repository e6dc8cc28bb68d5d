//! What the chat knows of the places of agents: what the selected one does in its tmux pane, and which pane
//! the next key may show.

use std::collections::BTreeMap;
use std::time::Instant;

use super::model::{PlaceView, SightView};

/// The places of agents, and the screen of the selected one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PlacesNews {
    /// By name.
    pub(super) places: BTreeMap<String, PlaceView>,
    /// Of the selected agent, if it is in tmux.
    pub(super) sight: Option<SightView>,
}

/// What is shown of it. Only that is read.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) enum PlacesFocus {
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
pub(super) enum PlacesCall {
    /// From now on this is shown.
    Show(PlacesFocus),
    /// The user wants to see the pane of this agent.
    GoToAgent(String),
    /// The same for the worker of the run with this id.
    GoToWorker(String),
}

/// A call, and when the user asked for it: nobody wants to be taken elsewhere long after a key.
#[derive(Clone, Debug)]
pub(super) struct TimedPlacesCall {
    pub(super) call: PlacesCall,
    pub(super) asked_at: Instant,
}

impl TimedPlacesCall {
    pub(super) fn now(call: PlacesCall) -> Self {
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
pub(super) struct PlacesState {
    pub(super) news: PlacesNews,
    /// Whether the screen says that Enter shows a pane.
    pub(super) is_offered: bool,
    /// What is shown if the user asked for a pane that this terminal can't show.
    pub(super) command: Option<PaneCommand>,
    /// What was last said to be shown.
    pub(super) followed: PlacesFocus,
}

impl PlacesState {
    /// The place of this agent.
    pub(super) fn place(&self, name: &str) -> Option<&PlaceView> {
        self.news.places.get(name)
    }

    /// The place of the tmux pane of this agent.
    pub(super) fn pane(&self, name: &str) -> Option<&str> {
        self.place(name).filter(|place| place.is_pane).map(|place| place.text.as_str())
    }
}
