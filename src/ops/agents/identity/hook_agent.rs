//! Finds the agent whose session called a hook, and repairs its registration if needed.
//!
//! There are two steps, because a hook before a tool must decide about a path whatever else fails. [`recognise`] takes
//! no lock, writes nothing and does not fail. [`RecognisedAgent::settle`] does the housekeeping afterwards, and its
//! failure changes no decision.

use std::borrow::Cow;

use crate::domain::{Agent, Liveness, RecordedProcess, SessionId};
use crate::harness;
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::store::{Census, IndexedRegistry, Mesh, Registration, RegistryQuery};
use crate::sys::process;

use crate::ops::agents::identity::{
    Caller, CallerTraces, SessionSource, find, finish_interrupted, found, is_host, revive, wanted_name,
};

/// The agent that a hook is about, as far as it can be known without a lock.
pub(in crate::ops) struct RecognisedAgent {
    /// `None`: a stranger, who is held to everyone's reservations.
    pub(in crate::ops) agent: Option<Agent>,
    todo: Todo,
    /// Why the search stopped early.
    error: Option<CommandError>,
}

/// The housekeeping that is left to do.
enum Todo {
    Nothing,
    /// The agent is registered. Its session id may have changed, or a rename or a return may be unfinished.
    FinishInterrupted(Box<(Census, CallerTraces)>),
    /// The session is known but not registered.
    Revive(Box<(Census, CallerTraces)>),
}

/// The result of the housekeeping.
pub(in crate::ops) struct HousekeepingResult {
    pub(in crate::ops) agent: Option<Agent>,
    pub(in crate::ops) error: Option<CommandError>,
    /// An [`IndexedRegistry`] from before may be out of date.
    pub(in crate::ops) has_changed: bool,
}

/// Finds the agent that a hook is about: by the ids of the session and of its parent session, else as for a command.
pub(in crate::ops) fn recognise(
    ctx: &Context,
    mesh: &Mesh,
    registry: &IndexedRegistry<'_>,
    sessions: &[SessionId],
) -> RecognisedAgent {
    // An agent that `--as` names is not looked up by its session.
    let own: &[SessionId] = if ctx.acting_as.is_some() { &[] } else { sessions };
    // If a session record can't be read, the long search is used.
    let known = own.iter().find_map(|session| registered(mesh, session).ok().flatten());
    match known {
        Some(agent) => RecognisedAgent { agent: Some(agent), todo: Todo::Nothing, error: None },
        None => search(ctx, mesh, registry, own).unwrap_or_else(|error| RecognisedAgent {
            agent: None,
            todo: Todo::Nothing,
            error: Some(error),
        }),
    }
}

/// Both steps, for callers that make no decision about paths.
pub(in crate::ops) fn at_hook(
    op: &Op,
    mesh: &Mesh,
    sessions: &[SessionId],
) -> Result<Option<Agent>, CommandError> {
    let settled = recognise(op, mesh, &mesh.registry().indexed()?, sessions).settle(op, mesh);
    if let Some(agent) = &settled.agent {
        record_presence(op, mesh, agent);
    }
    settled.error.map_or(Ok(settled.agent), Err)
}

impl RecognisedAgent {
    /// Nobody who is known here.
    pub(in crate::ops) fn nobody() -> Self {
        Self { agent: None, todo: Todo::Nothing, error: None }
    }

    /// Whether it is an agent of this mesh, registered or not.
    pub(in crate::ops) fn is_known(&self) -> bool {
        self.agent.is_some() || matches!(self.todo, Todo::Revive(_))
    }

    /// Writes a vanished registration again and finishes what was cut short. If finishing fails, the agent stays as it
    /// was; if registering fails, it is a stranger.
    pub(in crate::ops) fn settle(self, op: &Op, mesh: &Mesh) -> HousekeepingResult {
        let Self { agent, todo, error } = self;
        let has_changed = !matches!(todo, Todo::Nothing);
        let done = match (agent.clone(), todo) {
            (Some(agent), Todo::FinishInterrupted(around)) => {
                let caller = Caller { agent, how: SessionSource::Hook.to_string() };
                finish_interrupted(mesh, &around.0, &around.1, caller).map(|caller| Some(caller.agent))
            }
            (None, Todo::Revive(around)) => written_again(op, mesh, &around.0, &around.1),
            (agent, _) => Ok(agent),
        };
        let (agent, failed) = match done {
            Ok(agent) => (agent, None),
            Err(failed) => (agent, Some(failed)),
        };
        HousekeepingResult { agent, error: error.or(failed), has_changed }
    }
}

/// Records a sign of life.
pub(in crate::ops) fn record_presence(op: &Op, mesh: &Mesh, agent: &Agent) {
    if let Err(error) = mesh.presence().touch(&agent.name) {
        op.warn(format!("your presence could not be recorded: {error}"));
    }
}

fn written_again(
    op: &Op,
    mesh: &Mesh,
    census: &Census,
    traces: &CallerTraces,
) -> Result<Option<Agent>, CommandError> {
    let revived = revive(op, mesh, traces).or_else(stranger)?;
    let mended = revived.map(|caller| finish_interrupted(mesh, census, traces, caller)).transpose()?;
    Ok(mended.map(|caller| caller.agent))
}

/// Whether a tool of another agent called the hook of this agent's session. A model may run `msg` without asking, with
/// any session id; but then the harness that runs the command is the process of another live agent. If that can't be
/// known, the session id is believed: a resumed session may have moved to a process that is not registered.
pub(in crate::ops) fn is_called_by_another(
    ctx: &Context,
    registry: &IndexedRegistry<'_>,
    agent: &Agent,
) -> bool {
    // `--as` is believed.
    ctx.acting_as.is_none()
        && !is_started_by(agent)
        && is_tool_of_another(&CallerTraces::gather(), registry, agent)
}

/// Whether the agent's own process started this one, as harnesses start their hooks. Then no harness is between them,
/// and there is no need to examine our ancestors.
fn is_started_by(agent: &Agent) -> bool {
    let hosts_one = agent.harness.is_some_and(|harness| !harness::hosts_several_sessions(harness));
    hosts_one
        && matches!(agent.process, RecordedProcess::Pinned(_))
        && process::parent_pid() == Some(agent.process.pid())
        && process::liveness(&agent.process) == Liveness::Alive
}

/// Whether the traces say that another live agent of the nearest harness process runs this.
pub(in crate::ops) fn is_tool_of_another(
    traces: &CallerTraces,
    registry: &IndexedRegistry<'_>,
    agent: &Agent,
) -> bool {
    let Some(host) = &traces.harness else { return false };
    if traces.distance(agent).is_some() && !traces.knows_better(agent) {
        return false;
    }
    // A process that hosts many sessions tells its tools which session they belong to, but not its hooks.
    if harness::hosts_several_sessions(host.harness) && traces.session.is_none() {
        return false;
    }
    let processes = vec![host.process.pid.get()];
    let Ok(census) = registry.matching(&RegistryQuery { processes, ..RegistryQuery::default() }) else {
        return false;
    };
    census.records.iter().map(|record| &record.agent).any(|other| {
        other.session != agent.session
            && is_host(other, host.process.pid, host.process.start_ticks)
            && !traces.knows_better(other)
    })
}

/// The agent of that session, by the shortest way: the session record names it.
pub(in crate::ops) fn registered(mesh: &Mesh, session: &SessionId) -> Result<Option<Agent>, CommandError> {
    let Some(name) = mesh.sessions().last_name(session)? else { return Ok(None) };
    let record = mesh.registry().get(&name)?;
    let is_it = |record: &Registration| {
        record.agent.session == *session && record.agent.restores.is_none() && record.is_live()
    };
    Ok(record.filter(is_it).map(|record| record.agent))
}

/// The long search: for an agent that joined by other means, whose session id changed or that came back, or for a
/// stranger.
fn search(
    ctx: &Context,
    mesh: &Mesh,
    registry: &IndexedRegistry<'_>,
    sessions: &[SessionId],
) -> Result<RecognisedAgent, CommandError> {
    let mut traces = CallerTraces::of_caller(ctx);
    let processes = traces.ancestors.iter().map(|details| details.pid.get()).collect();
    // An invalid name is nobody's.
    let census = match wanted_name(ctx) {
        Ok(Some(_)) => Cow::Owned(mesh.registry().local_census()?),
        Ok(None) | Err(_) => {
            registry.matching(&RegistryQuery { sessions, processes, ..RegistryQuery::default() })?
        }
    };
    let of_session = |record: &&Registration| sessions.contains(&record.agent.session);
    let alive = |record: &&Registration| process::liveness(&record.agent.process) != Liveness::Gone;
    if let Some(session) = sessions.first() {
        traces.session = Some((session.clone(), SessionSource::Hook));
    }
    let found = match census.local().filter(of_session).find(alive) {
        Some(record) => Some(found(record, SessionSource::Hook.to_string())),
        None => find(ctx, mesh, &census, &traces).or_else(stranger)?,
    };
    let found = match found {
        None if is_of_the_dead(mesh, sessions) => by_process(ctx, mesh, &census, &mut traces)?,
        found => found,
    };
    // Looking for a stranger among all session records would take long.
    let may_be_revived = found.is_none() && is_known(mesh, sessions);
    let around = Box::new((census.into_owned(), traces));
    let todo = match &found {
        Some(_) => Todo::FinishInterrupted(around),
        None if may_be_revived => Todo::Revive(around),
        None => Todo::Nothing,
    };
    Ok(RecognisedAgent { agent: found.map(|caller| caller.agent), todo, error: None })
}

/// Whether the session is on record for a process that is gone. Then its user has resumed it, perhaps in the process of
/// another agent, which stays the same agent under the new id.
fn is_of_the_dead(mesh: &Mesh, sessions: &[SessionId]) -> bool {
    let known = sessions.first().and_then(|session| mesh.sessions().get(session).ok().flatten());
    known.is_some_and(|known| process::liveness(&known.last.agent.process) == Liveness::Gone)
}

/// The agent whose process is the nearest ancestor, whatever its session. A process that hosts many sessions decides
/// nothing.
fn by_process(
    ctx: &Context,
    mesh: &Mesh,
    census: &Census,
    traces: &mut CallerTraces,
) -> Result<Option<Caller>, CommandError> {
    if traces.harness.as_ref().is_none_or(|host| harness::hosts_several_sessions(host.harness)) {
        return Ok(None);
    }
    let told = traces.session.take();
    let found = find(ctx, mesh, census, traces).or_else(stranger);
    traces.session = told;
    Ok(found?.filter(|caller| traces.distance(&caller.agent).is_some()))
}

/// Whether a session is on record. A record that can't be read counts as none.
fn is_known(mesh: &Mesh, sessions: &[SessionId]) -> bool {
    sessions.iter().any(|session| mesh.sessions().get(session).is_ok_and(|known| known.is_some()))
}

/// At a hook, evicted, unknown and ambiguous callers are all treated as strangers, who are held to everyone's
/// reservations.
pub(super) fn stranger(error: CommandError) -> Result<Option<Caller>, CommandError> {
    match error.kind {
        CommandErrorKind::Evicted
        | CommandErrorKind::NotJoined
        | CommandErrorKind::AmbiguousCaller
        | CommandErrorKind::InvalidName
        | CommandErrorKind::Corrupt => Ok(None),
        _ => Err(error),
    }
}
