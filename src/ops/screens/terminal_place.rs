//! The places of agents: the tmux pane of each, and the corner of the screen.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::{Agent, AgentName};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::sys::desktop::{self, LookupBudget};
use crate::sys::tmux::geometry::ScreenCorner;
use crate::sys::tmux::{PaneId, PaneInfo, TmuxError, TmuxPane, TmuxServer, TmuxSocket};

use super::agent_pane::{is_here, is_pane_of, panes_of, recorded_pane};

/// Whoever lists more agents than this asks only for what they recorded when they joined.
const MOST_EXAMINED: usize = 50;
/// How many tmux servers are asked.
const MOST_SERVERS: usize = 4;
/// How many programs are started to find windows, and how long all of them may take together.
const MOST_LOOKUPS: u32 = 8;
const LOOKUPS_TAKE: Duration = Duration::from_secs(1);
/// The same for one agent alone.
const ONE_TAKES: Duration = Duration::from_secs(4);

/// Where an agent's terminal is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TerminalPlace {
    /// `session:window.pane`; `None` outside of tmux.
    pub address: Option<String>,
    /// Where in its tmux window, or on the screen; `None` if it fills that.
    pub corner: Option<ScreenCorner>,
}

impl TerminalPlace {
    /// That of whoever is in this pane.
    pub(in crate::ops) fn in_pane(info: &PaneInfo) -> Self {
        Self { address: Some(info.address()), corner: info.corner() }
    }

    /// In a few words: `main:1.0, top-left`.
    pub fn text(&self) -> String {
        let corner = self.corner.map(ScreenCorner::name);
        let parts: Vec<&str> = self.address.as_deref().into_iter().chain(corner).collect();
        parts.join(", ")
    }
}

/// The places of all agents of the mesh, as far as they are known. For a screen that asks now and then, which is not a sign of
/// life.
pub fn places_of_all(op: &Op) -> Result<BTreeMap<AgentName, TerminalPlace>, CommandError> {
    let Some(mesh) = op.mesh()? else { return Ok(BTreeMap::new()) };
    let census = mesh.registry().census()?;
    let agents: Vec<&Agent> = census.records.iter().map(|record| &record.agent).collect();
    let names = agents.iter().map(|agent| agent.name.clone());
    Ok(names.zip(places(op, &agents)).filter_map(|(name, place)| Some((name, place?))).collect())
}

/// The place of each of these agents, as far as it is known. One call of tmux for each server, and every call is bounded.
pub(in crate::ops) fn places(op: &Op, agents: &[&Agent]) -> Vec<Option<TerminalPlace>> {
    let is_short = agents.len() <= MOST_EXAMINED;
    let panes: Vec<Vec<TmuxPane>> = agents
        .iter()
        .map(|agent| match is_short {
            true => panes_of(agent),
            false => recorded_pane(agent).into_iter().collect(),
        })
        .collect();
    let infos = infos_of(op, panes.iter().flatten());
    let is_one = agents.len() == 1;
    let mut budget = LookupBudget::new(if is_one { ONE_TAKES } else { LOOKUPS_TAKE }, MOST_LOOKUPS);
    // Whoever lists agents does not want their user to be asked something.
    let has_windows = is_short && (is_one || !desktop::may_ask_user());
    let mut place = |(agent, panes): (&&Agent, &Vec<TmuxPane>)| {
        if !panes.is_empty() {
            let mut infos =
                panes.iter().filter_map(|pane| infos.get(&(pane.socket().clone(), pane.id().clone())));
            return infos.find(|info| is_pane_of(info, agent)).map(TerminalPlace::in_pane);
        }
        if !has_windows || !is_here(agent) {
            return None;
        }
        let window = desktop::window_of(agent.process.pid(), &mut budget)?;
        Some(TerminalPlace { address: None, corner: Some(window.corner()?) })
    };
    agents.iter().zip(&panes).map(&mut place).collect()
}

/// All panes of the servers of these.
fn infos_of<'a>(
    op: &Op,
    panes: impl Iterator<Item = &'a TmuxPane>,
) -> BTreeMap<(TmuxSocket, PaneId), PaneInfo> {
    let mut servers: Vec<&TmuxSocket> = Vec::new();
    for pane in panes {
        if !servers.contains(&pane.socket()) && servers.len() < MOST_SERVERS {
            servers.push(pane.socket());
        }
    }
    let mut infos = BTreeMap::new();
    for socket in servers {
        match TmuxServer::at(socket.clone()).list_panes_briefly() {
            Ok(panes) => {
                infos.extend(panes.into_iter().map(|info| ((socket.clone(), info.id.clone()), info)));
            }
            // Nobody is there any more.
            Err(TmuxError::NoServer(_) | TmuxError::NotInstalled) => {}
            Err(error) => op.warn(format!("cannot read the places of agents: {error}")),
        }
    }
    infos
}
