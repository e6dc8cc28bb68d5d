//! An agent as its registration tells it.

use jiff::Timestamp;

use super::{ActivityCounts, AgentName, Harness, Recorded, Reservation, SessionId, TaskWait, Wait};

/// One session of a harness that has joined a mesh.
#[derive(Clone, Debug)]
pub struct Agent {
    pub name: AgentName,
    pub session: SessionId,
    /// The long-lived process that hosts the agent; the agent lives no longer than it.
    pub process: Recorded,
    /// `None` if whoever registered it didn't say: then it is pi-messenger's.
    pub harness: Option<Harness>,
    pub cwd: String,
    pub model: String,
    pub started_at: Timestamp,
    /// When the session joined first. What lies under its name from before that is a predecessor's.
    pub joined_at: Timestamp,
    pub git_branch: Option<String>,
    pub spec: Option<String>,
    pub is_human: bool,
    pub status: Option<String>,
    /// The tmux pane that it runs in.
    pub tmux: Option<String>,
    /// Its last activity, where the registration tells; ours tell by `presence/` instead.
    pub last_activity: Option<Timestamp>,
    /// What it has done so far, as of then.
    pub tally: ActivityCounts,
    pub reservations: Vec<Reservation>,
    /// What others refused to it; once it is free, the agent is told, once.
    pub waits_for: Vec<Wait>,
    /// The same for tasks.
    pub waits_for_tasks: Vec<TaskWait>,
    pub formerly: Vec<FormerName>,
    /// The grave whose mail is still on its way back to this agent; whoever acts as it next goes on with that.
    pub restores: Option<String>,
}

/// A name that the agent gave up. Until then it stays taken, and whoever uses it is led to the present one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FormerName {
    pub name: AgentName,
    pub until: Timestamp,
}

impl Agent {
    /// Registered by pi-messenger: we read it and never rewrite it.
    pub fn is_foreign(&self) -> bool {
        matches!(self.process, Recorded::Bare { .. })
    }

    /// Does `name` still lead to this agent, as its present name or as a former one that has not run out?
    pub fn answers_to(&self, name: &AgentName, now: Timestamp) -> bool {
        self.name == *name || self.formerly.iter().any(|former| former.name == *name && former.until > now)
    }

    /// Does it still list a reservation whose time is over?
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.reservations.iter().any(|held| !held.binds(now))
    }

    pub fn drop_expired(&mut self, now: Timestamp) {
        self.reservations.retain(|held| held.binds(now));
    }

    /// Its name and the names that it had: mail may lie under any of them.
    pub fn all_names(&self) -> impl Iterator<Item = &AgentName> {
        std::iter::once(&self.name).chain(self.formerly.iter().map(|former| &former.name))
    }

    /// The same session in the same process: two registrations of which this holds are one agent.
    pub fn is_same_session(&self, other: &Self) -> bool {
        self.session == other.session && self.process == other.process
    }

    /// Are these the same agent, seen at different times? `/clear` gives it another session id, and a hook may read its
    /// registration before and after that.
    pub fn is_same_agent(&self, other: &Self) -> bool {
        let same_registration =
            (&self.name, &self.process, self.started_at) == (&other.name, &other.process, other.started_at);
        self.session == other.session || same_registration
    }

    /// Is this what `newer` was before a rename that was cut short?
    pub fn is_superseded_by(&self, newer: &Self) -> bool {
        self.name != newer.name
            && self.is_same_session(newer)
            && newer.formerly.iter().any(|former| former.name == self.name)
    }
}
