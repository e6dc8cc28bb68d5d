//! What the process tree and the environment say about the caller of a command: its harness and session.
//!
//! A variable that the harness itself was started with is inherited from an outer session, and does not count. The
//! environment of an MCP server is as old as its process, so a session variable found there counts only while a live
//! registration has that session.

use std::fmt;

use jiff::SignedDuration;

use crate::domain::{Agent, Pid, RecordedProcess, SessionId};
use crate::harness::{
    self,
    ancestry::{self, Host},
};
use crate::ops::context::{Context, McpClient};
use crate::store::Census;
use crate::sys::detached::is_supervisor;
use crate::sys::environment::variable;
use crate::sys::process::{self, ProcessDetails};

/// What the caller's environment says about it.
#[derive(Debug)]
pub(in crate::ops) struct CallerTraces {
    /// Up to the nearest harness, or the nearest supervisor of a run.
    pub(in crate::ops) ancestors: Vec<ProcessDetails>,
    pub(in crate::ops) harness: Option<Host>,
    /// The session of the nearest harness, and its source.
    pub(in crate::ops) session: Option<(SessionId, SessionSource)>,
}

/// The source of a session id.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::ops) enum SessionSource {
    Variable(&'static str),
    /// The variable as it was when a server started: `/clear` and the like may have changed the session's id since.
    OldVariable(&'static str),
    Hook,
    Client,
}

impl SessionSource {
    pub(in crate::ops) fn may_be_old(self) -> bool {
        matches!(self, Self::OldVariable(_))
    }
}

impl fmt::Display for SessionSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) | Self::OldVariable(name) => write!(f, "${name} is its session"),
            Self::Hook => f.write_str("the hook tells its session"),
            Self::Client => f.write_str("the client tells its session"),
        }
    }
}

impl CallerTraces {
    /// The traces of a command's caller; none if `--as` names the agent.
    pub(super) fn of_caller(ctx: &Context) -> Self {
        match (&ctx.acting_as, &ctx.client) {
            (Some(_), _) => Self { ancestors: Vec::new(), harness: None, session: None },
            (None, Some(client)) => Self::of_client(client),
            (None, None) => Self::gather(),
        }
    }

    /// The traces of a server, whose environment is its client's. If no harness is known, the client is the process
    /// that started the server: above it is the person who started that, and a model must not speak as that person.
    pub(in crate::ops) fn of_client(client: &McpClient) -> Self {
        let mut traces = Self::gather();
        if traces.harness.is_none() {
            traces.ancestors.truncate(1);
        }
        let many = traces.harness.as_ref().is_some_and(|host| harness::hosts_several_sessions(host.harness));
        traces.session = match (client.sessions.first(), traces.session) {
            (Some(session), _) => Some((session.clone(), SessionSource::Client)),
            (None, Some((session, SessionSource::Variable(name)))) if !many => {
                Some((session, SessionSource::OldVariable(name)))
            }
            (None, _) => None,
        };
        traces
    }

    /// Chooses, of the sessions that the client may be, the one that is here.
    pub(super) fn choose(&mut self, ctx: &Context, census: &Census) {
        let Some(client) = &ctx.client else { return };
        let is_here = |session: &&SessionId| {
            census.local().any(|record| record.agent.session == **session && record.is_live())
        };
        if let Some(session) = client.sessions.iter().find(is_here) {
            self.session = Some((session.clone(), SessionSource::Client));
        }
    }

    pub(in crate::ops) fn gather() -> Self {
        let mut ancestors = ancestry::ancestors();
        let harness = ancestry::nearest_harness(&ancestors);
        let mut session = harness.as_ref().and_then(told_session);
        // The worker of a run speaks for itself alone: above its supervisor is who started the run, or adopted it.
        if let Some(nearest) = ancestors.iter().position(|details| is_supervisor(details.pid)) {
            ancestors.truncate(nearest + 1);
            session = None;
        }
        Self { ancestors, harness, session }
    }

    /// How far above us the process of this registration is; 0 is our own. `None` if it is not among them.
    pub(in crate::ops) fn distance(&self, agent: &Agent) -> Option<usize> {
        if is_own_process(agent) {
            return Some(0);
        }
        let above =
            self.ancestors.iter().position(|details| is_host(agent, details.pid, details.start_ticks));
        above.map(|distance| distance + 1)
    }

    /// Whether the agent's process decides nothing: it hosts many sessions, and ours has another id than this agent's.
    pub(in crate::ops) fn knows_better(&self, agent: &Agent) -> bool {
        let many = self.harness.as_ref().is_some_and(|host| harness::hosts_several_sessions(host.harness));
        many && self.session.as_ref().is_some_and(|(session, _)| *session != agent.session)
    }
}

/// The session that the harness reports to the processes it starts. A variable that the harness itself was started with
/// is not its own: a tool of another session started it, or its terminal, and its hooks inherit the variable.
fn told_session(host: &Host) -> Option<(SessionId, SessionSource)> {
    harness::session_variables(host.harness).iter().find_map(|name| {
        let told = variable(name).filter(|told| !process::was_started_with(host.process.pid, name, told))?;
        Some((SessionId::new(told).ok()?, SessionSource::Variable(name)))
    })
}

/// Whether the agent's process is our own: a shell replaces itself by the last command of `bash -c '…'`, so the process
/// that was registered may be ours.
fn is_own_process(agent: &Agent) -> bool {
    let own = process::own_pid();
    agent.process.pid() == own
        && process::details(own).is_some_and(|details| is_host(agent, own, details.start_ticks))
}

/// Whether the agent is hosted by that running process. A bare pid counts only together with the start time: a process
/// that is younger than the registration has reused the pid.
pub(in crate::ops) fn is_host(agent: &Agent, pid: Pid, start_ticks: u64) -> bool {
    const SLACK: SignedDuration = SignedDuration::from_secs(2);
    match &agent.process {
        RecordedProcess::Bare { pid: bare, .. } => {
            *bare == pid
                && process::started_at(pid)
                    .is_none_or(|started| started.duration_since(agent.started_at) <= SLACK)
        }
        RecordedProcess::Pinned(identity) => {
            identity.pid == pid
                && identity.start_ticks == start_ticks
                && identity.place == *process::pid_scope()
        }
    }
}
