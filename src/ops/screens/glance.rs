//! What a person who watches an agent in tmux sees of it: state, place and the end of its screen. Unlike `look`, it is not
//! remembered, so it does not change what the next look calls new.

use crate::domain::runs::Run;
use crate::domain::screens::{Dialog, ScreenText, ScreenVerdict};
use crate::domain::{Agent, AgentName};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::store::Mesh;
use crate::sys::tmux::{PaneInfo, TmuxError, TmuxPane};

use super::agent_pane::{find_pane, is_pane_of_run, pane_of_run};
use super::project_session::tmux_error;
use super::sight::{AgentSight, NoScreen, see_before_join, see_in, verdict_with_run};
use super::stall::state_at_once;
use super::terminal_place::TerminalPlace;
use super::watched::{self, Watched, check_not_over};

/// The most lines of a screen, and the most characters of one.
const MOST_LINES: usize = 12;
const MOST_COLUMNS: usize = 500;

/// What one glance showed.
#[derive(Debug)]
pub struct Glance {
    /// Its name, or the id of the run whose worker has not joined yet: `msg tell` takes both.
    pub name: AgentName,
    pub verdict: ScreenVerdict,
    /// The dialog that is open on its screen.
    pub dialog: Option<Dialog>,
    /// `None` if it is not in the pane any more.
    pub place: Option<TerminalPlace>,
    /// The last lines of its screen, or why there is none to look at. Others wrote them.
    pub screen: Result<Vec<String>, NoScreen>,
}

/// Glances at an agent.
pub fn glance_at_agent(op: &Op, name: &str) -> Result<Glance, CommandError> {
    let mesh = watched::mesh(op, name)?;
    match watched::find(op, &mesh, name)? {
        Watched::Agent(agent, run) => glance_at(&mesh, &agent, run.as_deref()),
        Watched::Run(run) => {
            check_not_over(&run)?;
            glance_before_join(&run, pane_of_run(&run).as_ref())
        }
    }
}

/// Glances at the worker of a run; `None` if it has no terminal, or has ended.
pub fn glance_at_run(op: &Op, run: &Run) -> Result<Option<Glance>, CommandError> {
    let (Some(mesh), Some(pane)) = (op.mesh()?, pane_of_run(run)) else { return Ok(None) };
    match watched::worker(&mesh, run)? {
        Some(agent) => glance_at(&mesh, &agent, Some(run)).map(Some),
        None => glance_before_join(run, Some(&pane)).map(Some),
    }
}

fn glance_at(mesh: &Mesh, agent: &Agent, run: Option<&Run>) -> Result<Glance, CommandError> {
    let found = find_pane(agent, TmuxPane::info_briefly).map_err(tmux_error)?;
    let mut sight = see_in(mesh, agent)?;
    sight.verdict = verdict_with_run(mesh, &sight, run)?;
    let verdict = ScreenVerdict { state: state_at_once(mesh, &sight)?, ..sight.verdict };
    let place = found.map(|(_, info)| TerminalPlace::in_pane(&info));
    let dialog = sight.reading.and_then(|reading| reading.dialog);
    let screen = sight.pane.map(|seen| last_lines(&seen.screen));
    Ok(Glance { name: agent.name.clone(), verdict, dialog, place, screen })
}

/// A worker that has not joined yet.
fn glance_before_join(run: &Run, pane: Option<&TmuxPane>) -> Result<Glance, CommandError> {
    let info = pane.map(answered).transpose()?.flatten().filter(|info| is_pane_of_run(info, run));
    let AgentSight { pane, reading, verdict, .. } = see_before_join(run);
    let dialog = reading.and_then(|reading| reading.dialog);
    let (name, place) = (AgentName::new(run.id.as_str())?, info.as_ref().map(TerminalPlace::in_pane));
    Ok(Glance { name, verdict, dialog, place, screen: pane.map(|seen| last_lines(&seen.screen)) })
}

/// What tmux says about the pane; `None` if it is gone. A server that does not answer soon is not asked for more, because
/// whoever glances does so again and again.
fn answered(pane: &TmuxPane) -> Result<Option<PaneInfo>, CommandError> {
    match pane.info_briefly() {
        Ok(info) => Ok(Some(info)),
        Err(TmuxError::NoPane(_) | TmuxError::NoServer(_)) => Ok(None),
        Err(error) => Err(tmux_error(error)),
    }
}

fn last_lines(screen: &ScreenText) -> Vec<String> {
    let text = screen.text();
    let rows: Vec<&str> = text.lines().collect();
    let cut = |row: &&str| row.chars().take(MOST_COLUMNS).collect();
    rows[rows.len().saturating_sub(MOST_LINES)..].iter().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_screen_is_kept() {
        let text: String = (0..50).map(|number| format!("line {number}\n")).collect();
        let lines = last_lines(&ScreenText::plain(&format!("{text}\n\n")));
        assert_eq!((lines.len(), lines[0].as_str()), (MOST_LINES, "line 38"));
        let lines = last_lines(&ScreenText::plain(&"x".repeat(MOST_COLUMNS * 2)));
        assert_eq!(lines[0].len(), MOST_COLUMNS);
        assert!(last_lines(&ScreenText::plain("\n\n")).is_empty());
    }
}
