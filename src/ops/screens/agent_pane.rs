//! The tmux pane of an agent, as far as its process tells.

use std::path::PathBuf;

use crate::domain::runs::Run;
use crate::domain::screens::{CursorPlace, ScreenText};
use crate::domain::{Agent, Liveness, Pid};
use crate::harness::ancestry;
use crate::ops::error::CommandError;
use crate::ops::runs::own_run::run_of_agent;
use crate::store::{Mesh, machine_state};
use crate::sys::environment::Home;
use crate::sys::tmux::pane::PaneCapture;
use crate::sys::tmux::{PaneId, PaneInfo, TmuxError, TmuxPane, TmuxSocket};
use crate::sys::{process, program};

/// Variables that say where an agent's terminal is.
const VARIABLES: [&str; 2] = ["TMUX", "TMUX_PANE"];

/// Where the locks of panes are.
pub(in crate::ops) fn pane_locks(home: &Home) -> PathBuf {
    machine_state(home).join("panes")
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

/// Whether a pane shows the agent: it runs below the pane's first process, in the foreground, and no other client has
/// started it there. Some programs keep their sessions in a process without a terminal. That is shown if it is the worker of
/// the run to which the pane belongs, and the same program is in the foreground. Whatever else has no terminal was started
/// there by others, and is not.
pub(in crate::ops) fn is_shown_in(mesh: &Mesh, pane: Pid, agent: &Agent) -> Result<bool, CommandError> {
    let pid = agent.process.pid();
    let mut above = ancestry::above(pid);
    let Some(first) = above.iter().position(|process| *process == pane) else { return Ok(false) };
    above.truncate(first + 1);
    if process::is_in_foreground(pid) || process::foreground_of(pid).is_some() {
        return Ok(process::is_in_foreground(pid) && !is_nested(agent, &above[1..]));
    }
    let Some(run) = run_of_agent(mesh, agent)? else { return Ok(false) };
    let worker = mesh.runs().worker(&run.id)?.or(run.agent);
    let is_its_pane = run.pane.is_some_and(|its| its.keeper.pid() == pane);
    let front = process::foreground_of(pane).and_then(ancestry::harness_of);
    let is_same_program = front.is_some() && front == agent.harness;
    Ok(is_its_pane && worker.as_ref() == Some(&agent.name) && is_same_program)
}

/// Whether one of these processes above an agent is another client, which has started it in its own terminal: in a shell, or
/// by msg. One client may be several processes of the same program, each started by the next.
fn is_nested(agent: &Agent, above: &[Pid]) -> bool {
    let harnesses = above.iter().map(|pid| ancestry::harness_of(*pid));
    let mut others = harnesses.skip_while(|harness| harness.is_some() && *harness == agent.harness);
    others.any(|harness| harness.is_some())
}

/// The panes in which an agent may be, the likeliest first: the one in which its process was started, and the one that it
/// recorded when it joined. Other programs may be in them by now.
pub(in crate::ops) fn panes_of(agent: &Agent) -> Vec<TmuxPane> {
    if !is_here(agent) {
        return Vec::new();
    }
    let started = started_pane(agent);
    let recorded = recorded_pane(agent).filter(|pane| Some(pane) != started.as_ref());
    started.into_iter().chain(recorded).collect()
}

/// The first of them that is the agent's, with what tmux says about it. A server that does not answer is an error: the pane
/// may be there.
pub(in crate::ops) fn find_pane(
    agent: &Agent,
    ask: impl Fn(&TmuxPane) -> Result<PaneInfo, TmuxError>,
) -> Result<Option<(TmuxPane, PaneInfo)>, TmuxError> {
    for pane in panes_of(agent) {
        match ask(&pane) {
            Ok(info) if is_pane_of(&info, agent) => return Ok(Some((pane, info))),
            Ok(_) | Err(TmuxError::NoPane(_) | TmuxError::NoServer(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// The pane in which the agent's process was started.
fn started_pane(agent: &Agent) -> Option<TmuxPane> {
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
