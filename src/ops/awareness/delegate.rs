//! `msg delegate` and `msg suggest`: who could take a piece of work, and why.
//!
//! Whose topics and files fit comes first, and of those whoever has room: no task, and neither away nor stuck. Nothing
//! is sent unless a name is given.

use std::path::Path;

use crate::domain::awareness::BriefDetail;
use crate::domain::awareness::fit::{WorkFit, passed_topics, work_fit};
use crate::domain::awareness::topics::{self, Topic};
use crate::domain::awareness::trajectory::TopicTrend;
use crate::domain::{AgentName, MessageKind, Presence};
use crate::ops::agents::identity;
use crate::ops::agents::profile::{AgentProfile, claims_to_look_at};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::messages::send::{MessageDraft, SendReport, send};
use crate::ops::tasks::{TaskState, boards};
use crate::store::{Census, Mesh};

use super::WorkPlace;
use super::agent_topics;
use super::brief::{self, BriefSubject};
use super::record::noise;

/// The most candidates and suggestions that are shown.
const MOST: usize = 5;
/// The most specs whose tasks are looked at.
const MOST_SPECS: usize = 10;

/// An agent that could take a piece of work.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub name: AgentName,
    pub presence: Presence,
    /// The task that it works on.
    pub task: Option<String>,
    pub unread: usize,
    /// Whether it has no task and is neither away nor stuck.
    pub has_room: bool,
    pub fit: WorkFit,
}

/// Who could take a piece of work.
#[derive(Clone, Debug, Default)]
pub struct DelegationProposal {
    /// The topics of the text.
    pub topics: Vec<Topic>,
    /// Those whose topics or files fit, the best first.
    pub candidates: Vec<Candidate>,
    /// Others that have room.
    pub free: Vec<AgentName>,
}

/// A task that is ready, and an agent whose topics or files fit it and who has room.
#[derive(Clone, Debug)]
pub struct TaskSuggestion {
    pub task: String,
    pub title: String,
    pub to: Candidate,
}

/// Topics that one agent is leaving and another is coming to.
#[derive(Clone, Debug)]
pub struct TransferSuggestion {
    pub topics: Vec<Topic>,
    pub from: AgentName,
    pub to: AgentName,
}

/// What `suggest` found.
#[derive(Clone, Debug, Default)]
pub struct Suggestions {
    pub tasks: Vec<TaskSuggestion>,
    pub transfers: Vec<TransferSuggestion>,
}

/// Sends the text to an agent, with the caller's brief below it if that is wanted.
pub fn delegate(op: &Op, text: &str, to: &AgentName, brief: BriefChoice) -> Result<SendReport, CommandError> {
    check_text(text)?;
    let text = match brief {
        BriefChoice::Without => text.to_string(),
        BriefChoice::With => {
            let (mesh, caller) = identity::caller(op)?;
            let found = brief::of_subject(op, &mesh, &BriefSubject::caller(caller.agent).read_by(to))?;
            let lines = brief::brief_text(op, &found, BriefDetail::Short);
            format!("{}\n\n{}", text.trim_end(), lines.join("\n"))
        }
    };
    send(
        op,
        &[to.to_string()],
        &MessageDraft { text, kind: Some(MessageKind::Delegate), ..MessageDraft::default() },
    )
}

/// Whether the caller's brief goes along.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BriefChoice {
    With,
    Without,
}

/// Who in this repository could take that work. Sends nothing.
pub fn propose(op: &Op, text: &str) -> Result<DelegationProposal, CommandError> {
    check_text(text)?;
    let topics = topics_of(op, text);
    let Some(mesh) = op.mesh()? else {
        op.note_absent_mesh();
        return Ok(DelegationProposal { topics, ..DelegationProposal::default() });
    };
    let census = mesh.registry().census()?;
    let mut candidates = Vec::new();
    let mut free = Vec::new();
    for peer in peers(op, &mesh, &census)? {
        let candidate = peer.candidate(&topics);
        match candidate.fit.score {
            0 if candidate.has_room => free.push(candidate.name),
            0 => {}
            _ => candidates.push(candidate),
        }
    }
    candidates.sort_by_key(|found| std::cmp::Reverse((found.has_room, found.fit.score)));
    candidates.truncate(MOST);
    Ok(DelegationProposal { topics, candidates, free })
}

/// Tasks that agents in this repository could take, and knowledge that they could pass on.
pub fn suggest(op: &Op) -> Result<Suggestions, CommandError> {
    let Some(mesh) = op.mesh()? else {
        op.note_absent_mesh();
        return Ok(Suggestions::default());
    };
    let census = mesh.registry().census()?;
    let peers = everyone(op, &mesh, &census)?;
    Ok(Suggestions { tasks: fitting_tasks(op, &mesh, &census, &peers)?, transfers: transfers(&peers) })
}

/// The best agent for each task that is ready. Nobody gets two.
fn fitting_tasks(
    op: &Op,
    mesh: &Mesh,
    census: &Census,
    peers: &[Peer],
) -> Result<Vec<TaskSuggestion>, CommandError> {
    let mut found: Vec<TaskSuggestion> = Vec::new();
    let lists = boards(mesh, census, MOST_SPECS)?.into_iter().filter_map(|board| board.tasks.ok());
    let ready = lists.flat_map(|list| list.tasks).filter(|task| task.state == TaskState::Open);
    for task in ready {
        let topics = topics_of(op, &task.title);
        let candidates = peers.iter().map(|peer| peer.candidate(&topics));
        found.extend(
            candidates
                .filter(|candidate| candidate.has_room && candidate.fit.score > 0)
                .map(|to| TaskSuggestion { task: task.id.clone(), title: task.title.clone(), to }),
        );
    }
    found.sort_by_key(|suggestion| std::cmp::Reverse(suggestion.to.fit.score));
    let mut kept: Vec<TaskSuggestion> = Vec::new();
    for suggestion in found {
        let is_same = |known: &TaskSuggestion| {
            known.to.name == suggestion.to.name
                || (&known.task, &known.title) == (&suggestion.task, &suggestion.title)
        };
        if kept.len() < MOST && !kept.iter().any(is_same) {
            kept.push(suggestion);
        }
    }
    Ok(kept)
}

fn transfers(peers: &[Peer]) -> Vec<TransferSuggestion> {
    let pairs = peers.iter().flat_map(|from| peers.iter().map(move |to| (from, to)));
    let found = pairs.map(|(from, to)| TransferSuggestion {
        topics: passed_topics(&from.topics, &to.topics),
        from: from.profile.agent.name.clone(),
        to: to.profile.agent.name.clone(),
    });
    let mut found: Vec<TransferSuggestion> = found.filter(|transfer| !transfer.topics.is_empty()).collect();
    found.sort_by_key(|transfer| std::cmp::Reverse(transfer.topics.len()));
    found.truncate(MOST);
    found
}

/// An agent of this repository.
struct Peer {
    profile: AgentProfile,
    topics: Vec<TopicTrend>,
    files: Vec<String>,
}

impl Peer {
    fn candidate(&self, wanted: &[Topic]) -> Candidate {
        let task = self.profile.claims.first().map(|claim| claim.task.clone());
        let is_here = matches!(self.profile.presence, Presence::Active | Presence::Idle);
        Candidate {
            name: self.profile.agent.name.clone(),
            presence: self.profile.presence,
            has_room: task.is_none() && is_here,
            task,
            unread: self.profile.unread,
            fit: work_fit(wanted, &self.topics, &self.files),
        }
    }
}

/// The agents that work in this repository; no people.
fn everyone(op: &Op, mesh: &Mesh, census: &Census) -> Result<Vec<Peer>, CommandError> {
    let here = WorkPlace::of(&op.cwd).repository;
    let claims = claims_to_look_at(op, mesh);
    let mut peers = Vec::new();
    for record in census.local().filter(|record| record.is_live() && !record.agent.is_human) {
        if WorkPlace::of(Path::new(&record.agent.cwd)).repository != here {
            continue;
        }
        let profile = AgentProfile::of_record(op, mesh, record, &claims)?;
        let known = agent_topics::of_agent(mesh, &record.agent)?;
        let files = known.changed.into_iter().chain(known.read).collect();
        peers.push(Peer { profile, topics: known.topics, files });
    }
    Ok(peers)
}

/// The agents that work in this repository, besides the caller.
fn peers(op: &Op, mesh: &Mesh, census: &Census) -> Result<Vec<Peer>, CommandError> {
    let me = identity::caller_if_certain(op, mesh, census).map(|agent| agent.name);
    let mut peers = everyone(op, mesh, census)?;
    peers.retain(|peer| Some(&peer.profile.agent.name) != me.as_ref());
    Ok(peers)
}

fn topics_of(op: &Op, text: &str) -> Vec<Topic> {
    let noise = noise(op, &WorkPlace::of(&op.cwd));
    topics::rank(topics::mentions(text, &noise), |_| 0)
}

fn check_text(text: &str) -> Result<(), CommandError> {
    match text.trim().is_empty() {
        true => Err(CommandError::new(CommandErrorKind::InvalidValue, "there is no text to delegate")
            .hint("for example: msg delegate \"write tests for the login\"")),
        false => Ok(()),
    }
}
