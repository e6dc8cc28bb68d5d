//! `msg agents` and `msg whois`: lists agents.

use jiff::Timestamp;

use crate::domain::{Agent, AgentName, Liveness, format_duration};
use crate::ops::link::elsewhere::RepositoryHere;
use crate::store::{Census, GoneReason, Grave, Mesh, Registration, UnreadableFile};
use crate::sys::{clock, process};

use super::bury::bury_in_passing;
use super::identity;
use super::names::{self, with_nearest};
use super::profile::{AgentProfile, add_places, claims_to_look_at};
use super::stuck;
use crate::ops::context::FolderScope;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::reservations::waiting;

/// Which agents to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct AgentFilter {
    /// Those that are gone, instead of those that are here.
    pub lists_gone: bool,
    pub folder: FolderScope,
}

/// An agent that is gone.
#[derive(Clone, Debug)]
pub struct GoneAgent {
    pub name: String,
    pub why: GoneReason,
    pub at: Timestamp,
    pub by: Option<String>,
    pub unread: usize,
    pub cwd: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct AgentList {
    pub agents: Vec<AgentProfile>,
    pub gone: Vec<GoneAgent>,
    pub unreadable: Vec<UnreadableFile>,
    pub me: Option<AgentName>,
}

/// Who an agent is to the caller.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AgentRelation {
    /// The caller itself.
    Caller,
    Peer,
}

impl AgentRelation {
    fn of(name: &AgentName, caller: Option<&AgentName>) -> Self {
        match caller {
            Some(caller) if caller.is_spelled_as(name) => Self::Caller,
            _ => Self::Peer,
        }
    }
}

impl AgentList {
    pub fn relation(&self, name: &AgentName) -> AgentRelation {
        AgentRelation::of(name, self.me.as_ref())
    }

    pub fn is_me(&self, name: &AgentName) -> bool {
        self.me.as_ref().is_some_and(|me| me.is_spelled_as(name))
    }
}

pub fn agents(op: &Op, filter: AgentFilter) -> Result<AgentList, CommandError> {
    let mut listing = look(op, filter, show_life)?;
    add_places(op, &mut listing.agents);
    Ok(listing)
}

/// Like [`agents`], for a screen that refreshes by itself: that is not a sign of life.
pub(in crate::ops) fn agents_without_sign_of_life(
    op: &Op,
    filter: AgentFilter,
) -> Result<AgentList, CommandError> {
    look(op, filter, |_, _, _| {})
}

fn look(
    op: &Op,
    filter: AgentFilter,
    show_life: fn(&Op, &Mesh, Option<&AgentName>),
) -> Result<AgentList, CommandError> {
    let Some(mesh) = op.mesh()? else {
        op.note_absent_mesh();
        return Ok(AgentList::default());
    };
    let census = mesh.registry().census()?;
    let me = identity::caller_if_certain(op, &mesh, &census).map(|agent| agent.name);
    show_life(op, &mesh, me.as_ref());
    let is_owed = waiting::is_owed(&mesh, &census).unwrap_or_else(|error| {
        op.warn(format!("agents waiting for a task could not be notified: {error}"));
        false
    });
    let claims = claims_to_look_at(op, &mesh);
    let in_scope = |cwd: &str| filter.folder.includes(op, cwd);
    let repository = RepositoryHere::new(&mesh, &op.cwd);
    let now = clock::now();
    let mut needs_tidying = census.has_taken || has_orphans_of_living(&mesh, &census)?;
    let (odd, unreadable): (Vec<UnreadableFile>, _) =
        census.unreadable.into_iter().partition(|file| file.told.is_some());
    let odd = odd.into_iter().filter_map(|file| file.told).map(|record| *record);
    let mut listing = AgentList { me, unreadable, ..AgentList::default() };
    let mut gone_pis = Vec::new();
    for Registration { agent, .. } in census.records.into_iter().chain(odd) {
        let liveness = process::liveness(&agent.process);
        needs_tidying |= agent.is_ours() && (liveness == Liveness::Gone || agent.has_expired(now));
        if liveness == Liveness::Gone && agent.is_foreign() {
            gone_pis.push(agent);
        } else if liveness != Liveness::Gone && filter.folder.includes_agent(op, &repository, &agent) {
            listing.agents.push(AgentProfile::with_liveness(op, &mesh, agent, &claims, liveness)?);
        }
    }
    stuck::report(op, &mesh, &listing.agents);
    if (needs_tidying || is_owed)
        && let Err(error) = bury_in_passing(op, &mesh)
    {
        op.warn(format!("ended agents could not be cleaned up: {error}"));
    }
    if filter.lists_gone {
        listing.agents.clear();
        let graves = mesh.graves().all()?;
        listing.unreadable.extend(graves.unreadable);
        let mut all_gone: Vec<GoneAgent> = graves.graves.into_iter().map(gone).collect();
        for agent in gone_pis {
            all_gone.push(gone_pi(&mesh, &agent)?);
        }
        listing.gone = all_gone.into_iter().filter(|gone| gone.cwd.as_deref().is_none_or(in_scope)).collect();
        listing.gone.sort_by_key(|gone| gone.at);
    }
    Ok(listing)
}

/// Whether there is mail under a former name of a live pi-messenger agent.
fn has_orphans_of_living(mesh: &Mesh, census: &Census) -> Result<bool, CommandError> {
    if !census.records.iter().any(|record| record.agent.is_foreign()) {
        return Ok(false);
    }
    Ok(mesh.inboxes().orphans(census)?.iter().any(|orphaned| orphaned.now_called.is_some()))
}

/// A dead pi-messenger agent that pi-messenger has not removed yet.
fn gone_pi(mesh: &Mesh, agent: &Agent) -> Result<GoneAgent, CommandError> {
    Ok(GoneAgent {
        name: agent.name.to_string(),
        why: GoneReason::Died,
        at: mesh.presence().last_sign_of_life(agent)?,
        by: None,
        unread: mesh.inboxes().unread_count(agent)?,
        cwd: Some(agent.cwd.clone()),
    })
}

/// One agent, and who it is to the caller.
pub fn whois(op: &Op, name: &AgentName) -> Result<(AgentProfile, AgentRelation), CommandError> {
    let unknown = || CommandError::new(CommandErrorKind::UnknownAgent, format!("no agent is called {name}"));
    let Some(mesh) = op.mesh()? else {
        return Err(unknown().hint("nobody has joined this mesh yet: `msg join` joins it"));
    };
    let census = mesh.registry().census()?;
    let known =
        census.find(name, clock::now()).or_else(|| census.odd().find(|record| record.agent.name == *name));
    if let Some(record) = known.filter(|record| record.is_live()) {
        let me = identity::caller_if_certain(op, &mesh, &census).map(|agent| agent.name);
        show_life(op, &mesh, me.as_ref());
        let mut profile = AgentProfile::look(op, &mesh, record.agent.clone())?;
        add_places(op, std::slice::from_mut(&mut profile));
        stuck::report(op, &mesh, [&profile]);
        return Ok((profile, AgentRelation::of(&record.agent.name, me.as_ref())));
    }
    if let Some(file) = census.unreadable(name) {
        return Err(names::unreadable(name, file));
    }
    if let Some(record) = census.find(name, clock::now()) {
        let (name, pid) = (&record.agent.name, record.agent.process.pid());
        return Err(CommandError::new(
            CommandErrorKind::NotRunning,
            format!("{name} is gone: its process {pid} has ended"),
        ));
    }
    if let Some((agent, grave)) = grave_of(&mesh, name)? {
        let (name, verb, age) =
            (&agent.name, verb(grave.why), format_duration(clock::now().duration_since(grave.at)));
        let text = format!("{name} is gone: it {verb} {age} ago");
        return Err(CommandError::new(CommandErrorKind::NotRunning, text)
            .hint("`msg agents --gone` lists everyone who left")
            .fact("since", crate::store::iso(grave.at)));
    }
    Err(with_nearest(unknown(), name, &census))
}

/// Records that the caller is alive.
pub(in crate::ops) fn show_life(op: &Op, mesh: &Mesh, me: Option<&AgentName>) {
    if let Some(Err(error)) = me.map(|me| mesh.presence().touch(me)) {
        op.warn(format!("your presence could not be recorded: {error}"));
    }
}

fn gone(grave: Grave) -> GoneAgent {
    let name = grave.id.name().to_string();
    let cwd = grave.record.map(|record| record.agent.cwd);
    GoneAgent { name, why: grave.why, at: grave.at, by: grave.by, unread: grave.unread, cwd }
}

/// The latest grave of an agent that has this name, or had it and is still reached by it.
pub(in crate::ops) fn grave_of(
    mesh: &Mesh,
    name: &AgentName,
) -> Result<Option<(Agent, Grave)>, CommandError> {
    let now = clock::now();
    let graves = mesh.graves().all()?.graves.into_iter();
    let known = graves.filter_map(|grave| Some((grave.record.as_ref()?.agent.clone(), grave)));
    let mut of_name: Vec<(Agent, Grave)> = known.filter(|(agent, _)| agent.answers_to(name, now)).collect();
    of_name.sort_by_key(|(agent, grave)| (agent.name == *name, grave.at));
    Ok(of_name.pop())
}

/// What happened, as a verb.
pub(in crate::ops) fn verb(why: GoneReason) -> &'static str {
    match why {
        GoneReason::Died => "ended",
        GoneReason::Left => "left",
        GoneReason::Evicted => "was evicted",
        GoneReason::Lost => "was never there",
    }
}
