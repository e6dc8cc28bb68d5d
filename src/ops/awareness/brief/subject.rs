//! Whom a brief is about: an agent that is here, one whose process has ended, or one in its grave.

use jiff::Timestamp;

use crate::domain::awareness::{BriefState, Departure};
use crate::domain::{Agent, AgentName, Liveness, Presence};
use crate::ops::agents::list::grave_of;
use crate::ops::agents::names::{self, with_nearest};
use crate::ops::agents::profile::{AgentProfile, claims_to_look_at};
use crate::ops::agents::{identity, list};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::elsewhere;
use crate::store::{GoneReason, GraveId, Mesh};
use crate::sys::{clock, process};

/// An agent as it is, or as it was when it went.
pub(in crate::ops) struct BriefSubject {
    pub(super) agent: Agent,
    pub(super) state: BriefState,
    /// When it was known to be gone; what happened later under its name or in its directory was not its doing.
    until: Option<Timestamp>,
    /// Where its unread mail is, if it is buried.
    pub(super) grave: Option<GraveId>,
    /// Who reads the brief, if that is known.
    pub(super) reader: Option<AgentName>,
}

impl BriefSubject {
    /// The caller itself.
    pub(in crate::ops) fn caller(agent: Agent) -> Self {
        let reader = Some(agent.name.clone());
        Self { agent, state: BriefState::Here(Presence::Active), until: None, grave: None, reader }
    }

    /// The brief goes to that agent, which is shown the text of its own messages only.
    pub(in crate::ops) fn read_by(self, reader: &AgentName) -> Self {
        Self { reader: Some(reader.clone()), ..self }
    }

    pub(super) fn is_gone(&self) -> bool {
        self.state.is_gone()
    }

    pub(super) fn is_buried(&self) -> bool {
        self.grave.is_some()
    }

    pub(super) fn until(&self) -> Option<Timestamp> {
        self.until
    }

    /// Whether it was here at that time.
    pub(super) fn was_here(&self, at: Timestamp) -> bool {
        at >= self.agent.joined_at && self.until.is_none_or(|until| at <= until)
    }
}

/// The agent of that name: one that is here if there is one, otherwise the last that is gone.
pub(super) fn find(op: &Op, mesh: &Mesh, name: &AgentName) -> Result<BriefSubject, CommandError> {
    let census = mesh.registry().census()?;
    let reader = identity::caller_if_certain(op, mesh, &census).map(|agent| agent.name);
    list::show_life(op, mesh, reader.as_ref());
    let now = clock::now();
    let known = census.find(name, now).or_else(|| census.odd().find(|record| record.agent.name == *name));
    if let Some(record) = known {
        elsewhere::refuse(&record.agent, "brief")?;
        let agent = record.agent.clone();
        let liveness = process::liveness(&agent.process);
        if liveness == Liveness::Gone {
            // It is not buried yet, so nobody knows when it ended.
            let at = mesh.presence().last_sign_of_life(&agent)?;
            let state = BriefState::Gone { how: Departure::LastSign, at };
            return Ok(BriefSubject { agent, state, until: Some(now), grave: None, reader });
        }
        let claims = claims_to_look_at(op, mesh);
        let profile = AgentProfile::with_liveness(op, mesh, agent.clone(), &claims, liveness)?;
        let state = BriefState::Here(profile.presence);
        return Ok(BriefSubject { agent, state, until: None, grave: None, reader });
    }
    if let Some(file) = census.unreadable(name) {
        return Err(names::unreadable(name, file));
    }
    match grave_of(mesh, name)? {
        Some((agent, grave)) => {
            let how = match grave.why {
                GoneReason::Left => Departure::Left,
                GoneReason::Evicted => Departure::Evicted,
                GoneReason::Died | GoneReason::Lost => Departure::Ended,
            };
            let state = BriefState::Gone { how, at: grave.at };
            Ok(BriefSubject { agent, state, until: Some(grave.at), grave: Some(grave.id), reader })
        }
        None => {
            let error =
                CommandError::new(CommandErrorKind::UnknownAgent, format!("no agent is called {name}"));
            Err(with_nearest(error, name, &census))
        }
    }
}
