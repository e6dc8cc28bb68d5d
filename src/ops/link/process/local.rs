//! What this machine has: the agents, tasks and paths that the server is to know of.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::domain::link::{
    LeaseEpoch, MachineName, RecordOwner, TaskHolding, TaskKey, TaskRecord, name_token, shared, task_token,
};
use crate::domain::{Agent, AgentName, Reservation, RootCommit, SessionId};
use crate::ops::agents::roster::Roster;
use crate::ops::error::CommandError;
use crate::ops::tasks::SharedSpec;
use crate::store::link_format::{name_bytes, shared_agent};
use crate::store::{Completion, Mesh, Registration};
use crate::sys::clock;
use crate::sys::git::{RepositoryStart, WorkTree};

/// How long git may take to say where a repository began.
const GIT: Duration = Duration::from_secs(5);

/// How long git is not asked again where it has failed.
const AFTER_FAILURE: Duration = Duration::from_secs(60);

/// The session of whoever completed a task and may have left since.
const SOMEBODY: &str = "somebody";

/// What this machine has at one moment.
#[derive(Debug, Default)]
pub(super) struct LocalState {
    /// Its live agents, those whose registration can't be read now as they were last known.
    pub(super) agents: Vec<Agent>,
    /// Whether these are all: a registration that can't be read may be anybody's.
    pub(super) knows_all_agents: bool,
    /// The records of their names, by key.
    pub(super) names: BTreeMap<String, (AgentName, Agent, Vec<u8>)>,
    /// Their claims, by key.
    pub(super) tasks: BTreeMap<String, (Agent, TaskRecord)>,
    /// Whether of all claims it is known which tasks they are for other machines.
    pub(super) knows_all_tasks: bool,
    /// What was completed here, by key; read only if a claim has ended that the server still has.
    pub(super) completed: BTreeMap<String, TaskRecord>,
    /// What they hold in repositories.
    pub(super) paths: BTreeMap<RootCommit, Vec<(Agent, Vec<Reservation>)>>,
}

/// What was completed here.
#[derive(Debug)]
pub(super) struct LocalCompletions<T> {
    pub(super) completions: T,
    /// Whether that is all: of some specs it may not be known now what they are for other machines.
    pub(super) is_all: bool,
}

/// Reads what this machine has. Remembers where repositories began.
#[derive(Debug, Default)]
pub(super) struct LocalReader {
    repositories: HashMap<PathBuf, Option<RootCommit>>,
    specs: HashMap<String, SharedSpec>,
    /// Where git has failed, and when.
    failed: HashMap<PathBuf, Instant>,
}

/// It can't be found out now.
#[derive(Clone, Copy, Debug)]
struct NotKnown;

impl LocalReader {
    pub(super) fn read(
        &mut self,
        mesh: &Mesh,
        machine: &MachineName,
        epoch: &LeaseEpoch,
    ) -> Result<LocalState, CommandError> {
        let now = clock::now();
        let roster = Roster::of(mesh, Cow::Owned(mesh.registry().local_census()?));
        let is_ours = |record: &&Registration| record.agent.is_ours() && record.is_live();
        let agents: Vec<Agent> =
            roster.records().filter(is_ours).map(|record| record.agent.clone()).collect();
        let owner = |agent: &Agent| RecordOwner {
            machine: machine.clone(),
            epoch: epoch.clone(),
            agent: agent.name.clone(),
            session: agent.session.clone(),
        };
        // What is being buried is under another name for a moment.
        let knows_all_agents = roster.unknown().is_empty() && !roster.census().has_taken;
        let mut state = LocalState { knows_all_agents, ..LocalState::default() };
        for agent in &agents {
            let repository = self.repository(mesh, Path::new(&agent.cwd));
            // When it was last active is said apart: a record changes only if what it says of the agent does.
            let shown = shared_agent(agent);
            let bytes = name_bytes(&agent.name, &owner(agent), Some(&shown), repository.as_ref());
            state.names.insert(name_token(&agent.name), (agent.name.clone(), agent.clone(), bytes));
            for former in agent.formerly.iter().filter(|former| former.until > now) {
                let bytes = name_bytes(&former.name, &owner(agent), None, None);
                let entry = (former.name.clone(), agent.clone(), bytes);
                state.names.entry(name_token(&former.name)).or_insert(entry);
            }
            for held in agent.reservations.iter().filter(|held| held.binds(now)) {
                let (Some(repository), Some(shown)) = (held.reach.repository(), shared(held, &agent.cwd))
                else {
                    continue;
                };
                let of_repository = state.paths.entry(repository.clone()).or_default();
                match of_repository.iter_mut().find(|(known, _)| known.session == agent.session) {
                    Some((_, paths)) => paths.push(shown),
                    None => of_repository.push((agent.clone(), vec![shown])),
                }
            }
        }
        self.read_tasks(mesh, &agents, &owner, &mut state)?;
        state.agents = agents;
        Ok(state)
    }

    fn read_tasks(
        &mut self,
        mesh: &Mesh,
        agents: &[Agent],
        owner: &dyn Fn(&Agent) -> RecordOwner,
        state: &mut LocalState,
    ) -> Result<(), CommandError> {
        let claims = mesh.tasks().claims()?;
        state.knows_all_tasks = state.knows_all_agents;
        for agent in agents {
            for claim in claims.of(agent) {
                let spec = match self.spec(mesh, &claim.spec) {
                    Ok(Some(spec)) => spec,
                    Ok(None) => continue,
                    Err(NotKnown) => {
                        state.knows_all_tasks = false;
                        continue;
                    }
                };
                let key = spec.task(&claim.task);
                let holding = TaskHolding::Claimed { since: claim.claimed_at, reason: claim.reason.clone() };
                let record = TaskRecord { key, owner: owner(agent), holding, reopened: None };
                state.tasks.insert(task_token(&record.key), (agent.clone(), record));
            }
        }
        Ok(())
    }

    /// What was completed here, with the keys of the tasks.
    pub(super) fn completions(
        &mut self,
        mesh: &Mesh,
    ) -> Result<LocalCompletions<Vec<(TaskKey, Completion)>>, CommandError> {
        let (mut all, mut is_all) = (Vec::new(), true);
        let completions = mesh.tasks().completions()?;
        for finished in completions.specs() {
            match self.spec(mesh, finished.spec()) {
                Ok(Some(spec)) => {
                    all.extend(
                        completions.of(finished).into_iter().map(|done| (spec.task(&done.task), done)),
                    );
                }
                Ok(None) => {}
                Err(NotKnown) => is_all = false,
            }
        }
        Ok(LocalCompletions { completions: all, is_all })
    }

    /// The same as records of the server, by key.
    pub(super) fn completed(
        &mut self,
        mesh: &Mesh,
        machine: &MachineName,
        epoch: &LeaseEpoch,
    ) -> Result<LocalCompletions<BTreeMap<String, TaskRecord>>, CommandError> {
        let mut records = BTreeMap::new();
        let LocalCompletions { completions: all, is_all } = self.completions(mesh)?;
        let Ok(session) = SessionId::new(SOMEBODY) else {
            return Ok(LocalCompletions { completions: records, is_all });
        };
        for (key, done) in all {
            // Who completed it may have left: its name is what is known.
            let Ok(agent) = AgentName::new(done.by.as_str()) else { continue };
            let (machine, epoch, session) = (machine.clone(), epoch.clone(), session.clone());
            let owner = RecordOwner { machine, epoch, agent, session };
            let holding = TaskHolding::Done { at: done.at, notes: done.notes.clone() };
            let record = TaskRecord { key, owner, holding, reopened: None };
            records.insert(task_token(&record.key), record);
        }
        Ok(LocalCompletions { completions: records, is_all })
    }

    /// The spec as all machines know it. What is not known now may be later: a repository gets its first commit.
    fn spec(&mut self, mesh: &Mesh, key: &str) -> Result<Option<SharedSpec>, NotKnown> {
        if let Some(known) = self.specs.get(key) {
            return Ok(Some(known.clone()));
        }
        let place = Path::new(key);
        if self.is_asked_too_often(place) {
            return Err(NotKnown);
        }
        match SharedSpec::of(mesh, key) {
            Ok(found) => {
                found.iter().for_each(|found| drop(self.specs.insert(key.to_string(), found.clone())));
                Ok(found)
            }
            Err(_) => {
                self.failed.insert(place.to_path_buf(), Instant::now());
                Err(NotKnown)
            }
        }
    }

    /// Whether git has failed there a moment ago. It may hang for as long as it is waited for, and everybody with it.
    fn is_asked_too_often(&self, place: &Path) -> bool {
        self.failed.get(place).is_some_and(|failed| failed.elapsed() < AFTER_FAILURE)
    }

    /// The first commit of the repository that the directory is in.
    fn repository(&mut self, mesh: &Mesh, dir: &Path) -> Option<RootCommit> {
        let tree = WorkTree::containing(dir)?;
        if let Some(known) = self.repositories.get(&tree.root) {
            return known.clone();
        }
        if self.is_asked_too_often(&tree.root) {
            return None;
        }
        let commit = match mesh.repositories().start(&tree, GIT) {
            Ok((RepositoryStart::At(commit), record)) => {
                record.iter().for_each(|record| mesh.repositories().save(record));
                RootCommit::new(&commit)
            }
            // It may get its first commit later.
            Ok(_) => return None,
            Err(_) => {
                self.failed.insert(tree.root, Instant::now());
                return None;
            }
        };
        self.repositories.insert(tree.root, commit.clone());
        commit
    }
}
