//! `msg reservations`: lists what live agents hold.

use std::sync::Arc;

use crate::domain::Reservation;
use crate::sys::clock;

use super::holdings::Holding;
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;

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
