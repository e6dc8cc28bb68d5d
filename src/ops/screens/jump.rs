//! Shows an agent's pane to a person: in their own terminal if that is in the same tmux server.

use crate::domain::AgentName;
use crate::ops::agents::names;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runs::list::find as find_run;
use crate::sys::clock;
use crate::sys::tmux::{PaneInfo, TmuxError, TmuxPane};

use super::agent_pane::{is_here, is_pane_of, is_pane_of_run, pane_of, pane_of_run, recorded_pane};
use super::project_session::{attach_command, tmux_error};
use super::sight::NoScreen;

/// Whose pane somebody wants to see.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum JumpTarget {
    Agent(AgentName),
    /// The worker of the run with this id.
    Worker(String),
}

/// What became of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum JumpOutcome {
    /// The caller's terminal shows the pane at this place.
    Shown { place: String },
    /// The caller's terminal does not show that tmux server. This command shows the pane.
    ShowWith { place: String, command: Vec<String> },
}

/// Shows the pane. The caller's terminal is the one that shows the pane in which this process runs.
pub fn jump(op: &Op, target: &JumpTarget) -> Result<JumpOutcome, CommandError> {
    let (name, pane, info) = match target {
        JumpTarget::Agent(name) => pane_of_agent(op, name)?,
        JumpTarget::Worker(id) => pane_of_worker(op, id)?,
    };
    let own = TmuxPane::of_environment().filter(|own| own.socket().path() == pane.socket().path());
    let is_shown = match &own {
        Some(own) => show(own, &pane, &info).map_err(|error| unshown(&name, error))?,
        None => false,
    };
    let place = info.address();
    Ok(match is_shown {
        true => JumpOutcome::Shown { place },
        false => JumpOutcome::ShowWith { command: attach_command(&pane.socket().path(), &place), place },
    })
}

/// Shows the pane to whoever looks at the caller's own. `false`: nobody looks, and the pane is in another session.
fn show(own: &TmuxPane, pane: &TmuxPane, info: &PaneInfo) -> Result<bool, TmuxError> {
    match own.viewer()? {
        Some(client) => pane.show_to(&client)?,
        // No terminal shows the session. Whoever attaches to it next sees the pane.
        None if own.info_briefly()?.session == info.session => pane.select()?,
        None => return Ok(false),
    }
    Ok(true)
}

fn pane_of_agent(op: &Op, name: &AgentName) -> Result<(String, TmuxPane, PaneInfo), CommandError> {
    let unknown = || CommandError::new(CommandErrorKind::UnknownAgent, format!("no agent is called {name}"));
    let mesh = op.mesh()?.ok_or_else(unknown)?;
    let census = mesh.registry().census()?;
    let Some(record) = census.find(name, clock::now()) else {
        return Err(match census.unreadable(name) {
            Some(file) => names::unreadable(name, file),
            None => unknown(),
        });
    };
    let (agent, name) = (&record.agent, record.agent.name.to_string());
    if !record.is_live() {
        return Err(no_pane(&name, &NoScreen::Ended));
    }
    if !is_here(agent) {
        return Err(no_pane(&name, &NoScreen::Elsewhere));
    }
    let pane = recorded_pane(agent).or_else(|| pane_of(agent));
    let pane = pane.ok_or_else(|| no_pane(&name, &NoScreen::NotInTmux))?;
    let info = pane.info_briefly().map_err(|error| unshown(&name, error))?;
    match is_pane_of(&info, agent) {
        true => Ok((name, pane, info)),
        false => Err(no_pane(&name, &NoScreen::PaneGone)),
    }
}

fn pane_of_worker(op: &Op, id: &str) -> Result<(String, TmuxPane, PaneInfo), CommandError> {
    let run = find_run(op, id)?;
    let name = run.agent.as_ref().map_or_else(|| format!("run {}", run.id), ToString::to_string);
    if run.state.is_final() {
        let text = format!("run {} has ended: {}", run.id, run.outcome());
        return Err(CommandError::new(CommandErrorKind::NotRunning, text));
    }
    let pane = pane_of_run(&run).ok_or_else(|| no_pane(&name, &NoScreen::NotInTmux))?;
    let info = pane.info_briefly().map_err(|error| unshown(&name, error))?;
    match is_pane_of_run(&info, &run) {
        true => Ok((name, pane, info)),
        false => Err(no_pane(&name, &NoScreen::PaneGone)),
    }
}

fn no_pane(name: &str, why: &NoScreen) -> CommandError {
    CommandError::new(CommandErrorKind::NoScreen, format!("there is no pane of {name} to show: {why}"))
}

/// Why tmux did not show it. The pane may have been closed meanwhile.
fn unshown(name: &str, error: TmuxError) -> CommandError {
    match error {
        TmuxError::NoPane(_) | TmuxError::NoServer(_) => no_pane(name, &NoScreen::PaneGone),
        error => tmux_error(error),
    }
}
