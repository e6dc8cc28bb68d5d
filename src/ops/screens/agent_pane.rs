//! The tmux pane of an agent, as far as its process tells.

use std::path::PathBuf;

use crate::domain::screens::{CursorPlace, ScreenText};
use crate::domain::{Agent, Liveness};
use crate::sys::environment::Home;
use crate::sys::tmux::pane::PaneCapture;
use crate::sys::tmux::{PaneId, TmuxPane, TmuxSocket};
use crate::sys::{process, program};

/// Variables that say where an agent's terminal is.
const VARIABLES: [&str; 2] = ["TMUX", "TMUX_PANE"];

/// Where the locks of panes are.
pub(in crate::ops) fn pane_locks(home: &Home) -> PathBuf {
    home.state.join("ravenry").join("panes")
}

/// What a pane showed, as it is read.
pub(in crate::ops) fn screen_of(capture: &PaneCapture) -> ScreenText {
    let (column, row) = (capture.cursor.0 as usize, capture.cursor.1 as usize);
    ScreenText::of_capture(&capture.text).with_cursor(CursorPlace { column, row }).with_title(&capture.title)
}

/// Whether the agent's process is known to run here. In another machine or container its id is that of another process,
/// and what is found out about that one says nothing about the agent.
pub(in crate::ops) fn is_here(agent: &Agent) -> bool {
    process::liveness(&agent.process) == Liveness::Alive
}

/// The pane in which the agent's process was started. The pane may show another program by now.
pub(in crate::ops) fn pane_of(agent: &Agent) -> Option<TmuxPane> {
    if !is_here(agent) {
        return None;
    }
    let (mut socket, mut id) = (None, None);
    for (name, value) in program::variables_of(agent.process.pid(), &VARIABLES) {
        match name.as_str() {
            "TMUX" => socket = TmuxSocket::of_variable(&value),
            _ => id = PaneId::new(&value).ok(),
        }
    }
    Some(TmuxPane::new(socket?, id?))
}
