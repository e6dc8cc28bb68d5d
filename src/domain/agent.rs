//! An agent as recorded in its registration.

use jiff::Timestamp;

use super::link::RemoteMachine;
use super::process_traits::HOST_OF_PI_MESSENGER;
use super::{
    ActivityCounts, AgentName, Contest, Harness, PathWait, RecordedProcess, Reservation, SessionId, TaskWait,
};

/// One session of a harness that joined a mesh.
#[derive(Clone, Debug)]
pub struct Agent {
    pub name: AgentName,
    pub session: SessionId,
    /// The long-lived process that hosts the agent; the agent is gone when it is.
    pub process: RecordedProcess,
    /// `None` if the registration does not name one: then it is pi-messenger's.
    pub harness: Option<Harness>,
    pub cwd: String,
    pub model: String,
    pub started_at: Timestamp,
    /// When the session first joined. Files under its name from before that belong to a predecessor.
    pub joined_at: Timestamp,
    pub git_branch: Option<String>,
    pub spec: Option<String>,
    pub is_human: bool,
    pub status: Option<String>,
    /// The tmux pane that it runs in.
    pub tmux: Option<String>,
    /// Time of its last activity, if the registration has it; ours use `presence/` instead.
    pub last_activity: Option<Timestamp>,
    /// What it has done up to `last_activity`.
    pub counts: ActivityCounts,
    pub reservations: Vec<Reservation>,
    /// Patterns it was refused; it is notified once when they are free.
    pub waits_for: Vec<PathWait>,
    /// Tasks it was refused; it is notified in the same way.
    pub waits_for_tasks: Vec<TaskWait>,
    /// Paths that it has asked their holders to let go of.
    pub contests: Vec<Contest>,
    pub formerly: Vec<FormerName>,
    /// The grave whose mail is still being restored to this agent; the next process that acts as it continues that.
    pub restores: Option<String>,
    /// The machine that it is on, if that is not this one.
    pub machine: Option<RemoteMachine>,
}

/// A name that the agent gave up. Until `until` nobody else can take it, and it resolves to the present name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FormerName {
    pub name: AgentName,
    pub until: Timestamp,
}

impl Agent {
    /// The name of its harness. pi-messenger's agents don't say: they run in the one that pi-messenger belongs to.
    pub fn harness_name(&self) -> &'static str {
        self.harness.map_or(HOST_OF_PI_MESSENGER.name, Harness::name)
    }

    /// Whether pi-messenger registered it: we read such registrations and never rewrite them.
    pub fn is_foreign(&self) -> bool {
        matches!(self.process, RecordedProcess::Bare { .. })
    }

    /// Whether it is on another machine of a linked mesh: what we have is a copy.
    pub fn is_remote(&self) -> bool {
        self.machine.is_some()
    }

    /// Whether we may rewrite its registration: it is neither pi-messenger's nor a copy.
    pub fn is_ours(&self) -> bool {
        !self.is_foreign() && !self.is_remote()
    }

    /// Its name, and the machine if that is another one: `Anna on laptop`.
    pub fn name_and_machine(&self) -> String {
        match &self.machine {
            Some(machine) => format!("{} on {}", self.name, machine.name),
            None => self.name.to_string(),
        }
    }

    /// Whether `name` resolves to this agent, as its present name or as a former one that has not expired.
    pub fn answers_to(&self, name: &AgentName, now: Timestamp) -> bool {
        self.name == *name || self.formerly.iter().any(|former| former.name == *name && former.until > now)
    }

    /// Whether it lists a reservation that has expired.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.reservations.iter().any(|held| !held.binds(now))
    }

    /// Whether it holds something in every work tree of a repository.
    pub fn holds_in_repository(&self) -> bool {
        self.reservations.iter().any(|held| held.reach.repository().is_some())
    }

    /// Whether it holds a thing that is not a file.
    pub fn holds_thing(&self) -> bool {
        self.reservations.iter().any(Reservation::is_thing)
    }

    pub fn drop_expired(&mut self, now: Timestamp) {
        self.reservations.retain(|held| held.binds(now));
    }

    /// Its present and former names: mail may be stored under any of them.
    pub fn all_names(&self) -> impl Iterator<Item = &AgentName> {
        std::iter::once(&self.name).chain(self.formerly.iter().map(|former| &former.name))
    }

    /// Same session in the same process: two such registrations are one agent.
    pub fn is_same_session(&self, other: &Self) -> bool {
        self.session == other.session && self.process == other.process
    }

    /// Whether these are the same agent at different times. `/clear` changes the session id, and a hook may read the
    /// registration before and after that.
    pub fn is_same_agent(&self, other: &Self) -> bool {
        let same_registration =
            (&self.name, &self.process, self.started_at) == (&other.name, &other.process, other.started_at);
        self.session == other.session || same_registration
    }

    /// Whether this is what `newer` was before an interrupted rename.
    pub fn is_superseded_by(&self, newer: &Self) -> bool {
        self.name != newer.name
            && self.is_same_session(newer)
            && newer.formerly.iter().any(|former| former.name == self.name)
    }
}
