//! What hooks and commands reported to the feed while the agent was here: edits, commits and tasks, with who did them.

use std::collections::{BTreeSet, HashMap};

use jiff::SignedDuration;

use crate::domain::awareness::{BriefTask, ChangeMaker};
use crate::domain::{AnyEventKind, Event, EventKind};
use crate::ops::error::CommandError;
use crate::ops::feed::event::shortened_preview;
use crate::store::Mesh;
use crate::sys::git::GitCommitFiles;

use super::subject::BriefSubject;

/// A commit is reported when the command that made it has ended.
const REPORTED_WITHIN: SignedDuration = SignedDuration::from_mins(15);

/// The kinds of events that a brief uses.
const KINDS: [EventKind; 7] = [
    EventKind::Edit,
    EventKind::Commit,
    EventKind::Claim,
    EventKind::Complete,
    EventKind::Unclaim,
    EventKind::Handoff,
    EventKind::Stale,
];

/// Events while the agent was here, oldest first.
pub(super) struct FeedReports {
    events: Vec<(EventKind, Event)>,
    /// The names of the agent, in lower case.
    own: Vec<String>,
}

impl FeedReports {
    pub(super) fn read(mesh: &Mesh, subject: &BriefSubject) -> Result<Self, CommandError> {
        let kind = |event: &Event| match event.what {
            AnyEventKind::Ours(kind) => Some(kind),
            AnyEventKind::Other(_) => None,
        };
        let wanted = |event: &Event| {
            // Its claim is dropped after it went.
            let is_stale = kind(event) == Some(EventKind::Stale) && event.at >= subject.agent.joined_at;
            is_stale || (kind(event).is_some_and(|kind| KINDS.contains(&kind)) && subject.was_here(event.at))
        };
        let (batch, _) = mesh.feed().last(usize::MAX, wanted)?;
        let own = subject.agent.all_names().map(|name| name.as_str().to_ascii_lowercase()).collect();
        let events = batch.events.into_iter().filter_map(|event| Some((kind(&event)?, event))).collect();
        Ok(Self { events, own })
    }

    fn is_own(&self, event: &Event) -> bool {
        self.own.contains(&event.agent.to_ascii_lowercase())
    }

    fn of_kind(&self, wanted: EventKind) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(move |(kind, _)| *kind == wanted).map(|(_, event)| event)
    }

    /// The files that the agent edited, each once, as its hooks wrote them.
    pub(super) fn edited(&self, counted: &[String]) -> Vec<String> {
        let reported = self.of_kind(EventKind::Edit).filter(|event| self.is_own(event));
        let mut edited: Vec<String> = Vec::new();
        let mut known = BTreeSet::new();
        for path in reported.filter_map(|event| event.target.as_ref()).chain(counted) {
            if known.insert(path.as_str()) {
                edited.push(path.clone());
            }
        }
        edited
    }

    /// The agents among `sharers`, besides this one, that edited each file.
    pub(super) fn editors(&self, sharers: &BTreeSet<String>) -> HashMap<&str, Vec<String>> {
        let mut editors: HashMap<&str, Vec<String>> = HashMap::new();
        for event in self.of_kind(EventKind::Edit).filter(|event| self.is_other(event, sharers)) {
            let Some(path) = event.target.as_deref() else { continue };
            let names = editors.entry(path).or_default();
            if !names.contains(&event.agent) {
                names.push(event.agent.clone());
            }
        }
        editors
    }

    fn is_other(&self, event: &Event, sharers: &BTreeSet<String>) -> bool {
        !self.is_own(event) && sharers.contains(&event.agent.to_ascii_lowercase())
    }

    /// Who made the commit, if a hook reported one with this subject at about that time.
    pub(super) fn maker(&self, commit: &GitCommitFiles, sharers: &BTreeSet<String>) -> ChangeMaker {
        let subject = shortened_preview(&commit.subject);
        let is_it = |event: &&Event| {
            event.preview.as_deref() == Some(subject.as_str())
                && event.at.duration_since(commit.at).abs() <= REPORTED_WITHIN
        };
        let reported: Vec<&Event> = self.of_kind(EventKind::Commit).filter(is_it).collect();
        if reported.iter().any(|event| self.is_own(event)) {
            return ChangeMaker::Own;
        }
        let others: BTreeSet<&str> = reported
            .iter()
            .filter(|event| self.is_other(event, sharers))
            .map(|event| event.agent.as_str())
            .collect();
        match others.is_empty() {
            true => ChangeMaker::Unknown,
            false => ChangeMaker::Others(others.into_iter().map(str::to_string).collect()),
        }
    }

    /// Tasks that the agent claimed and neither finished nor gave away.
    pub(super) fn unfinished_tasks(&self) -> Vec<BriefTask> {
        let mut tasks: Vec<BriefTask> = Vec::new();
        for (kind, event) in self.events.iter().filter(|(_, event)| self.is_own(event)) {
            let Some(task) = &event.target else { continue };
            match kind {
                EventKind::Claim | EventKind::Stale if !tasks.iter().any(|known| known.id == *task) => {
                    let (since, reason) = match kind {
                        EventKind::Claim => (Some(event.at), event.preview.clone()),
                        _ => (None, None),
                    };
                    tasks.push(BriefTask { id: task.clone(), spec: None, since, reason });
                }
                EventKind::Complete | EventKind::Unclaim | EventKind::Handoff => {
                    tasks.retain(|known| known.id != *task);
                }
                _ => {}
            }
        }
        tasks
    }

    pub(super) fn completed_tasks(&self) -> Vec<String> {
        let own = self.of_kind(EventKind::Complete).filter(|event| self.is_own(event));
        let mut tasks: Vec<String> = own.filter_map(|event| event.target.clone()).collect();
        tasks.dedup();
        tasks
    }
}
