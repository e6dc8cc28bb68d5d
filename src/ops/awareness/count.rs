//! The background job that counts which words led to which files: at first in the history of the repository, then in
//! what its agents do.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::domain::awareness::RepositoryId;
use crate::domain::awareness::counters::AgentId;
use crate::domain::awareness::past_work::PastWork;
use crate::domain::awareness::retention;
use crate::domain::awareness::topics::NoiseWords;
use crate::domain::awareness::track::{Deed, TrackLine};
use crate::domain::awareness::work_event::{self, WorkEvent};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::store::{CountedPart, CountedTrack, Mesh, RepositoryCounts, StoreError, Track};
use crate::sys::clock;
use crate::sys::git::{self, PastCommit};

use super::WorkPlace;
use super::record::noise;

/// How many commits are looked at.
const MOST_COMMITS: usize = 3_000;
/// An agent that did nothing for a week is forgotten, in milliseconds.
const WEEK: i64 = 7 * 24 * 3600 * 1000;

/// Counts what is not counted yet. Another process that counts already is left to it.
pub(in crate::ops) fn count(op: &Op) -> Result<(), CommandError> {
    let Some(mesh) = op.mesh()? else { return Ok(()) };
    let place = WorkPlace::of(&op.cwd);
    let Some(lock) = mesh.awareness().lock_counting(&place.repository)? else { return Ok(()) };
    let (mut counts, part) = match read(&mesh, &place.repository) {
        // The repository may have had no commits, or git failed.
        Ok(Some((counts, part))) if counts.counters.events == 0 => (from_history(op, &place)?, Some(part)),
        Ok(Some((counts, part))) => (counts, Some(part)),
        Ok(None) => (from_history(op, &place)?, None),
        Err(StoreError::Corrupt { reason, .. }) => {
            op.warn(format!(
                "the counts of `{}` could not be used ({reason}); they are counted again from its history",
                place.root.display()
            ));
            (from_history(op, &place)?, None)
        }
        Err(error) => return Err(error.into()),
    };
    let track = mesh.awareness().track(&place.repository)?;
    let now = clock::now();
    let since = (now - op.settings.awareness_window()).as_millisecond();
    super::resolve::resolve(op, &mesh, &place, &track, now)?;
    let (events, open) = split(&track, part, since);
    for event in &events {
        let files: Vec<Vec<u8>> = event.files.iter().map(|file| file.path.clone()).collect();
        counts.count(Some((event.agent, event.at)), &event.topics, &files);
    }
    counts.forget_agents(now.as_millisecond() - WEEK);
    let known = known_agents(&mesh)?;
    let is_open: HashSet<usize> = open.iter().copied().collect();
    let is_done = |(number, _): &(usize, &TrackLine)| !is_open.contains(number);
    let done: Vec<TrackLine> =
        track.lines.iter().enumerate().filter(is_done).map(|(_, line)| line.clone()).collect();
    let rest = CountedTrack {
        kept: retention::kept(&done, now.as_millisecond(), since, |agent| known.contains(&agent)),
        open: open.iter().map(|number| track.lines[*number].clone()).collect(),
    };
    Ok(lock.replace(&track, &counts, &rest)?)
}

fn read(
    mesh: &Mesh,
    repository: &RepositoryId,
) -> Result<Option<(RepositoryCounts, CountedPart)>, StoreError> {
    let Some(file) = mesh.awareness().counts(repository)? else { return Ok(None) };
    Ok(Some((file.all()?, file.counted)))
}

/// The events to count, and the numbers of the lines of events that are not over. An event that began before `since` is
/// over: its agent is gone, or has been working without a prompt for hours.
fn split(track: &Track, part: Option<CountedPart>, since: i64) -> (Vec<WorkEvent>, Vec<usize>) {
    let first = track.counted_lines(part);
    let fresh = &track.lines[first..];
    let mut events = work_event::events(fresh);
    let mut open: HashMap<AgentId, usize> = HashMap::new();
    events.retain(|event| {
        let is_over = event.is_over || event.at < since;
        if !is_over {
            open.insert(event.agent, event.first_line);
        }
        is_over && !event.files.is_empty()
    });
    let is_of_open = |(number, line): &(usize, &TrackLine)| {
        let is_event = !matches!(line.deed, Deed::Read { .. });
        is_event && open.get(&line.stamp.agent).is_some_and(|begin| number >= begin)
    };
    let lines = fresh.iter().enumerate().filter(is_of_open).map(|(number, _)| first + number);
    (events, lines.collect())
}

/// The agents whose sessions are remembered. What others did is not kept.
fn known_agents(mesh: &Mesh) -> Result<HashSet<AgentId>, CommandError> {
    let sessions = mesh.sessions().all()?.records.into_iter().map(|known| known.last.agent.session);
    let census = mesh.registry().local_census()?;
    let live = census.records.into_iter().map(|record| record.agent.session);
    Ok(sessions.chain(live).map(|session| AgentId::of(&session)).collect())
}

/// What the history of the repository says. Authors are not agents, so only words and files are counted.
fn from_history(op: &Op, place: &WorkPlace) -> Result<RepositoryCounts, CommandError> {
    let mut counts = RepositoryCounts::default();
    if place.is_git {
        count_history(&place.root, &noise(op, place), &mut counts)?;
    }
    Ok(counts)
}

fn count_history(root: &Path, noise: &NoiseWords, counts: &mut RepositoryCounts) -> Result<(), CommandError> {
    let counted = git::past_commits(root, MOST_COMMITS, &mut |commit: PastCommit| {
        let PastCommit { author, message, files, .. } = &commit;
        if let Some(work) = PastWork::of_commit(author, message, files, noise) {
            counts.count(None, &work.topics, &work.files);
        }
    });
    counted.map_err(Into::into)
}
