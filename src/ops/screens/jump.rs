//! Shows an agent's pane to a person: in their own terminal if that is in the same tmux server.

use std::fmt;

use crate::domain::AgentName;
use crate::ops::agents::names;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::elsewhere;
use crate::ops::runs::list::find as find_run;
use crate::sys::clock;
use crate::sys::tmux::pane::TmuxClient;
use crate::sys::tmux::{PaneInfo, TmuxError, TmuxPane};

use super::agent_pane::{find_pane, is_here, is_pane_of_run, pane_of_run, panes_of};
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
    /// It can't be shown in the caller's terminal. This command shows the pane.
    ShowWith { place: String, command: Vec<String>, why: NotShown },
}

/// Why the caller's terminal does not show a pane.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NotShown {
    /// It shows another tmux server, or none.
    AnotherServer,
    /// No terminal shows the caller's pane.
    NobodyLooks,
    /// Others look at another window of that session, and would see this one instead.
    OthersLook,
}

impl fmt::Display for NotShown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AnotherServer => "this terminal does not show that tmux server",
            Self::NobodyLooks => "no terminal shows the pane of this chat",
            Self::OthersLook => {
                "others look at another window of that session, and the command changes the window for them, too"
            }
        })
    }
}

/// Shows the pane. The caller's terminal is the one that shows the pane in which this process runs.
pub fn jump(op: &Op, target: &JumpTarget) -> Result<JumpOutcome, CommandError> {
    let (name, pane, info) = match target {
        JumpTarget::Agent(name) => pane_of_agent(op, name)?,
        JumpTarget::Worker(id) => pane_of_worker(op, id)?,
    };
    let own = TmuxPane::of_environment().filter(|own| own.socket().path() == pane.socket().path());
    let not_shown = match &own {
        Some(own) => show(own, &pane, &info).map_err(|error| unshown(&name, error))?,
        None => Some(NotShown::AnotherServer),
    };
    let place = info.address();
    Ok(match not_shown {
        None => JumpOutcome::Shown { place },
        Some(why) => {
            JumpOutcome::ShowWith { command: attach_command(&pane.socket().path(), &place), place, why }
        }
    })
}

/// Shows the pane to whoever looks at the caller's own, or says why not. A session shows one window to all who are attached
/// to it, so nothing is changed in one in which others look at something else.
fn show(own: &TmuxPane, pane: &TmuxPane, info: &PaneInfo) -> Result<Option<NotShown>, TmuxError> {
    let clients = own.clients()?;
    let is_viewer = |client: &&TmuxClient| client.pane == own.id().as_str();
    // Of several, the one in which something was typed last.
    let viewer = clients.iter().filter(is_viewer).max_by_key(|client| client.activity);
    let looks_elsewhere = |client: &TmuxClient| {
        client.session == info.session && client.pane != pane.id().as_str() && !is_viewer(&client)
    };
    let is_free = !clients.iter().any(looks_elsewhere);
    match viewer {
        Some(_) if !is_free => return Ok(Some(NotShown::OthersLook)),
        Some(client) => pane.show_to(&client.name)?,
        // No terminal shows the session. Whoever attaches to it next sees the pane.
        None if is_free && own.info_briefly()?.session == info.session => pane.select()?,
        None => return Ok(Some(NotShown::NobodyLooks)),
    }
    Ok(None)
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
    elsewhere::refuse(&record.agent, "look")?;
    let (agent, name) = (&record.agent, record.agent.name.to_string());
    if !record.is_live() {
        return Err(no_pane(&name, &NoScreen::Ended));
    }
    if !is_here(agent) {
        return Err(no_pane(&name, &NoScreen::Elsewhere));
    }
    match find_pane(agent, TmuxPane::info_briefly).map_err(tmux_error)? {
        Some((pane, info)) => Ok((name, pane, info)),
        None if panes_of(agent).is_empty() => Err(no_pane(&name, &NoScreen::NotInTmux)),
        None => Err(no_pane(&name, &NoScreen::PaneGone)),
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
