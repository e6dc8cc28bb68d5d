//! `msg join`: registers a new agent, updates one that is already here, or brings one back.
//!
//! The registration of an agent that comes back names in `restores` the grave that still has to be emptied. If `join`
//! is cut short, the agent's next command goes on with it.

mod newcomer;

use std::cell::OnceCell;

use jiff::Timestamp;

use crate::domain::name_words::NameTheme;
use crate::domain::{
    ActivityCounts, Agent, AgentName, EventKind, Harness, Liveness, PathWait, Reservation, SessionId,
    TaskWait,
};
use crate::harness;
use crate::store::{Census, LockedMesh, Mesh, Registration, SessionRecord, config_files};
use crate::sys::environment::variable;
use crate::sys::files::{self, Published};
use crate::sys::git::WorkTree;
use crate::sys::{clock, process, random};

use super::bury::settled_census;
use super::identity;
use super::linked_name;
use super::names::{self, holder, name_taken};
use super::profile::AgentProfile;
use super::prune;
use crate::ops::awareness::record;
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::ask::{self, LinkGrant};
use crate::ops::link::is_linked;
use crate::ops::person_required;
use crate::ops::reservations::{rules, waiting};
use crate::ops::tasks::claim_upkeep;
use newcomer::{Newcomer, not_there};

/// How often registering is tried.
const TRIES: usize = 10;

/// The arguments of `join`.
#[derive(Clone, Debug, Default)]
pub struct JoinRequest {
    pub name: Option<AgentName>,
    pub spec: Option<String>,
    pub harness: Option<Harness>,
    pub session: Option<SessionId>,
    pub pid: Option<i64>,
    pub model: Option<String>,
    /// Accept process 1, whatever it is.
    pub is_forced: bool,
    /// The session under which the supervisor of a run keeps a place for the newcomer, its worker.
    pub adopts: Option<SessionId>,
    /// The name in the environment is that of another agent.
    pub is_variable_ignored: bool,
    /// A hook joins, which has little time: the server of a linked mesh is not asked for the name.
    pub is_hook: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum JoinKind {
    New,
    /// It was already here.
    Already,
    /// A known session that was away.
    Back {
        mail: usize,
    },
}

#[derive(Clone, Debug)]
pub struct JoinOutcome {
    pub profile: AgentProfile,
    pub arrival: JoinKind,
    /// Why that process was registered.
    pub why: String,
    /// How many other agents are here.
    pub peers: usize,
    /// Reservations the session had before it was gone, which others hold now.
    pub lost: Vec<String>,
    /// The configuration file, if the choice of this mesh was written into it.
    pub settled_in: Option<String>,
}

pub fn join(op: &Op, request: &JoinRequest) -> Result<JoinOutcome, CommandError> {
    let newcomer = Newcomer::find(op, request)?;
    let default_name = if request.is_variable_ignored { None } else { default_name()? };
    let spec = request.spec.as_deref().map(|path| spec_path(op, path)).transpose()?;
    let mesh = op.create_mesh()?;
    let own_session = newcomer.known_session(&mesh)?;
    let fresh_session = OnceCell::new();
    let run = JoinAttempt { op, request, mesh: &mesh, newcomer: &newcomer, own_session, spec, fresh_session };
    // It outlives the lock.
    let granted = run.decide_name()?;
    let mut locked = match newcomer.moved(&mesh, request.adopts.as_ref())? {
        Some(agent) => mesh.lock_for(&agent)?,
        None => mesh.lock()?,
    };
    // It may have ended while we waited, and its session may live on in another process.
    if process::liveness(&newcomer.process()) == Liveness::Gone {
        return Err(not_there(newcomer.host.process.pid));
    }
    locked.probe()?;
    locked.sweep()?;
    let (agent, arrival, lost) = match run.find_self(&settled_census(&locked)?)? {
        Some(record) => (run.stay(&mut locked, record)?, JoinKind::Already, Vec::new()),
        None => {
            // The claims of the agent that was found are not ours after all, and mail may have to be moved.
            locked.free_swarm_lock();
            run.arrive(&mut locked, default_name)?
        }
    };
    if arrival != JoinKind::Already {
        waiting::notify_waiting_or_warn(op, &mesh, &mut locked);
    }
    drop(locked);
    granted.into_iter().for_each(LinkGrant::keep);
    // Others learn of it, and the first one of a linked mesh starts the link process.
    ask::poke(op, &mesh);
    mesh.presence().touch(&agent.name)?;
    let settled_in = settle(op).unwrap_or_else(|error| {
        op.warn(format!("could not save the choice of this mesh: {error}"));
        None
    });
    prune::in_passing(op, &mesh);
    if let Err(error) = record::count_if_new(op, &mesh) {
        op.warn(format!("the history of this repository is not counted: {error}"));
    }
    let peers = count_peers(&mesh, &agent)?;
    let profile = AgentProfile::look(op, &mesh, agent)?;
    Ok(JoinOutcome { profile, arrival, why: newcomer.host.why, peers, lost, settled_in })
}

/// The name from the environment, for a `join` without a name.
fn default_name() -> Result<Option<AgentName>, CommandError> {
    let told = ["MSG_AGENT", "PI_AGENT_NAME"].into_iter().find_map(|name| Some((name, variable(name)?)));
    let Some((variable, text)) = told else { return Ok(None) };
    AgentName::new(text).map(Some).map_err(|error| {
        let mut error = CommandError::from(error);
        error.message = format!("${variable}: {}", error.message);
        error
    })
}

fn spec_path(ctx: &Context, path: &str) -> Result<String, CommandError> {
    let full = ctx.cwd.join(ctx.home.expand(path));
    if !full.is_file() {
        let text = format!("there is no spec `{}`", full.display());
        return Err(CommandError::new(CommandErrorKind::InvalidValue, text)
            .hint("`--spec` takes the path of a Markdown file"));
    }
    person_required::check_spec(ctx, &full)?;
    let full = fs_err::canonicalize(full).map_err(files::FileError::from)?;
    Ok(full.to_string_lossy().into_owned())
}

/// One `join`. The lock is held from the look at who is here.
struct JoinAttempt<'a> {
    op: &'a Op,
    request: &'a JoinRequest,
    mesh: &'a Mesh,
    newcomer: &'a Newcomer,
    /// The id of a session that may be known.
    own_session: Option<SessionId>,
    spec: Option<String>,
    /// The id of a session whose host has none.
    fresh_session: OnceCell<SessionId>,
}

impl JoinAttempt<'_> {
    /// Lets the server of a linked mesh decide about a name that was asked for and is free here.
    fn decide_name(&self) -> Result<Option<LinkGrant<'_>>, CommandError> {
        let Some(name) = self.request.name.as_ref().or(self.op.acting_as.as_ref()) else { return Ok(None) };
        if self.request.is_hook || !is_linked(self.mesh) {
            return Ok(None);
        }
        let census = self.mesh.registry().census()?;
        // One who is here already keeps its name. Whatever else it is is decided under the lock.
        let is_new = matches!(self.find_self(&census), Ok(None));
        if !is_new || holder(&census, name, None, clock::now()).is_some() {
            return Ok(None);
        }
        let known = self.known_session()?.map(|known| known.last.agent.session);
        let session = self.newcomer.session.clone().or(known).unwrap_or_else(|| self.fresh_session());
        linked_name::decide(self.op, self.mesh, name, &session)
    }

    fn fresh_session(&self) -> SessionId {
        self.fresh_session.get_or_init(new_session).clone()
    }

    /// The caller's own live registration, if it has one.
    fn find_self<'c>(&self, census: &'c Census) -> Result<Option<&'c Registration>, CommandError> {
        let newcomer = self.newcomer;
        // The place that is kept for it comes first: what is held there is the newcomer's.
        for session in self.request.adopts.iter().chain(&newcomer.session) {
            let known = census.local().find(|record| record.agent.session == *session && record.is_live());
            if known.is_some() {
                return Ok(known);
            }
        }
        let here: Vec<&Registration> = census
            .local()
            .filter(|record| newcomer.shares_process(&record.agent) && record.is_live())
            .collect();
        match (here.as_slice(), &newcomer.session) {
            ([], _) => Ok(None),
            ([only], None) => Ok(Some(only)),
            (several, None) => {
                match several.iter().find(|record| Some(&record.agent.name) == self.request.name.as_ref()) {
                    Some(record) => Ok(Some(record)),
                    None => Err(identity::ambiguous(
                        several.iter().map(|record| record.agent.name.to_string()).collect(),
                    )),
                }
            }
            (_, Some(_)) if harness::hosts_several_sessions(newcomer.harness) => Ok(None),
            ([only], Some(_)) if self.is_another(&only.agent) => Ok(None),
            // The session got a new id inside its process.
            ([only], Some(_)) => Ok(Some(only)),
            (_, Some(_)) => Ok(None),
        }
    }

    /// An unknown harness may host several sessions: another id with another name is another agent.
    fn is_another(&self, agent: &Agent) -> bool {
        let unknown = matches!(self.newcomer.harness, Harness::OTHER | Harness::TERMINAL);
        unknown && self.request.name.as_ref().is_some_and(|name| *name != agent.name)
    }

    /// Updates the registration of an agent that is already here: session id, process, spec, model. Nothing else
    /// changes.
    fn stay(&self, locked: &mut LockedMesh<'_>, record: &Registration) -> Result<Agent, CommandError> {
        let agent = &record.agent;
        if let Some(name) = &self.request.name
            && !agent.answers_to(name, clock::now())
        {
            let text = format!("you have joined as {} already", agent.name);
            return Err(CommandError::new(CommandErrorKind::AlreadyJoined, text)
                .hint(format!("`msg rename {name}` changes your name"))
                .fact("agent", agent.name.as_str()));
        }
        if agent.is_foreign() {
            return Ok(agent.clone());
        }
        let mut after = agent.clone();
        let session = self.newcomer.session.clone().filter(|_| !self.newcomer.may_be_old);
        after.session = session.unwrap_or(after.session);
        after.process = self.newcomer.process();
        after.spec = self.spec.clone().or(after.spec);
        after.model = self.request.model.clone().unwrap_or(after.model);
        after.restores = None;
        if self.request.adopts.as_ref() == Some(&agent.session) {
            after.harness = Some(self.newcomer.harness);
            after.cwd = self.op.folder();
            after.git_branch = WorkTree::containing(&self.op.cwd).and_then(|tree| tree.branch());
            after.tmux = self.newcomer.is_ours.then(tmux_pane).flatten();
        }
        let moved = !agent.is_same_session(&after);
        let changed =
            moved || after.spec != agent.spec || after.model != agent.model || agent.restores.is_some();
        if !changed && self.mesh.sessions().get(&after.session)?.is_some() {
            return Ok(after);
        }
        if moved {
            claim_upkeep::carry_over_now(locked, agent, &after)?;
        }
        if moved || agent.restores.is_some() {
            identity::collect_mail(self.mesh, locked, agent)?;
            identity::collect_mail(self.mesh, locked, &after)?;
        }
        let mut change = locked.change();
        let edited = change.edit(agent, |agent| *agent = after.clone())?;
        change.commit()?;
        Ok(edited)
    }

    fn arrive(
        &self,
        locked: &mut LockedMesh<'_>,
        default_name: Option<AgentName>,
    ) -> Result<(Agent, JoinKind, Vec<String>), CommandError> {
        // pi-messenger takes no lock, so it may be faster, but not for ever.
        for _ in 0..TRIES {
            let now = clock::now();
            let census = settled_census(locked)?;
            let known = self.known_session()?;
            let name = self.choose(&census, default_name.as_ref(), known.as_ref(), now)?;
            names::clear(locked, &census, &name, now)?;
            if let Some(before) =
                known.as_ref().map(|known| &known.last.agent.name).filter(|last| **last != name)
            {
                self.mesh.outboxes().continue_stamps_of(before, &name)?;
            }
            if let Some(known) = known.as_ref().filter(|known| known.is_current()) {
                gather_mail(locked, &census, &known.last.agent, now)?;
            }
            let is_known = known.as_ref().is_some_and(SessionRecord::is_current);
            let held = known.as_ref().map_or(Vec::new(), held_before);
            let waits = known.as_ref().map(waited_before).unwrap_or_default();
            let mut record = self.record(name, known, now);
            (record.agent.waits_for, record.agent.waits_for_tasks) = waits;
            let lost = rules::restore_reservations(self.mesh, &census, &mut record.agent, held, now);
            let graves = self.mesh.graves().of_session(&record.agent.session)?;
            record.agent.restores = graves.first().map(|grave| grave.to_string());
            if locked.register(&record)? == Published::Exists {
                continue;
            }
            // It has joined, whatever else fails.
            self.op.feed(EventKind::Join, &record.agent.name, None, None);
            if graves.is_empty() && !is_known {
                return Ok((record.agent, JoinKind::New, lost));
            }
            let mail = identity::collect_mail(self.mesh, locked, &record.agent)?;
            let mut change = locked.change();
            let agent = change.edit(&record.agent, |agent| agent.restores = None)?;
            change.commit()?;
            return Ok((agent, JoinKind::Back { mail }, lost));
        }
        Err(CommandError::new(
            CommandErrorKind::NameTaken,
            "could not register: other agents kept taking the name",
        )
        .hint("try again"))
    }

    /// The record of the caller's session, if there is one.
    fn known_session(&self) -> Result<Option<SessionRecord>, CommandError> {
        Ok(match &self.own_session {
            Some(session) => self.mesh.sessions().get(session)?,
            None => None,
        })
    }

    /// The name to take, free at this moment.
    fn choose(
        &self,
        census: &Census,
        default_name: Option<&AgentName>,
        known: Option<&SessionRecord>,
        now: Timestamp,
    ) -> Result<AgentName, CommandError> {
        let is_taken = |name: &AgentName| holder(census, name, None, now).is_some();
        if let Some(name) = self.request.name.as_ref().or(self.op.acting_as.as_ref()) {
            return holder(census, name, None, now)
                .map_or(Ok(name.clone()), |text| Err(name_taken(name, &text)));
        }
        if let Some(known) = known.filter(|known| !is_taken(&known.last.agent.name)) {
            return Ok(known.last.agent.name.clone());
        }
        if let (Some(name), None) = (default_name, known) {
            return holder(census, name, None, now)
                .map_or(Ok(name.clone()), |text| Err(name_taken(name, &text)));
        }
        let theme = self.theme();
        theme.pick(&random::shuffled(theme.len()), is_taken).ok_or_else(|| {
            CommandError::new(CommandErrorKind::NoNameLeft, "every name of this theme is taken")
                .hint("`msg join NAME` takes one of your own")
        })
    }

    /// The words that names are made of; the built-in ones if the configured ones can't be used.
    fn theme(&self) -> NameTheme {
        self.op.settings.theme().unwrap_or_else(|| {
            self.op.warn(
                "`nameTheme` is `custom`, but there are no usable `nameWords`: your name is made of the built-in words",
            );
            NameTheme::default()
        })
    }

    fn record(&self, name: AgentName, known: Option<SessionRecord>, now: Timestamp) -> Registration {
        let newcomer = self.newcomer;
        let is_human = newcomer.harness == Harness::TERMINAL;
        let last = known.as_ref().map(|known| known.last.agent.clone());
        let session = newcomer.session.clone().or(last.as_ref().map(|last| last.session.clone()));
        let unnamed = if is_human { "human" } else { "unknown" };
        let model = self.request.model.clone().or(last.as_ref().map(|last| last.model.clone()));
        let agent = Agent {
            name,
            session: session.unwrap_or_else(|| self.fresh_session()),
            process: newcomer.process(),
            harness: Some(newcomer.harness),
            cwd: self.op.folder(),
            model: model.unwrap_or_else(|| unnamed.to_string()),
            started_at: now,
            joined_at: last.as_ref().map_or(now, |last| last.joined_at),
            git_branch: WorkTree::containing(&self.op.cwd).and_then(|tree| tree.branch()),
            spec: self.spec.clone().or(last.as_ref().and_then(|last| last.spec.clone())),
            is_human,
            status: last.and_then(|last| last.status),
            tmux: newcomer.is_ours.then(tmux_pane).flatten(),
            last_activity: Some(now),
            counts: ActivityCounts::default(),
            reservations: Vec::new(),
            waits_for: Vec::new(),
            waits_for_tasks: Vec::new(),
            contests: Vec::new(),
            formerly: Vec::new(),
            restores: None,
            machine: None,
        };
        match known {
            Some(known) => known.last.with(agent),
            None => Registration::new(agent),
        }
    }
}

/// Moves mail under the session's former names that nobody has now into its grave, from where it is collected.
fn gather_mail(
    locked: &LockedMesh<'_>,
    census: &Census,
    last: &Agent,
    now: Timestamp,
) -> Result<(), CommandError> {
    for name in last.all_names() {
        let is_registered = census.local().any(|record| record.agent.answers_to(name, now))
            || census.unreadable(name).is_some();
        if !is_registered {
            locked.bury_lost_mail(name, now)?;
        }
    }
    Ok(())
}

/// What the session had reserved when it was last here. An agent that left or was evicted has nothing.
fn held_before(known: &SessionRecord) -> Vec<Reservation> {
    if known.is_current() { known.last.agent.reservations.clone() } else { Vec::new() }
}

/// What the session waited for when it was last here.
fn waited_before(known: &SessionRecord) -> (Vec<PathWait>, Vec<TaskWait>) {
    let last = &known.last.agent;
    if known.is_current() {
        (last.waits_for.clone(), last.waits_for_tasks.clone())
    } else {
        Default::default()
    }
}

/// Makes an id for a session whose host has none.
#[expect(clippy::expect_used, reason = "a UUID is short and plain")]
fn new_session() -> SessionId {
    SessionId::new(random::uuid().to_string()).expect("a UUID is a session id")
}

/// Writes down a mesh that nobody named, so that installing pi-messenger later does not change it.
fn settle(ctx: &Context) -> Result<Option<String>, CommandError> {
    if !ctx.location.was_guessed() {
        return Ok(None);
    }
    Ok(Some(config_files::set_mesh(&ctx.home, &ctx.cwd, &ctx.location.to_string())?))
}

fn count_peers(mesh: &Mesh, agent: &Agent) -> Result<usize, CommandError> {
    let census = mesh.registry().census()?;
    Ok(census
        .records
        .iter()
        .filter(|record| !record.agent.name.is_spelled_as(&agent.name) && record.is_live())
        .count())
}

/// The pane and the server's socket, for `tmux -S SOCKET … -t PANE`.
fn tmux_pane() -> Option<String> {
    let pane = variable("TMUX_PANE")?;
    let server = variable("TMUX")?;
    Some(format!("{pane}@{}", server.split(',').next()?))
}
