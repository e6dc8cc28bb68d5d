//! `.pi/messenger/feed.jsonl`: the timeline that pi-messenger keeps in a project. It is read along and never written.

use std::path::{Path, PathBuf};

use super::StoreError;
use super::read::{Given, gather, patiently};
use crate::domain::Event;
use crate::sys::files::{FileError, Lines, Place};
use crate::sys::git::WorkTree;

const DIR: &str = ".pi/messenger";

/// A project, by the directories in which pi may have been started.
#[derive(Clone, Debug)]
pub struct Project {
    roots: Vec<PathBuf>,
}

/// A place in the feeds of a project: all before it was seen.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ProjectPlace(Vec<(PathBuf, Place)>);

impl Project {
    /// The project of a directory: that one, and those above it up to the root of its work tree.
    pub fn of(cwd: &Path) -> Self {
        let top = WorkTree::containing(cwd).map(|tree| tree.root);
        let is_inside = |dir: &&Path| match &top {
            Some(top) => dir.starts_with(top),
            None => *dir == cwd,
        };
        Self { roots: cwd.ancestors().take_while(is_inside).map(Path::to_path_buf).collect() }
    }

    /// The last events that are wanted, oldest first; and the place behind them.
    pub fn last_events(
        &self,
        limit: usize,
        wanted: impl Fn(&Event) -> bool,
    ) -> Result<(Given, ProjectPlace), StoreError> {
        let mut given = Given::default();
        let mut place = ProjectPlace::default();
        for file in self.files() {
            let read = || {
                let mut given = Given::default();
                let Some(lines) = Lines::open(&file)? else { return Ok(None) };
                gather(&lines, &mut given, limit, &wanted)?;
                given.events.reverse();
                Ok(Some((given, lines.end()?)))
            };
            if let Some((more, end)) = unless_refused(patiently(read))?.flatten() {
                given.merge(more);
                place.0.push((file, end));
            }
        }
        given.keep_last(limit);
        Ok((given, place))
    }

    /// What came since, oldest first; the place moves on.
    pub fn news(&self, place: &mut ProjectPlace) -> Result<Given, StoreError> {
        let mut given = Given::default();
        for file in self.files() {
            let known = place.0.iter().find(|(known, _)| *known == file).map(|(_, place)| place.clone());
            let known = known.unwrap_or_default();
            let read = || Lines::open(&file)?.map(|lines| lines.since(&known)).transpose();
            if let Some((lines, end)) = unless_refused(patiently(read))?.flatten() {
                let mut more = Given::default();
                lines.iter().for_each(|line| more.add(line));
                given.merge(more);
                place.0.retain(|(known, _)| *known != file);
                place.0.push((file, end));
            }
        }
        Ok(given)
    }

    /// The directories that have to be watched.
    pub(in crate::store) fn dirs(&self) -> impl Iterator<Item = PathBuf> {
        self.roots.iter().map(|root| root.join(DIR)).filter(|dir| dir.is_dir())
    }

    fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.dirs().map(|dir| dir.join("feed.jsonl"))
    }
}

/// Whether a project's files may be read is not the mesh's affair.
fn unless_refused<T>(read: Result<T, FileError>) -> Result<Option<T>, FileError> {
    match read {
        Err(error) if error.source.kind() == std::io::ErrorKind::PermissionDenied => Ok(None),
        read => read.map(Some),
    }
}
