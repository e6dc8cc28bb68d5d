//! Whose commits these are, as far as the mesh knows: hooks report the commits of agents to the feed, and runs record what
//! they put on a branch.

use std::path::Path;

use jiff::SignedDuration;

use crate::domain::{Agent, AnyEventKind, Event, EventKind};
use crate::ops::error::CommandError;
use crate::ops::feed::event::shortened_preview;
use crate::store::{Mesh, ReviewedWork};
use crate::sys::git::{CommitChoice, CommitNaming, CommitRange, ReadOnlyGit, WorkTree};

use crate::domain::runs::{CrewEnd, Run};

/// A commit is reported when the command that made it has ended.
const REPORTED_WITHIN: SignedDuration = SignedDuration::from_mins(15);

/// Notes in `work` whose commits these are: agents that are alive, and runs.
pub(super) fn note_authors(
    mesh: &Mesh,
    git: &ReadOnlyGit,
    range: &CommitRange,
    work: &mut ReviewedWork,
) -> Result<(), CommandError> {
    let is_its = |run: &Run| {
        let end = run.crew.as_ref().and_then(|part| part.end.as_ref());
        let merged = match end {
            Some(CrewEnd::Merged { commit, .. }) => commit.as_ref(),
            _ => None,
        };
        merged.is_some_and(|commit| range.commits.contains(commit))
            || range.naming == CommitNaming::Branch && run.branch.as_ref() == Some(&work.named)
    };
    let runs: Vec<Run> = mesh.runs().list()?.runs.into_iter().filter(is_its).collect();
    work.by_runs = runs.iter().map(|run| run.id.to_string()).collect();
    let repository = WorkTree::containing(git.root()).and_then(|tree| tree.repository());
    let is_here = |agent: &Agent| {
        let there = WorkTree::containing(Path::new(&agent.cwd)).and_then(|tree| tree.repository());
        repository.is_some() && there == repository
    };
    let census = mesh.registry().local_census()?;
    let agents = census.records.iter().filter(|record| record.is_live()).map(|record| &record.agent);
    let agents: Vec<&Agent> = agents.filter(|agent| is_here(agent)).collect();
    if agents.is_empty() {
        return Ok(());
    }
    let is_commit = |event: &Event| event.what == AnyEventKind::Ours(EventKind::Commit);
    let (reports, _) = mesh.feed().last(usize::MAX, is_commit)?;
    for commit in git.commits(CommitChoice::Ids(&range.commits))?.items {
        let subject = shortened_preview(&commit.subject);
        let is_it = |event: &&Event| {
            event.preview.as_deref() == Some(subject.as_str())
                && event.at.duration_since(commit.at).abs() <= REPORTED_WITHIN
        };
        for event in reports.events.iter().filter(is_it) {
            // Another agent may have had the name before.
            let made_it = |agent: &&&Agent| {
                agent.joined_at <= event.at
                    && agent.all_names().any(|name| name.as_str().eq_ignore_ascii_case(&event.agent))
            };
            let Some(agent) = agents.iter().find(made_it) else { continue };
            let session = agent.session.to_string();
            if !work.by_sessions.contains(&session) {
                work.by_sessions.push(session);
            }
        }
    }
    Ok(())
}
