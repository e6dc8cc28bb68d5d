//! An agent as others see it.

use jiff::Timestamp;

use crate::domain::{Agent, Liveness, Presence};
use crate::store::{Claim, Claims, Mesh};
use crate::sys::{clock, process};

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

    pub(super) fn with_liveness(
        mesh: &Mesh,
        agent: Agent,
        claims: &Claims,
        liveness: Liveness,
    ) -> Result<Self, CommandError> {
        let last_sign = mesh.last_sign(&agent)?;
        let presence = Presence::of(liveness, last_sign, clock::now());
        let unread = mesh.unread(&agent)?;
        let claims = claims.of(&agent);
        Ok(Self { agent, liveness, presence, last_sign, unread, claims })
    }
}
