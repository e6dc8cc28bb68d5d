//! The tmux pane of an agent, as far as its process tells.

use std::path::PathBuf;

use crate::domain::Agent;
use crate::domain::screens::{CursorPlace, ScreenText};
use crate::sys::environment::Home;
use crate::sys::program;
use crate::sys::tmux::pane::PaneCapture;
use crate::sys::tmux::{PaneId, TmuxPane, TmuxSocket};

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

/// The pane in which the agent's process was started. The pane may show another program by now.
pub(in crate::ops) fn pane_of(agent: &Agent) -> Option<TmuxPane> {
    let (mut socket, mut id) = (None, None);
    for (name, value) in program::variables_of(agent.process.pid(), &VARIABLES) {
        match name.as_str() {
            "TMUX" => socket = TmuxSocket::of_variable(&value),
            _ => id = PaneId::new(&value).ok(),
        }
    }
    Some(TmuxPane::new(socket?, id?))
}
