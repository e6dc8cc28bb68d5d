//! `.pi/messenger/feed.jsonl`: the timeline that pi-messenger keeps in a project. We read it and never write it.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::StoreError;
use super::read::{EventBatch, gather, retry_while_shrinking};
use crate::domain::Event;
use crate::sys::files::{FileError, LineFile, LinePosition};
use crate::sys::git::WorkTree;

const DIR: &str = ".pi/messenger";

/// A project: the directories in which pi may have been started.
#[derive(Clone, Debug)]
pub struct ProjectFeeds {
    roots: Vec<PathBuf>,
}

/// A position in the feeds of a project. Everything before it was seen.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ProjectFeedPosition(Vec<ProjectFilePosition>);

#[derive(Clone, Debug, Eq, PartialEq)]
struct ProjectFilePosition {
    file: PathBuf,
    place: LinePosition,
    /// The time of the latest event that was seen.
    newest: Option<Timestamp>,
}

impl ProjectFeeds {
    /// The project of a directory: the directory itself and its parents up to the root of the work tree.
    pub fn of(cwd: &Path) -> Self {
        let top = WorkTree::containing(cwd).map(|tree| tree.root);
        let is_inside = |dir: &&Path| match &top {
            Some(top) => dir.starts_with(top),
            None => *dir == cwd,
        };
        Self { roots: cwd.ancestors().take_while(is_inside).map(Path::to_path_buf).collect() }
    }

    /// The last `limit` events that match, oldest first, and the position after them.
    pub fn last_events(
        &self,
        limit: usize,
        wanted: impl Fn(&Event) -> bool,
    ) -> Result<(EventBatch, ProjectFeedPosition), StoreError> {
        let mut given = EventBatch::default();
        let mut place = ProjectFeedPosition::default();
        for file in self.files() {
            let read = || {
                let mut given = EventBatch::default();
                let Some(lines) = LineFile::open(&file)? else { return Ok(None) };
                // The time of the last event is needed even if no event matches.
                let mut last = EventBatch::default();
                gather(&lines, &mut last, 1, |_| true)?;
                gather(&lines, &mut given, limit, &wanted)?;
                given.events.reverse();
                Ok(Some((given, lines.end()?, last.events.first().map(|event| event.at))))
            };
            if let Some((more, end, newest)) = unless_refused(retry_while_shrinking(read))?.flatten() {
                given.merge(more);
                place.0.push(ProjectFilePosition { file, place: end, newest });
            }
        }
        given.keep_last(limit);
        forget_machines(&mut given);
        Ok((given, place))
    }

    /// The events since `place`, oldest first. Advances `place`.
    ///
    /// pi-messenger shortens the file by rewriting its last lines; while it does, the file is empty or half written. So
    /// if the position is lost, only events later than the latest seen one count as new. If there are none, the
    /// position is kept and tried again next time.
    pub fn news(&self, place: &mut ProjectFeedPosition) -> Result<EventBatch, StoreError> {
        let mut given = EventBatch::default();
        for file in self.files() {
            let index = place.0.iter().position(|position| position.file == file);
            let mut position = match index {
                Some(index) => place.0.swap_remove(index),
                None => ProjectFilePosition { file, place: LinePosition::default(), newest: None },
            };
            let read =
                || LineFile::open(&position.file)?.map(|lines| lines.since(&position.place)).transpose();
            if let Some(since) = unless_refused(retry_while_shrinking(read))?.flatten() {
                let mut more = EventBatch::default();
                since.lines.iter().for_each(|line| more.add(line));
                if since.is_lost {
                    more.unreadable = 0;
                    more.events.retain(|event| Some(event.at) > position.newest);
                }
                if !since.is_lost || !more.events.is_empty() {
                    position.place = since.end;
                    position.newest = more.events.iter().map(|event| event.at).max().max(position.newest);
                }
                given.merge(more);
            }
            place.0.push(position);
        }
        forget_machines(&mut given);
        Ok(given)
    }

    /// The directories to watch.
    pub(in crate::store) fn dirs(&self) -> impl Iterator<Item = PathBuf> {
        self.roots.iter().map(|root| root.join(DIR)).filter(|dir| dir.is_dir())
    }

    fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.dirs().map(|dir| dir.join("feed.jsonl"))
    }
}

/// A file of a project can't say that something happened on another machine.
fn forget_machines(given: &mut EventBatch) {
    given.events.iter_mut().for_each(|event| event.machine = None);
}

/// Treats a file that we may not read as absent: a project's permissions must not break the mesh.
fn unless_refused<T>(read: Result<T, FileError>) -> Result<Option<T>, FileError> {
    match read {
        Err(error) if error.source.kind() == std::io::ErrorKind::PermissionDenied => Ok(None),
        read => read.map(Some),
    }
}
