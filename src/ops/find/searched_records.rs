//! What a search looks through besides messages: the feed, tasks and completions.

use std::collections::HashSet;

use jiff::Timestamp;

use crate::domain::text_search::searchable;
use crate::domain::{Agent, AnyEventKind, Event, EventKind};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::feed::{self, FeedFilter};
use crate::ops::tasks::{self, TaskList, TaskView};
use crate::store::{Completion, Mesh, StoredMessage};

/// The most specs that are looked through for a person.
const MOST_SPECS: usize = 16;

/// What was found.
#[derive(Clone, Debug)]
pub enum FoundThing {
    Message(Box<StoredMessage>),
    Event(Event),
    Task { spec: Option<String>, task: Box<TaskView> },
    Completion(Box<Completion>),
}

impl FoundThing {
    /// Who said or did it.
    pub fn who(&self) -> Option<&str> {
        match self {
            Self::Message(filed) => Some(&filed.message.from),
            Self::Event(event) => Some(&event.agent),
            Self::Task { task, .. } => task.claim.as_ref().map(|claim| claim.agent.as_str()),
            Self::Completion(completion) => Some(&completion.by),
        }
    }

    pub fn at(&self) -> Option<Timestamp> {
        match self {
            Self::Message(filed) => Some(filed.message.timestamp),
            Self::Event(event) => Some(event.at),
            Self::Task { task, .. } => task.claim.as_ref().map(|claim| claim.claimed_at),
            Self::Completion(completion) => Some(completion.at),
        }
    }

    /// The text that an excerpt is made of. That of an event is quoted already.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Message(filed) => filed.message.text.clone(),
            Self::Event(event) => format!("{} {}", event.subject(), event.phrase()),
            Self::Task { task, .. } => task.title.clone(),
            Self::Completion(completion) => completion.notes.clone().unwrap_or_default(),
        }
    }

    fn searched(&self) -> String {
        match self {
            Self::Message(filed) => searchable(&filed.message.text),
            Self::Event(event) => {
                let parts = [Some(event.agent.as_str()), event.target.as_deref(), event.preview.as_deref()];
                let said = parts.into_iter().flatten().collect::<Vec<_>>().join("\n");
                searchable(&format!("{}\n{said}", event.what.name()))
            }
            Self::Task { task, .. } => searchable(&format!("{}\n{}", task.id, task.title)),
            Self::Completion(done) => {
                let notes = done.notes.as_deref().unwrap_or_default();
                searchable(&format!("{}\n{}\n{notes}", done.task, done.by))
            }
        }
    }
}

/// Events, tasks and completions, with their texts put together.
#[derive(Default)]
pub(super) struct SearchedRecords {
    pub(super) things: Vec<FoundThing>,
    pub(super) texts: String,
    pub(super) starts: Vec<u32>,
}

impl SearchedRecords {
    pub(super) fn read(op: &Op, mesh: Option<&Mesh>, caller: Option<&Agent>) -> Result<Self, CommandError> {
        let mut records = Self::default();
        let mut finished: HashSet<(String, String)> = HashSet::new();
        if let Some(mesh) = mesh {
            let completions = mesh.tasks().completions()?;
            for done in completions.specs().flat_map(|spec| completions.of(spec)) {
                finished.insert((done.by.to_ascii_lowercase(), done.task.clone()));
                records.add(FoundThing::Completion(Box::new(done)));
            }
            for list in task_lists(op, mesh, caller)? {
                for task in list.tasks {
                    records.add(FoundThing::Task { spec: list.spec.clone(), task: Box::new(task) });
                }
            }
        }
        for event in feed::recent(op, usize::MAX, &FeedFilter::default())?.events {
            let is_told_twice = match &event.what {
                // It is there as a message to those who may read it.
                AnyEventKind::Ours(EventKind::Message) => event.preview.is_none(),
                AnyEventKind::Ours(EventKind::Complete) => event
                    .target
                    .as_ref()
                    .is_some_and(|task| finished.contains(&(event.agent.to_ascii_lowercase(), task.clone()))),
                _ => false,
            };
            if !is_told_twice {
                records.add(FoundThing::Event(event));
            }
        }
        Ok(records)
    }

    fn add(&mut self, thing: FoundThing) {
        self.starts.push(self.texts.len() as u32);
        self.texts.push_str(&thing.searched());
        self.things.push(thing);
    }
}

/// The caller's tasks; for a person who has not joined those of every spec that somebody works on. A spec that cannot be
/// read is no reason to find nothing.
fn task_lists(op: &Op, mesh: &Mesh, caller: Option<&Agent>) -> Result<Vec<TaskList>, CommandError> {
    let lists: Vec<Result<TaskList, CommandError>> = match caller {
        Some(agent) => agent.spec.as_deref().map(|spec| tasks::tasks(op, Some(spec))).into_iter().collect(),
        None => {
            let census = mesh.registry().census()?;
            tasks::boards(mesh, &census, MOST_SPECS)?.into_iter().map(|board| board.tasks).collect()
        }
    };
    let read = |list: Result<TaskList, CommandError>| {
        list.inspect_err(|error| op.warn(format!("the tasks of a spec are left out: {}", error.message))).ok()
    };
    Ok(lists.into_iter().filter_map(read).collect())
}
