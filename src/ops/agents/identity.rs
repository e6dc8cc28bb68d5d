//! Finds out which agent is calling.
//!
//! The first of these that gives an answer decides: `--as`; the session variable of the nearest harness among the
//! ancestors (an outer harness's is inherited and doesn't count, nor does one that the harness itself was started
//! with); the nearest ancestor process that exactly one live registration names; `$MSG_AGENT`. The ancestors are
//! followed up to the nearest harness and no further: above it is the person who started it, and a model must not speak
//! as that person because it left, was evicted or never joined. Nor are they followed beyond the nearest supervisor of a
//! run: what a worker leaves behind must not speak as the worker that started its run.

mod caller_traces;
mod hook_agent;

use std::borrow::Cow;
use std::rc::Rc;

use crate::domain::{Agent, AgentName, Liveness, RecordedProcess, SessionId, format_duration};
use crate::harness;
use crate::store::{
    Census, IndexedRegistry, LockedMesh, Mesh, Registration, RegistryQuery, SessionRecord, StoreError,
};
use crate::sys::environment::variable;
use crate::sys::{clock, process};

use super::bury::{bury_dead_of, finish_renames, settled_census};
use super::names;
use super::profile::AgentProfile;
use super::publish_activity::refresh;
use super::roster::Roster;
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::reservations::rules;
use crate::ops::tasks::claim_upkeep;
pub(in crate::ops) use caller_traces::{CallerTraces, SessionSource, is_host};
use hook_agent::stranger;
pub(in crate::ops) use hook_agent::{
    RecognisedAgent, at_hook, is_called_by_another, is_tool_of_another, recognise, record_presence,
    registered,
};

/// The agent that a command acts for, and how it was found.
#[derive(Clone, Debug)]
pub struct Caller {
    pub agent: Agent,
    pub how: String,
}

/// The mesh, and the agent that the command acts for. Acting is a sign of life, and finishes what a crash or another
/// program left undone.
pub fn caller(op: &Op) -> Result<(Rc<Mesh>, Caller), CommandError> {
    let (mesh, caller, _) = caller_and_census(op)?;
    Ok((mesh, caller))
}

fn caller_and_census(op: &Op) -> Result<(Rc<Mesh>, Caller, Census), CommandError> {
    let mesh = op.mesh()?.ok_or_else(not_joined)?;
    let census = mesh.registry().census()?;
    let mut traces = CallerTraces::of_caller(op);
    traces.choose(op, &census);
    let found = match find(op, &mesh, &census, &traces)? {
        Some(found) => found,
        None => revive(op, &mesh, &traces)?.ok_or_else(not_joined)?,
    };
    let found = finish_interrupted(&mesh, &census, &traces, found)?;
    if let Err(error) = mesh.presence().touch(&found.agent.name) {
        op.warn(format!("your presence could not be recorded: {error}"));
    }
    if let Err(error) = refresh(&mesh, &found.agent) {
        op.warn(format!("your activity could not be recorded: {error}"));
    }
    Ok((mesh, found, census))
}

/// Like [`caller`], for commands that change the agent's own registration: pi-messenger's are not ours to change.
pub(in crate::ops) fn own_caller(op: &Op) -> Result<(Rc<Mesh>, Agent), CommandError> {
    let (mesh, agent, _) = own_caller_and_others(op)?;
    Ok((mesh, agent))
}

/// Like [`own_caller`], with all agents as they were when the caller was looked for among them.
pub(in crate::ops) fn own_caller_and_others(
    op: &Op,
) -> Result<(Rc<Mesh>, Agent, Roster<'static>), CommandError> {
    let (mesh, Caller { agent, .. }, census) = caller_and_census(op)?;
    if agent.is_foreign() {
        return Err(StoreError::Foreign(agent.name.to_string()).into());
    }
    let roster = Roster::of(&mesh, Cow::Owned(census));
    Ok((mesh, agent, roster))
}

/// The agent that a status line is about, if that is certain: by the session that the harness reports, else as for a
/// command. A status line is not a sign of life, and repairs nothing.
pub(in crate::ops) fn at_statusline(
    ctx: &Context,
    mesh: &Mesh,
    registry: &IndexedRegistry<'_>,
    told: Option<&SessionId>,
) -> Result<Option<Agent>, CommandError> {
    let told = told.filter(|_| ctx.acting_as.is_none());
    if let Some(agent) = told.map(|session| registered(mesh, session)).transpose()?.flatten() {
        return Ok(Some(agent));
    }
    let mut traces = CallerTraces::of_caller(ctx);
    if let Some(session) = told {
        traces.session = Some((session.clone(), SessionSource::Client));
    }
    let sessions: Vec<SessionId> = traces.session.iter().map(|(session, _)| session.clone()).collect();
    let processes = traces.ancestors.iter().map(|details| details.pid.get()).collect();
    let census = match wanted_name(ctx) {
        Ok(Some(_)) => Cow::Owned(mesh.registry().local_census()?),
        Ok(None) | Err(_) => registry.matching(&RegistryQuery {
            sessions: &sessions,
            processes,
            ..RegistryQuery::default()
        })?,
    };
    let found = find(ctx, mesh, &census, &traces).or_else(stranger)?;
    Ok(found.map(|found| found.agent))
}

/// The caller with all that others see of it; for `whoami`.
pub fn whoami(op: &Op) -> Result<(AgentProfile, String), CommandError> {
    let (mesh, caller) = caller(op)?;
    Ok((AgentProfile::look(op, &mesh, caller.agent)?, caller.how))
}

/// The caller, if that is certain; for commands that only read.
pub(in crate::ops) fn caller_if_certain(ctx: &Context, mesh: &Mesh, census: &Census) -> Option<Agent> {
    let mut traces = CallerTraces::of_caller(ctx);
    traces.choose(ctx, census);
    let found = find(ctx, mesh, census, &traces).ok()??;
    Some(found.agent)
}

/// The agent that runs this command, by its traces alone: `--as` and `$MSG_AGENT` say nothing.
pub(in crate::ops) fn traced_caller(ctx: &Context, mesh: &Mesh) -> Result<Option<Agent>, CommandError> {
    let census = mesh.registry().local_census()?;
    let mut traces = match &ctx.client {
        Some(client) => CallerTraces::of_client(client),
        None => CallerTraces::gather(),
    };
    traces.choose(ctx, &census);
    match by_traces(mesh, &census, &traces)? {
        TracedCaller::Agent(found) => Ok(Some(found.agent)),
        TracedCaller::Remembered | TracedCaller::Nobody => Ok(None),
    }
}

/// The caller, if that is certain. Whoever names an agent, by `--as` or `$MSG_AGENT`, means that one and nobody else.
pub(in crate::ops) fn named_or_certain_caller(op: &Op) -> Result<Option<Agent>, CommandError> {
    if wanted_name(op)?.is_some() {
        return Ok(Some(caller(op)?.1.agent));
    }
    let Some(mesh) = op.mesh()? else { return Ok(None) };
    Ok(caller_if_certain(op, &mesh, &mesh.registry().census()?))
}

fn find(
    ctx: &Context,
    mesh: &Mesh,
    census: &Census,
    traces: &CallerTraces,
) -> Result<Option<Caller>, CommandError> {
    if let Some(name) = &ctx.acting_as {
        return by_name(census, name, "`--as`");
    }
    match (by_traces(mesh, census, traces)?, variable("MSG_AGENT")) {
        (TracedCaller::Agent(found), _) => Ok(Some(*found)),
        (TracedCaller::Nobody, Some(text)) => by_name(census, &AgentName::new(text)?, "$MSG_AGENT"),
        (TracedCaller::Remembered | TracedCaller::Nobody, _) => Ok(None),
    }
}

/// Whom the traces of a caller lead to.
enum TracedCaller {
    Agent(Box<Caller>),
    /// The session is known, but not registered: `revive` reports whether it left, was evicted or lost its registration.
    Remembered,
    Nobody,
}

fn by_traces(mesh: &Mesh, census: &Census, traces: &CallerTraces) -> Result<TracedCaller, CommandError> {
    let alive = |record: &&Registration| process::liveness(&record.agent.process) != Liveness::Gone;
    if let Some((session, teller)) = &traces.session {
        let of_session = |record: &&Registration| record.agent.session == *session && alive(record);
        if let Some(record) = census.local().find(of_session) {
            return Ok(TracedCaller::Agent(Box::new(found(record, teller.to_string()))));
        }
        if !teller.may_be_old() && mesh.sessions().get(session)?.is_some() {
            return Ok(TracedCaller::Remembered);
        }
    }
    let mut near: Vec<(usize, &Registration)> = census
        .local()
        .filter(|record| !traces.knows_better(&record.agent))
        .filter_map(|record| Some((traces.distance(&record.agent)?, record)))
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    if let Some((nearest, record)) = near.first() {
        let rivals: Vec<String> = near
            .iter()
            .filter(|(distance, _)| distance == nearest)
            .map(|(_, record)| record.agent.name.to_string())
            .collect();
        if rivals.len() > 1 {
            return Err(ambiguous(rivals));
        }
        let pid = record.agent.process.pid();
        let how = match pid == process::own_pid() {
            true => format!("this process, {pid}, is its host"),
            false => format!("process {pid}, which started this command, is its host"),
        };
        return Ok(TracedCaller::Agent(Box::new(found(record, how))));
    }
    Ok(TracedCaller::Nobody)
}

fn found(record: &Registration, how: String) -> Caller {
    Caller { agent: record.agent.clone(), how }
}

/// `None`: nobody of that name is registered.
fn by_name(census: &Census, name: &AgentName, told_by: &str) -> Result<Option<Caller>, CommandError> {
    let Some(record) = census.find(name, clock::now()) else {
        if let Some(file) = census.unreadable(name) {
            return Err(names::unreadable(name, file));
        }
        return Ok(None);
    };
    if let Some(machine) = &record.agent.machine {
        let text =
            format!("{} is on {}: only there can somebody act for it", record.agent.name, machine.name);
        return Err(CommandError::new(CommandErrorKind::RemoteAgent, text)
            .hint("`msg whoami` shows who you are here")
            .fact("agent", record.agent.name.as_str())
            .fact("machine", machine.name.as_str()));
    }
    if process::liveness(&record.agent.process) == Liveness::Gone {
        let pid = record.agent.process.pid();
        let from = if told_by == "$MSG_AGENT" { " (from $MSG_AGENT)" } else { "" };
        let text = format!("{}{from} is gone: its process {pid} has ended", record.agent.name);
        // Nobody can act for a dead agent, so for the caller this is the same as not having joined.
        return Err(CommandError::new(CommandErrorKind::NotJoined, text)
            .hint("run `msg join` to join as a new agent"));
    }
    Ok(Some(found(record, format!("{told_by} says so"))))
}

/// Writes the registration of a caller that has none again, if it had one, its process is alive, and it neither left
/// nor was evicted.
fn revive(op: &Op, mesh: &Mesh, traces: &CallerTraces) -> Result<Option<Caller>, CommandError> {
    let Some(known) = remembered(op, mesh, traces)? else {
        return match wanted_name(op)? {
            Some(name) => Err(unknown_speaker(op, mesh, &name)?),
            None => Ok(None),
        };
    };
    let agent = &known.last.agent;
    if let Some(eviction) = &known.evicted {
        let by = eviction.by.as_deref().unwrap_or("somebody");
        let ago = format_duration(clock::now().duration_since(eviction.at));
        let text = format!("{} was evicted by {by} {ago} ago", agent.name);
        return Err(CommandError::new(CommandErrorKind::Evicted, text)
            .hint("run `msg join` to come back, with your mail"));
    }
    if !known.is_current() {
        return Ok(None);
    }
    let locked = mesh.lock()?;
    let census = settled_census(&locked)?;
    let now = clock::now();
    if let Some(same) = census.local().find(|record| record.agent.is_same_session(agent)) {
        return Ok(Some(found(same, "its session is known".to_string())));
    }
    if let Some(holder) = census.find(&agent.name, now) {
        let text = format!(
            "your registration is gone, and another agent is called {} now",
            holder.agent.name_and_machine()
        );
        return Err(CommandError::new(CommandErrorKind::NotJoined, text)
            .hint("run `msg join` to come back under a new name"));
    }
    if let Some(file) = census.unreadable(&agent.name) {
        return Err(names::unreadable(&agent.name, file));
    }
    let mut record = known.last.clone();
    let held = record.agent.reservations.clone();
    let lost = rules::restore_reservations(mesh, &census, &mut record.agent, held, now);
    if locked.register(&record)? == crate::sys::files::Published::Exists {
        return Ok(None);
    }
    op.warn(format!("the registration of {} was missing; it has been written again", agent.name));
    if !lost.is_empty() {
        op.warn(format!("other agents now hold what you held: `{}`", lost.join("`, `")));
    }
    Ok(Some(found(&record, "its session is known".to_string())))
}

/// The session record that matches the caller, if the session's process is alive.
fn remembered(
    ctx: &Context,
    mesh: &Mesh,
    traces: &CallerTraces,
) -> Result<Option<SessionRecord>, CommandError> {
    let alive = |known: &SessionRecord| process::liveness(&known.last.agent.process) == Liveness::Alive;
    let wanted = wanted_name(ctx)?;
    if ctx.acting_as.is_none()
        && let Some((session, _)) = traces.session.as_ref().filter(|(_, teller)| !teller.may_be_old())
        && let Some(known) = mesh.sessions().get(session)?.filter(alive)
    {
        return Ok(Some(known));
    }
    let sessions = mesh.sessions().all()?.records;
    let fits = |known: &SessionRecord| match &ctx.acting_as {
        Some(name) => known.last.agent.name == *name,
        None => {
            let agent = &known.last.agent;
            let near = !traces.knows_better(agent) && traces.distance(agent).is_some();
            near || wanted.as_ref() == Some(&agent.name)
        }
    };
    let mut fitting: Vec<SessionRecord> =
        sessions.into_iter().filter(|known| alive(known) && fits(known)).collect();
    // If a process had several sessions, a current one comes before one that left.
    fitting.sort_by_key(|known| {
        let agent = &known.last.agent;
        let distance = traces.distance(agent).unwrap_or(usize::MAX);
        (distance, !known.is_current(), std::cmp::Reverse(agent.started_at))
    });
    Ok(fitting.into_iter().next())
}

fn wanted_name(ctx: &Context) -> Result<Option<AgentName>, CommandError> {
    match (&ctx.acting_as, variable("MSG_AGENT")) {
        (Some(name), _) => Ok(Some(name.clone())),
        (None, Some(text)) => Ok(Some(AgentName::new(text)?)),
        (None, None) => Ok(None),
    }
}

/// Finishes what was cut short: a rename, a return from the grave, a changed session id.
fn finish_interrupted(
    mesh: &Mesh,
    census: &Census,
    traces: &CallerTraces,
    caller: Caller,
) -> Result<Caller, CommandError> {
    let agent = &caller.agent;
    if !agent.is_ours() {
        return Ok(caller);
    }
    let new_session = new_session(agent, traces);
    let half_renamed = census.superseded.iter().any(|old| old.agent.is_superseded_by(agent));
    if new_session.is_none() && !half_renamed && agent.restores.is_none() {
        return Ok(caller);
    }
    let mut locked = mesh.lock_for(agent)?;
    let census = locked.census()?;
    finish_renames(&mut locked, &census)?;
    // It may have been renamed or evicted since we looked.
    let agent = locked.own_record(agent)?.agent;
    let session = new_session.unwrap_or_else(|| agent.session.clone());
    let after = Agent { session: session.clone(), ..agent.clone() };
    let has_mail_elsewhere = agent.restores.is_some() || session != agent.session;
    if has_mail_elsewhere {
        claim_upkeep::carry_over_now(&mut locked, &agent, &after)?;
        bury_dead_of(&mut locked, &after.session)?;
        collect_mail(mesh, &locked, &agent)?;
        collect_mail(mesh, &locked, &after)?;
    }
    let mut change = locked.change();
    let edited = change.edit(&agent, |agent| {
        agent.restores = None;
        agent.session = session;
    })?;
    change.commit()?;
    Ok(Caller { agent: edited, how: caller.how })
}

/// Moves the session's mail from its graves to the agent's inbox. Returns how many messages there were.
pub(in crate::ops) fn collect_mail(
    mesh: &Mesh,
    locked: &LockedMesh<'_>,
    agent: &Agent,
) -> Result<usize, CommandError> {
    let mut mail = 0;
    for grave in mesh.graves().of_session(&agent.session)? {
        mail += locked.exhume(&grave, &agent.name)?;
    }
    Ok(mail)
}

/// The new id of a session after `/clear` and the like. The agent stays the same.
fn new_session(agent: &Agent, traces: &CallerTraces) -> Option<SessionId> {
    let (host, (session, teller)) = (traces.harness.as_ref()?, traces.session.as_ref()?);
    let same_process = agent.process == RecordedProcess::Pinned(host.process.clone());
    let is_news = !teller.may_be_old() && agent.session != *session;
    (same_process && !harness::hosts_several_sessions(host.harness) && is_news).then(|| session.clone())
}

fn not_joined() -> CommandError {
    CommandError::new(CommandErrorKind::NotJoined, "you have not joined this mesh")
        .hint("run `msg join` first")
}

fn unknown_speaker(ctx: &Context, mesh: &Mesh, name: &AgentName) -> Result<CommandError, CommandError> {
    let census = mesh.registry().census()?;
    let from = if ctx.acting_as.is_none() { " (from $MSG_AGENT)" } else { "" };
    let text = format!("no agent is called {name}{from}");
    Ok(names::with_nearest(CommandError::new(CommandErrorKind::NotJoined, text), name, &census))
}

pub(in crate::ops) fn ambiguous(names: Vec<String>) -> CommandError {
    let text = format!("several agents share this process: {}", names.join(", "));
    CommandError::new(CommandErrorKind::AmbiguousCaller, text)
        .hint("say who you are with `--as NAME`")
        .facts("agents", names)
}
