//! `msg reservations`: lists what live agents hold.

use std::sync::Arc;

use crate::domain::{Agent, AgentName, Contest, Reservation};
use crate::sys::{clock, process};

use super::contest_target::{ContestState, contests_of, state};
use super::holdings::Holding;
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;

/// A contest of a listed reservation.
#[derive(Clone, Debug)]
pub struct ContestView {
    /// Who contests it.
    pub by: AgentName,
    pub contest: Contest,
    pub state: ContestState,
}

/// The contests of each of these reservations, the first contester first.
pub fn contests(op: &Op, holdings: &[Holding]) -> Result<Vec<Vec<ContestView>>, CommandError> {
    let is_contested = |holding: &Holding| holding.reservation.contest.is_some();
    let Some(mesh) = op.mesh()?.filter(|_| holdings.iter().any(is_contested)) else {
        return Ok(vec![Vec::new(); holdings.len()]);
    };
    let census = mesh.registry().census()?;
    let (now, timeout) = (process::uptime(), op.settings.contest_timeout());
    let of_one = |holding: &Holding| {
        let held = &holding.reservation;
        let found = held.contest.as_ref().map(|mark| contests_of(census.records.iter(), mark));
        let view = |(agent, contest): (&Agent, &Contest)| {
            let state = state(&mesh, contest, held, now.as_ref(), timeout)?;
            Ok(ContestView { by: agent.name.clone(), contest: contest.clone(), state })
        };
        found.unwrap_or_default().into_iter().map(view).collect()
    };
    holdings.iter().map(of_one).collect()
}

/// Whose reservations to list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HolderScope {
    Everyone,
    Caller,
}

/// What live agents hold, by holder and then by pattern.
pub fn reservations(op: &Op, holders: HolderScope) -> Result<Vec<Holding>, CommandError> {
    let now = clock::now();
    let (mesh, me) = match holders {
        HolderScope::Caller => {
            let (mesh, caller) = identity::caller(op)?;
            (mesh, Some(caller.agent))
        }
        HolderScope::Everyone => match op.mesh()? {
            Some(mesh) => (mesh, None),
            None => {
                op.note_absent_mesh();
                return Ok(Vec::new());
            }
        },
    };
    let mut holdings = Vec::new();
    for record in mesh.registry().census()?.records {
        let agent = &record.agent;
        let is_meant = me.as_ref().is_none_or(|me| me.session == agent.session);
        if !is_meant || agent.reservations.is_empty() || !record.is_live() {
            continue;
        }
        let holder = Arc::new(agent.clone());
        let holding = |reservation| Holding { holder: Arc::clone(&holder), reservation, is_assumed: false };
        let mut binding: Vec<Reservation> =
            agent.reservations.iter().filter(|reservation| reservation.binds(now)).cloned().collect();
        binding.sort_by(|a, b| a.pattern.cmp(&b.pattern));
        holdings.extend(binding.into_iter().map(holding));
    }
    Ok(holdings)
}
