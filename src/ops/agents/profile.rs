//! An agent as others see it: its registration, presence, claims and activity.

use jiff::Timestamp;

use crate::domain::link::RemoteMachine;
use crate::domain::{ActivityCounts, Agent, Liveness, Presence, PresenceFacts};
use crate::ops::link::elsewhere::LinkHealth;
use crate::store::{Claim, Claims, Mesh, Registration};
use crate::sys::{clock, process};

use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::screens::terminal_place::{TerminalPlace, places};

/// What a registration says, and what is known beyond it.
#[derive(Clone, Debug)]
pub struct AgentProfile {
    pub agent: Agent,
    pub liveness: Liveness,
    pub presence: Presence,
    pub last_sign: Timestamp,
    pub unread: usize,
    pub claims: Vec<Claim>,
    /// What it is doing now, as reported by its hooks: `editing src/a.rs`.
    pub activity: Option<String>,
    /// A derived status, if it set none itself.
    pub auto_status: Option<String>,
    pub tool_calls: u64,
    pub tokens: u64,
    /// The files it changed last, in order.
    pub files_modified: Vec<String>,
    /// Its last recorded action: `edit: src/a.rs`, `test: passed`.
    pub last_tool_call: Option<String>,
    /// Where its terminal is, if somebody looked for that.
    pub place: Option<TerminalPlace>,
    /// For an agent on another machine while the link is down: when this was last known to be so.
    pub as_of: Option<Timestamp>,
}

impl AgentProfile {
    /// For use after a change was made: claims that can't be read are a warning, not a failure.
    pub(in crate::ops) fn look(op: &Op, mesh: &Mesh, agent: Agent) -> Result<Self, CommandError> {
        let liveness = process::liveness(&agent.process);
        Self::with_liveness(op, mesh, agent, &claims_to_look_at(op, mesh), liveness)
    }

    pub(in crate::ops) fn of_record(
        ctx: &Context,
        mesh: &Mesh,
        record: &Registration,
        claims: &Claims,
    ) -> Result<Self, CommandError> {
        let liveness = process::liveness(&record.agent.process);
        Self::with_liveness(ctx, mesh, record.agent.clone(), claims, liveness)
    }

    pub(in crate::ops) fn with_liveness(
        ctx: &Context,
        mesh: &Mesh,
        mut agent: Agent,
        claims: &Claims,
        liveness: Liveness,
    ) -> Result<Self, CommandError> {
        let now = clock::now();
        agent.reservations.retain(|reservation| reservation.binds(now));
        let last_sign = mesh.presence().last_sign_of_life(&agent)?;
        let unread = mesh.inboxes().unread_count(&agent)?;
        let claims = claims.of(&agent);
        let quiet = now.duration_since(last_sign);
        let holds = !claims.is_empty() || !agent.reservations.is_empty();
        // Older pi-messenger agents record when they started and nothing after: that proves nothing.
        let is_silent = agent.is_foreign() && last_sign == agent.started_at;
        let stuck_after = (holds && !is_silent).then(|| ctx.settings.stuck_threshold());
        let (presence, as_of) = match &agent.machine {
            None => (Presence::of(liveness, quiet, stuck_after), None),
            Some(machine) => presence_elsewhere(mesh, machine, agent.last_activity, now),
        };
        let counts = mesh.activity().counts(&agent)?;
        let ActivityCounts { tool_calls, tokens, files_modified, activity, last_tool_call } = counts;
        let signs = PresenceFacts {
            presence,
            quiet,
            here_for: now.duration_since(agent.started_at),
            activity: activity.as_deref(),
            task: claims.first().map(|claim| claim.task.as_str()),
        };
        let auto_status = if agent.status.is_none() { signs.status() } else { None };
        Ok(Self {
            agent,
            liveness,
            presence,
            last_sign,
            unread,
            claims,
            activity,
            auto_status,
            tool_calls,
            tokens,
            files_modified,
            last_tool_call,
            place: None,
            as_of,
        })
    }
}

/// The presence of an agent on another machine, and when that was known if it may be otherwise by now.
fn presence_elsewhere(
    mesh: &Mesh,
    machine: &RemoteMachine,
    last_activity: Option<Timestamp>,
    now: Timestamp,
) -> (Presence, Option<Timestamp>) {
    let (then, as_of) = match LinkHealth::of(mesh) {
        LinkHealth::Linked => (Some(now), None),
        LinkHealth::Down { last_contact } => (last_contact, last_contact),
    };
    let quiet = then.zip(last_activity).map(|(then, last)| then.duration_since(last));
    let presence = match (machine.away_since, quiet) {
        (Some(_), _) => Presence::Unreachable,
        (None, Some(quiet)) => Presence::of(Liveness::Alive, quiet, None),
        (None, None) => Presence::Unknown,
    };
    (presence, as_of)
}

/// Finds out the places of these agents.
pub(in crate::ops) fn add_places(op: &Op, profiles: &mut [AgentProfile]) {
    let agents: Vec<&Agent> = profiles.iter().map(|profile| &profile.agent).collect();
    let places = places(op, &agents);
    profiles.iter_mut().zip(places).for_each(|(profile, place)| profile.place = place);
}

/// Claims that can't be read must not hide the agents.
pub(in crate::ops) fn claims_to_look_at(op: &Op, mesh: &Mesh) -> Claims {
    mesh.tasks().claims().unwrap_or_else(|error| {
        op.warn(format!("cannot tell who works on what: {error}"));
        Claims::default()
    })
}
