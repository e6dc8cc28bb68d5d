//! The tmux pane of an agent, as far as its process tells.

use std::path::PathBuf;

use crate::domain::runs::Run;
use crate::domain::screens::{CursorPlace, ScreenText};
use crate::domain::{Agent, Liveness, Pid};
use crate::harness::ancestry;
use crate::sys::environment::Home;
use crate::sys::tmux::pane::PaneCapture;
use crate::sys::tmux::{PaneId, PaneInfo, TmuxPane, TmuxSocket};
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

/// Whether a pane shows the agent: it runs below the pane's first process, in the foreground. Some programs keep their
/// sessions in a process without a terminal: then the same program is in the foreground.
pub(in crate::ops) fn is_shown_below(pane: Pid, agent: &Agent) -> bool {
    let pid = agent.process.pid();
    if !ancestry::above(pid).contains(&pane) {
        return false;
    }
    let is_same = |front: &Pid| {
        let host = ancestry::named_host(*front).filter(|_| ancestry::above(*front).contains(&pane));
        host.is_some_and(|host| Some(host.harness) == agent.harness)
    };
    let has_terminal = process::foreground_of(pid).is_some();
    process::is_in_foreground(pid)
        || !has_terminal && process::foreground_of(pane).as_ref().is_some_and(is_same)
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

/// The pane that an agent recorded when it joined: `%3@/tmp/tmux-1000/default`.
pub(in crate::ops) fn recorded_pane(agent: &Agent) -> Option<TmuxPane> {
    let (id, socket) = agent.tmux.as_deref()?.split_once('@')?;
    Some(TmuxPane::new(TmuxSocket::of_variable(socket)?, PaneId::new(id).ok()?))
}

/// Whether the agent's process was started in that pane. Another server may have given its id to another pane.
pub(in crate::ops) fn is_pane_of(info: &PaneInfo, agent: &Agent) -> bool {
    is_here(agent) && ancestry::above(agent.process.pid()).contains(&info.pid)
}

/// The pane of a worker that has not ended, as its supervisor recorded it. tmux may have closed it by now.
pub(in crate::ops) fn pane_of_run(run: &Run) -> Option<TmuxPane> {
    let its = run.pane.as_ref().filter(|_| !run.state.is_final())?;
    Some(TmuxPane::new(TmuxSocket::Path(its.socket.clone().into()), PaneId::new(&its.id).ok()?))
}

/// Whether that is still the pane of the run's worker, and not another one with its id.
pub(in crate::ops) fn is_pane_of_run(info: &PaneInfo, run: &Run) -> bool {
    run.pane.as_ref().is_some_and(|its| {
        process::liveness(&its.keeper) != Liveness::Gone && info.pid == its.keeper.pid() && !info.is_dead
    })
}
