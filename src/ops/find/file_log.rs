//! `msg log`: who changed a file, reserved it, was refused, committed, and when; or what an agent did.
//!
//! What hooks saw is in the track of the repository, and events are in the feed; both are kept for a limited time. The feed
//! says of a commit only its subject, so git tells which commits are about a path.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::domain::awareness::track::{Deed, TreeId};
use crate::domain::pattern::NormalPath;
use crate::domain::{AgentName, AnyEventKind, Event, EventKind, Thing, ThingScope};
use crate::ops::agents::names;
use crate::ops::awareness::WorkPlace;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::feed::event::shortened_preview;
use crate::ops::feed::{self, FeedFilter};
use crate::ops::link::elsewhere::RepositoryHere;
use crate::store::Mesh;
use crate::sys::git::{PathCommit, ReadOnlyGit, WorkTree};
use crate::sys::paths;

use super::log_subject::{LogSubject, LoggedPath, repository};

/// How long git may take.
const GIT_LIMIT: Duration = Duration::from_secs(10);
/// The most commits of a path that git is asked for.
const MOST_COMMITS: usize = 1_000;
/// A commit is reported when the command that made it has ended.
const REPORTED_WITHIN: SignedDuration = SignedDuration::from_mins(15);
/// The feed tells of a change that the track has within this time.
const SAME_CHANGE: SignedDuration = SignedDuration::from_secs(10);
/// Changes of one file by one agent within this time are one entry.
const ONE_ENTRY: SignedDuration = SignedDuration::from_mins(10);

/// Something that was done.
#[derive(Clone, Debug, PartialEq)]
pub enum LogDeed {
    /// A file was changed so many times.
    Changed {
        file: String,
        times: usize,
        is_elsewhere: bool,
    },
    Event(Event),
}

#[derive(Clone, Debug, PartialEq)]
pub struct LogEntry {
    pub at: Timestamp,
    pub who: String,
    pub deed: LogDeed,
}

/// What is known of a path or an agent.
#[derive(Clone, Debug)]
pub struct WorkLog {
    pub subject: LogSubject,
    /// Oldest first.
    pub entries: Vec<LogEntry>,
    /// How many older ones were left out.
    pub left_out: usize,
}

/// What to tell.
#[derive(Clone, Copy, Debug)]
pub struct LogRequest<'a> {
    /// A path, or an agent if there is no such path.
    pub typed: &'a str,
    /// It is an agent in any case.
    pub is_agent: bool,
    pub since: Option<Timestamp>,
    pub limit: usize,
}

pub fn work_log(op: &Op, request: LogRequest<'_>) -> Result<WorkLog, CommandError> {
    let LogRequest { typed, is_agent, since, limit } = request;
    let place = place_of(op, typed, is_agent);
    let mesh = op.mesh()?;
    let source = LogSource::read(op, mesh.as_deref(), &place)?;
    let path = if is_agent { None } else { Some(LoggedPath::of(op, typed, &place)?) };
    let (subject, mut entries) = match path {
        None => source.of_agent(AgentName::new(typed)?, mesh.as_deref())?,
        Some(path) => {
            let entries = source.of_path(op, &path, &place, mesh.as_deref())?;
            let name = AgentName::new(typed).ok().filter(|_| entries.is_empty() && !path.exists());
            match name.filter(|name| source.knows(name, mesh.as_deref())) {
                Some(name) => source.of_agent(name, mesh.as_deref())?,
                None => (LogSubject::Path { shown: path.shown }, entries),
            }
        }
    };
    entries.retain(|entry| since.is_none_or(|since| entry.at >= since));
    entries.sort_by_key(|entry| entry.at);
    let mut entries = folded(entries);
    let left_out = entries.len().saturating_sub(limit);
    entries.drain(..left_out);
    Ok(WorkLog { subject, entries, left_out })
}

/// The repository that the path is in; the asker's for an agent, and for a path outside of git.
fn place_of(op: &Op, typed: &str, is_agent: bool) -> WorkPlace {
    let path = op.cwd.join(op.home.expand(typed));
    let dir = if path.is_dir() { Some(path.as_path()) } else { path.parent() };
    let dir = dir.filter(|dir| !is_agent && WorkTree::containing(dir).is_some());
    WorkPlace::of(dir.unwrap_or(&op.cwd))
}

/// A file that an agent changed, by the track.
struct RecordedChange {
    at: Timestamp,
    who: AgentName,
    tree: TreeId,
    file: String,
}

/// All that is kept about the repository.
struct LogSource {
    tree: TreeId,
    changes: Vec<RecordedChange>,
    events: Vec<Event>,
}

impl LogSource {
    fn read(op: &Op, mesh: Option<&Mesh>, place: &WorkPlace) -> Result<Self, CommandError> {
        let mut changes = Vec::new();
        if let Some(mesh) = mesh {
            for line in mesh.awareness().track(&place.repository)?.lines {
                let Ok(at) = Timestamp::from_millisecond(line.stamp.at) else { continue };
                let Deed::Changed { tree, files } = line.deed else { continue };
                let named = files.iter().map(|file| RecordedChange {
                    at,
                    who: line.stamp.name.clone(),
                    tree,
                    file: String::from_utf8_lossy(file).into_owned(),
                });
                changes.extend(named);
            }
        }
        let recent = feed::recent(op, usize::MAX, &FeedFilter::default())?;
        recent.complain(op);
        Ok(Self { tree: place.tree, changes, events: recent.events })
    }

    fn of_path(
        &self,
        op: &Op,
        path: &LoggedPath,
        place: &WorkPlace,
        mesh: Option<&Mesh>,
    ) -> Result<Vec<LogEntry>, CommandError> {
        let roots = path.roots(op);
        let strangers = self.strangers(mesh, &roots)?;
        let mut entries: Vec<LogEntry> = self
            .changes
            .iter()
            .filter(|change| path.has_file(&change.file))
            .map(|one| self.entry(one))
            .collect();
        let is_about = |event: &&Event| {
            let AnyEventKind::Ours(kind) = &event.what else { return false };
            let Some(target) = event.target.as_deref().filter(|_| tells_of_paths(*kind)) else {
                return false;
            };
            let is_ours = target.starts_with('/')
                || is_of_machine(target)
                || !strangers.contains(&event.agent.to_ascii_lowercase());
            is_ours && path.is_meant_by(target, &roots) && !self.is_recorded(event, &roots)
        };
        entries.extend(self.events.iter().filter(is_about).map(of_event));
        let commits = commits_of(op, path, place);
        let is_commit = |event: &&Event| {
            event.what == AnyEventKind::Ours(EventKind::Commit)
                && commits.iter().any(|commit| is_same(commit, event))
        };
        entries.extend(self.events.iter().filter(is_commit).map(of_event));
        Ok(entries)
    }

    fn of_agent(
        &self,
        name: AgentName,
        mesh: Option<&Mesh>,
    ) -> Result<(LogSubject, Vec<LogEntry>), CommandError> {
        let filter = FeedFilter { agent: Some(name.to_string()), ..FeedFilter::default() };
        let mut entries: Vec<LogEntry> =
            self.changes.iter().filter(|change| change.who == name).map(|one| self.entry(one)).collect();
        let is_told = |event: &&Event| {
            let is_message = event.what == AnyEventKind::Ours(EventKind::Message);
            !is_message && filter.is(event) && !self.is_recorded(event, &[])
        };
        entries.extend(self.events.iter().filter(is_told).map(of_event));
        if entries.is_empty() {
            match mesh {
                Some(mesh) => names::must_be_known(mesh, &name)?,
                None => return Err(feed::no_mesh(&name)),
            }
        }
        Ok((LogSubject::Agent(name), entries))
    }

    fn knows(&self, name: &AgentName, mesh: Option<&Mesh>) -> bool {
        let is_there = |mesh| names::must_be_known(mesh, name).is_ok();
        self.changes.iter().any(|change| change.who == *name)
            || self.events.iter().any(|event| event.agent.eq_ignore_ascii_case(name.as_str()))
            || mesh.is_some_and(is_there)
    }

    fn entry(&self, change: &RecordedChange) -> LogEntry {
        let is_elsewhere = change.tree != self.tree;
        let deed = LogDeed::Changed { file: change.file.clone(), times: 1, is_elsewhere };
        LogEntry { at: change.at, who: change.who.to_string(), deed }
    }

    /// Whether the event tells of a change that the track has, too.
    fn is_recorded(&self, event: &Event, roots: &[NormalPath]) -> bool {
        let Some(target) = event.target.as_deref() else { return false };
        let is_file =
            |file: &str| target == file || roots.iter().any(|root| root.join(target) == root.join(file));
        event.what == AnyEventKind::Ours(EventKind::Edit)
            && self.changes.iter().any(|change| {
                change.who.as_str().eq_ignore_ascii_case(&event.agent)
                    && event.at.duration_since(change.at).abs() <= SAME_CHANGE
                    && is_file(&change.file)
            })
    }

    /// The agents that are known to work elsewhere only, in lower case: their relative paths are about other files.
    fn strangers(&self, mesh: Option<&Mesh>, roots: &[NormalPath]) -> Result<HashSet<String>, CommandError> {
        let Some(mesh) = mesh else { return Ok(HashSet::new()) };
        let here: HashSet<String> =
            self.changes.iter().map(|change| change.who.as_str().to_ascii_lowercase()).collect();
        let ours = roots.first().and_then(repository);
        let mut strangers = HashSet::new();
        let dir = roots.first().map_or(Path::new("/"), |root| Path::new(root.as_str()));
        let place = RepositoryHere::new(mesh, dir);
        for record in mesh.registry().census()?.records {
            let name = record.agent.name.as_str().to_ascii_lowercase();
            if record.agent.is_remote() {
                if !place.is_of(&record.agent) && !here.contains(&name) {
                    strangers.insert(name);
                }
                continue;
            }
            let theirs = repository(&paths::resolve(Path::new(&record.agent.cwd)));
            let is_near = match (&ours, &theirs) {
                (Some(ours), Some(theirs)) => ours == theirs,
                (None, None) => roots.iter().any(|root| root.is_related(&record.agent.cwd)),
                _ => false,
            };
            if !is_near && !here.contains(&name) {
                strangers.insert(name);
            }
        }
        Ok(strangers)
    }
}

/// Whether it is a thing that is the same in every folder, such as a port.
fn is_of_machine(target: &str) -> bool {
    matches!(Thing::parse(target), Some(Ok(thing)) if thing.scope() == ThingScope::Machine)
}

/// Whether the target of such an event is a path or a pattern.
fn tells_of_paths(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::Reserve
            | EventKind::Release
            | EventKind::Refused
            | EventKind::Contest
            | EventKind::Answer
            | EventKind::Take
            | EventKind::Edit
    )
}

fn of_event(event: &Event) -> LogEntry {
    LogEntry { at: event.at, who: event.agent.clone(), deed: LogDeed::Event(event.clone()) }
}

/// The commits that changed the path; none outside of git. Without git's answer the rest is still worth showing.
fn commits_of(op: &Op, path: &LoggedPath, place: &WorkPlace) -> Vec<PathCommit> {
    let Some(tree) = WorkTree::containing(&place.root).filter(|_| path.is_inside()) else {
        return Vec::new();
    };
    let commits =
        ReadOnlyGit::at(&tree, GIT_LIMIT).and_then(|git| git.commits_of(path.whole().as_str(), MOST_COMMITS));
    commits.unwrap_or_else(|error| {
        op.warn(format!("commits are left out, because git could not tell which are about it: {error}"));
        Vec::new()
    })
}

/// Whether the event reports this commit. What is rebased keeps the time of its author.
fn is_same(commit: &PathCommit, event: &Event) -> bool {
    let is_near = |at: Timestamp| event.at.duration_since(at).abs() <= REPORTED_WITHIN;
    event.preview.as_deref() == Some(shortened_preview(&commit.subject).as_str())
        && (is_near(commit.at) || is_near(commit.authored_at))
}

/// Changes of one file by one agent that follow each other closely become one entry.
fn folded(entries: Vec<LogEntry>) -> Vec<LogEntry> {
    let mut folded: Vec<LogEntry> = Vec::new();
    for entry in entries {
        let last = folded.iter_mut().rev().take(8).find(|last| last.who == entry.who);
        if let (Some(last), LogDeed::Changed { file, is_elsewhere, .. }) = (last, &entry.deed)
            && let LogDeed::Changed { file: same, times, is_elsewhere: there } = &mut last.deed
            && same == file
            && there == is_elsewhere
            && entry.at.duration_since(last.at) <= ONE_ENTRY
        {
            *times += 1;
            last.at = entry.at;
            continue;
        }
        folded.push(entry);
    }
    folded.sort_by_key(|entry| entry.at);
    folded
}
