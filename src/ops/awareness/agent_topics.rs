//! `msg topics`: what agents are working on, from their prompts and files.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use jiff::Timestamp;

use crate::domain::awareness::RepositoryId;
use crate::domain::awareness::counters::AgentId;
use crate::domain::awareness::signals::AgentHeading;
use crate::domain::awareness::topics::Topic;
use crate::domain::awareness::track::{Deed, TrackLine};
use crate::domain::awareness::trajectory::{self, TopicTrend};
use crate::domain::{Agent, AgentName};
use crate::ops::agents::list::whois;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::store::{Mesh, Registration, Track};
use crate::sys::clock;

use super::WorkPlace;

/// How many files are shown of each kind.
const MOST_FILES: usize = 10;

/// What one agent is working on.
#[derive(Clone, Debug)]
pub struct AgentTopics {
    pub name: AgentName,
    /// The topics of its last prompts, the most frequent first.
    pub topics: Vec<TopicTrend>,
    /// The topics of each of those prompts, the latest last.
    pub prompts: Vec<Vec<Topic>>,
    pub last_prompt: Option<Timestamp>,
    /// The text of its last prompt, if its user shares it.
    pub text: Option<String>,
    /// The latest files that it changed, and those that it only read; the latest first.
    pub changed: Vec<String>,
    pub read: Vec<String>,
}

impl AgentTopics {
    pub(super) fn heading(&self) -> AgentHeading<'_> {
        AgentHeading { trends: &self.topics, prompts: &self.prompts, changed: &self.changed }
    }
}

/// What the agents are working on in this repository, or what that one is working on in its own.
pub fn topics(op: &Op, name: Option<&AgentName>) -> Result<Vec<AgentTopics>, CommandError> {
    let Some(mesh) = op.mesh()? else {
        op.note_absent_mesh();
        return name.map_or_else(|| Ok(Vec::new()), |name| whois(op, name).map(|_| Vec::new()));
    };
    match name {
        Some(name) => {
            let (profile, _) = whois(op, name)?;
            Ok(vec![of_agent(&mesh, &profile.agent)?])
        }
        None => {
            let here = WorkPlace::of(&op.cwd).repository;
            let (agents, track) = (live_agents(&mesh, &here)?, mesh.awareness().track(&here)?);
            Ok(agents.iter().map(|agent| from_track(&track, agent)).collect())
        }
    }
}

/// What a live agent is working on, for a screen that shows it: looking at it is not a sign of the caller's life.
pub fn topics_without_sign_of_life(op: &Op, name: &str) -> Result<Option<AgentTopics>, CommandError> {
    let Some(mesh) = op.mesh()? else { return Ok(None) };
    let Ok(name) = AgentName::new(name) else { return Ok(None) };
    let found = mesh.registry().get(&name)?.filter(Registration::is_live);
    found.map(|record| of_agent(&mesh, &record.agent)).transpose()
}

/// The live agents of a repository.
pub(super) fn live_agents(mesh: &Mesh, repository: &RepositoryId) -> Result<Vec<Agent>, CommandError> {
    let mut folders: HashMap<String, bool> = HashMap::new();
    let mut is_here = |record: &Registration| {
        let is_of_repository = |dir: &str| WorkPlace::of(Path::new(dir)).repository == *repository;
        let cwd = &record.agent.cwd;
        record.is_live() && *folders.entry(cwd.clone()).or_insert_with(|| is_of_repository(cwd))
    };
    let records = mesh.registry().local_census()?.records.into_iter();
    Ok(records.filter(&mut is_here).map(|record| record.agent).collect())
}

/// What is known of an agent's prompts and files.
pub(in crate::ops) fn of_agent(mesh: &Mesh, agent: &Agent) -> Result<AgentTopics, CommandError> {
    let place = WorkPlace::of(Path::new(&agent.cwd));
    Ok(from_track(&mesh.awareness().track(&place.repository)?, agent))
}

/// What the track of its repository says of an agent.
pub(super) fn from_track(track: &Track, agent: &Agent) -> AgentTopics {
    let id = AgentId::of(&agent.session);
    let own: Vec<&TrackLine> = track.lines.iter().filter(|line| line.stamp.agent == id).collect();
    let mut prompts: Vec<Vec<Topic>> = Vec::new();
    let (mut text, mut last_prompt) = (None, None);
    // The time of each file's last change or reading, by the number of the line.
    let (mut changed, mut read) = (BTreeMap::new(), BTreeMap::new());
    for (number, line) in own.iter().enumerate() {
        match &line.deed {
            Deed::Prompted { topics, text: shared } => {
                prompts.push(topics.clone());
                text.clone_from(shared);
                last_prompt = Timestamp::from_millisecond(line.stamp.at).ok();
            }
            Deed::Changed { files, .. } => changed.extend(files.iter().map(|file| (file.clone(), number))),
            Deed::Read { files, .. } => read.extend(files.iter().map(|file| (file.clone(), number))),
        }
    }
    read.retain(|file, _| !changed.contains_key(file));
    let first = prompts.len().saturating_sub(trajectory::WINDOW);
    let prompts = prompts.split_off(first);
    AgentTopics {
        name: agent.name.clone(),
        topics: trajectory::trends(&prompts),
        prompts,
        last_prompt: last_prompt.map(|at| at.min(clock::now())),
        text,
        changed: latest(changed),
        read: latest(read),
    }
}

fn latest(files: BTreeMap<Vec<u8>, usize>) -> Vec<String> {
    let mut files: Vec<(usize, Vec<u8>)> = files.into_iter().map(|(file, number)| (number, file)).collect();
    files.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    files.into_iter().take(MOST_FILES).map(|(_, file)| String::from_utf8_lossy(&file).into_owned()).collect()
}
