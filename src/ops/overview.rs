//! The whole mesh for a screen: agents, reservations and who waits for them, progress of each spec.

use std::sync::Arc;

use jiff::Timestamp;

use crate::domain::pattern::SearchBudget;
use crate::domain::{Agent, AgentName, Conflict, Liveness, PathWait, Reservation};
use crate::store::{Mesh, RepositoryPlaces, resolved_patterns};
use crate::sys::{clock, process};

use crate::ops::agents::list::{AgentFilter, agents_without_sign_of_life};
use crate::ops::agents::profile::AgentProfile;
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::reservations::conflicts::STEPS_UNDER_LOCK;
use crate::ops::reservations::holdings::Holding;
use crate::ops::tasks::{ActiveSpec, boards};

/// The most specs a screen shows.
const BOARDS: usize = 32;

/// A reservation, who was refused because of it and who contests it.
#[derive(Clone, Debug)]
pub struct HeldReservation {
    pub holding: Holding,
    pub refused: Vec<AgentName>,
    /// The first contester first.
    pub contested: Vec<AgentName>,
}

/// The mesh at one moment.
#[derive(Clone, Debug)]
pub struct MeshOverview {
    pub me: AgentProfile,
    /// Everyone else, by name.
    pub peers: Vec<AgentProfile>,
    pub held: Vec<HeldReservation>,
    pub boards: Vec<ActiveSpec>,
}

/// Reads everything. `--as` names the caller: a screen knows whom it is for.
pub fn overview(op: &Op) -> Result<MeshOverview, CommandError> {
    let gone = || CommandError::new(CommandErrorKind::NotJoined, "you are no longer in this mesh");
    let mesh = op.mesh()?.ok_or_else(gone)?;
    let listing = agents_without_sign_of_life(op, AgentFilter::default())?;
    let me = listing.me.as_ref().ok_or_else(gone)?;
    let (mut mine, mut peers): (Vec<AgentProfile>, Vec<AgentProfile>) =
        listing.agents.into_iter().partition(|profile| profile.agent.name.is_spelled_as(me));
    let me = mine.pop().ok_or_else(gone)?;
    peers.sort_by(|a, b| a.agent.name.as_str().cmp(b.agent.name.as_str()));
    let everyone: Vec<&Agent> = std::iter::once(&me).chain(&peers).map(|profile| &profile.agent).collect();
    let held = held(&mesh, &everyone, clock::now());
    let boards = boards(&mesh, &mesh.registry().census()?, BOARDS)?;
    Ok(MeshOverview { me, peers, held, boards })
}

impl MeshOverview {
    /// Whether the process of any listed agent has ended since. No file event reports that.
    pub fn is_anyone_gone(&self) -> bool {
        let was_alive = |profile: &&AgentProfile| profile.liveness == Liveness::Alive;
        let mut alive = self.peers.iter().filter(was_alive);
        alive.any(|profile| process::liveness(&profile.agent.process) == Liveness::Gone)
    }
}

/// What live agents hold, by holder and pattern.
fn held(mesh: &Mesh, agents: &[&Agent], now: Timestamp) -> Vec<HeldReservation> {
    let mut held = Vec::new();
    let places = RepositoryPlaces::new(mesh);
    let budget = SearchBudget::new(STEPS_UNDER_LOCK);
    for agent in agents.iter().filter(|agent| !agent.reservations.is_empty()) {
        let holder = Arc::new((*agent).clone());
        let mut binding: Vec<&Reservation> =
            agent.reservations.iter().filter(|reservation| reservation.binds(now)).collect();
        binding.sort_by(|a, b| a.pattern.cmp(&b.pattern));
        held.extend(binding.into_iter().map(|reservation| {
            let refused = refused(&places, agents, agent, reservation, &budget);
            let holding =
                Holding { holder: Arc::clone(&holder), reservation: reservation.clone(), is_assumed: false };
            HeldReservation { holding, refused, contested: contested(agents, reservation) }
        }));
    }
    held
}

/// Agents that contest the reservation.
fn contested(agents: &[&Agent], reservation: &Reservation) -> Vec<AgentName> {
    let Some(mark) = &reservation.contest else { return Vec::new() };
    let order = |agent: &Agent| {
        let contest = agent.contests.iter().find(|contest| contest.mark == *mark)?;
        Some((contest.order, agent.name.clone()))
    };
    let mut found: Vec<(u64, AgentName)> = agents.iter().filter_map(|agent| order(agent)).collect();
    found.sort_by_key(|(order, _)| *order);
    found.into_iter().map(|(_, name)| name).collect()
}

/// Agents that wait for something the reservation covers.
fn refused(
    places: &RepositoryPlaces<'_>,
    agents: &[&Agent],
    holder: &Agent,
    reservation: &Reservation,
    budget: &SearchBudget,
) -> Vec<AgentName> {
    let mut waiting = agents.iter().filter(|agent| !agent.waits_for.is_empty()).peekable();
    if waiting.peek().is_none() {
        return Vec::new();
    }
    let covered = resolved_patterns(holder, reservation);
    let is_covered = |agent: &Agent, wait: &PathWait| {
        let mut wanted = wait.patterns(&agent.cwd);
        if reservation.reach.repository().is_some() {
            wanted.extend(places.patterns(&wanted));
        }
        let mut covered = covered.clone();
        if wait.reach.repository().is_some() {
            covered.extend(places.patterns(&covered));
        }
        Conflict::of(&covered, &wanted, budget) != Conflict::None
    };
    let waits = |agent: &&&Agent| {
        let mut waits = agent.waits_for.iter();
        waits.any(|wait| holder.name.as_str().eq_ignore_ascii_case(&wait.holder) && is_covered(agent, wait))
    };
    waiting.filter(waits).map(|agent| agent.name.clone()).collect()
}

/// The mesh; without one it is an error, because there is nothing to watch.
pub(super) fn mesh(ctx: &Context) -> Result<std::rc::Rc<Mesh>, CommandError> {
    ctx.mesh()?.ok_or_else(|| CommandError::new(CommandErrorKind::NotJoined, "the mesh is gone"))
}
