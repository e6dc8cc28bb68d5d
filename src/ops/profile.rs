//! An agent as others see it.

use jiff::Timestamp;

use crate::domain::{Agent, Liveness, Presence};
use crate::store::{Claim, Claims, Mesh};
use crate::sys::{clock, process};

use super::context::Context;
use super::error::CommandError;

/// What a registration says, and what can be seen around it.
#[derive(Clone, Debug)]
pub struct Profile {
    pub agent: Agent,
    pub liveness: Liveness,
    pub presence: Presence,
    pub last_sign: Timestamp,
    pub unread: usize,
    pub claims: Vec<Claim>,
}

impl Profile {
    pub(super) fn of(mesh: &Mesh, agent: Agent, claims: &Claims) -> Result<Self, CommandError> {
        let liveness = process::liveness(&agent.process);
        Self::with_liveness(mesh, agent, claims, liveness)
    }

    /// After a change was made: what can't be told then is a notice, not a failure.
    pub(super) fn look(ctx: &Context, mesh: &Mesh, agent: Agent) -> Result<Self, CommandError> {
        Self::of(mesh, agent, &claims_to_look_at(ctx, mesh))
    }

    pub(super) fn with_liveness(
        mesh: &Mesh,
        mut agent: Agent,
        claims: &Claims,
        liveness: Liveness,
    ) -> Result<Self, CommandError> {
        let now = clock::now();
        agent.reservations.retain(|reservation| reservation.binds(now));
        let last_sign = mesh.last_sign(&agent)?;
        let presence = Presence::of(liveness, last_sign, now);
        let unread = mesh.unread(&agent)?;
        let claims = claims.of(&agent);
        Ok(Self { agent, liveness, presence, last_sign, unread, claims })
    }
}

/// Claims that can't be read must not hide who is there.
pub(super) fn claims_to_look_at(ctx: &Context, mesh: &Mesh) -> Claims {
    mesh.claims().unwrap_or_else(|error| {
        ctx.notice(format!("who works on what is not known: {error}"));
        Claims::default()
    })
}
