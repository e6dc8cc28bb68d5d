//! Records what a hook saw its agent do. The text of a prompt is kept only if its user shares it.

use std::path::Path;
use std::time::Duration;

use crate::domain::Agent;
use crate::domain::awareness::counters::AgentId;
use crate::domain::awareness::topics::{NoiseWords, Topic};
use crate::domain::awareness::track::{Deed, TrackLine, TrackStamp, TreeId};
use crate::domain::awareness::work_event::is_incidental;
use crate::domain::settings::{AwarenessMode, PromptSharing};
use crate::ops::background::{BackgroundJob, JobKind};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::store::{Mesh, StoreError};
use crate::sys::clock;
use crate::sys::environment;

use super::{WorkPlace, resolve, worktree_conflicts};

/// The most characters of a prompt that is shared.
const MOST_TEXT: usize = 2_000;
/// Above this many bytes the track is counted, and shortened, without a prompt.
const LONG_TRACK: u64 = 1024 * 1024;
/// Counts that are older are made again at a join, so that what is old is forgotten.
const OLD_COUNTS: Duration = Duration::from_secs(24 * 3600);
/// The most files of one tool call.
const MOST_FILES: usize = 100;

/// What is known of a prompt.
pub(in crate::ops) struct KnownPrompt<'a> {
    pub(in crate::ops) topics: &'a [Topic],
    pub(in crate::ops) text: &'a str,
}

/// Records a prompt, as far as its user shares it.
pub(in crate::ops) fn prompt(
    op: &Op,
    mesh: &Mesh,
    me: &Agent,
    place: &WorkPlace,
    prompt: &KnownPrompt<'_>,
) -> Result<(), CommandError> {
    let (topics, text) = match op.settings.share_prompts {
        PromptSharing::Off => (Vec::new(), None),
        PromptSharing::Topics => (prompt.topics.to_vec(), None),
        PromptSharing::Text => (prompt.topics.to_vec(), Some(prompt.text.chars().take(MOST_TEXT).collect())),
    };
    append(op, mesh, me, place, Deed::Prompted { topics, text })
}

/// Records the files that a tool call changed and read.
pub(in crate::ops) fn files<'a>(
    op: &Op,
    mesh: &Mesh,
    me: &Agent,
    changed: impl Iterator<Item = &'a Path>,
    read: impl Iterator<Item = &'a Path>,
) -> Result<(), CommandError> {
    if op.settings.awareness == AwarenessMode::Off {
        return Ok(());
    }
    let mut changed = changed.take(MOST_FILES).peekable();
    let mut read = read.take(MOST_FILES).peekable();
    if changed.peek().is_none() && read.peek().is_none() {
        return Ok(());
    }
    let place = WorkPlace::of(&op.cwd);
    let changed = by_tree(&place, changed);
    for (tree, files) in &changed {
        append(op, mesh, me, &place, Deed::Changed { tree: *tree, files: files.clone() })?;
    }
    for (tree, files) in by_tree(&place, read) {
        append(op, mesh, me, &place, Deed::Read { tree, files })?;
    }
    let me = AgentId::of(&me.session);
    // What agents are told comes before what is only counted.
    worktree_conflicts::look_if_shared(op, mesh, me, &place, &changed)?;
    resolve::note_meetings(op, mesh, me, &place, &changed)
}

/// The files of this repository, by work tree. What programs write is left out.
fn by_tree<'a>(place: &WorkPlace, paths: impl Iterator<Item = &'a Path>) -> Vec<(TreeId, Vec<Vec<u8>>)> {
    let mut trees: Vec<(TreeId, Vec<Vec<u8>>)> = Vec::new();
    for (tree, file) in paths.filter_map(|path| place.relative(path)) {
        if is_incidental(&String::from_utf8_lossy(&file)) {
            continue;
        }
        match trees.iter_mut().find(|(known, _)| *known == tree) {
            Some((_, files)) if files.contains(&file) => {}
            Some((_, files)) => files.push(file),
            None => trees.push((tree, vec![file])),
        }
    }
    trees
}

fn append(op: &Op, mesh: &Mesh, me: &Agent, place: &WorkPlace, deed: Deed) -> Result<(), CommandError> {
    let agent = AgentId::of(&me.session);
    let stamp = TrackStamp { at: clock::now().as_millisecond(), agent, name: me.name.clone() };
    match mesh.awareness().append(&place.repository, &TrackLine { stamp, deed })? {
        Some(length) if length > LONG_TRACK => start_counting(op, mesh, place),
        Some(_) => Ok(()),
        None => {
            let text = format!("what {} did could not be recorded: another process held the track", me.name);
            Err(CommandError::new(CommandErrorKind::LockTimeout, text))
        }
    }
}

/// Lets a background job count what is known of the repository, if nothing is counted yet or that was long ago. A join
/// does not wait for it.
pub(in crate::ops) fn count_if_new(op: &Op, mesh: &Mesh) -> Result<(), CommandError> {
    if op.settings.awareness == AwarenessMode::Off {
        return Ok(());
    }
    let place = WorkPlace::of(&op.cwd);
    let counted = mesh.awareness().counted_at(&place.repository)?;
    let is_due = counted.map_or(place.is_git, |at| clock::age(at) > OLD_COUNTS);
    if is_due || matches!(mesh.awareness().counts(&place.repository), Err(StoreError::Corrupt { .. })) {
        start_counting(op, mesh, &place)?;
    }
    Ok(())
}

/// Starts the job, at most once a minute.
pub(super) fn start_counting(op: &Op, mesh: &Mesh, place: &WorkPlace) -> Result<(), CommandError> {
    if mesh.awareness().is_count_due(&place.repository)? {
        op.start_job(BackgroundJob { kind: JobKind::Counts, dir: place.root.clone() });
    }
    Ok(())
}

/// The words that say nothing here: the user's, the machine's and the project's name.
pub(super) fn noise(op: &Op, place: &WorkPlace) -> NoiseWords {
    let host = environment::host_name();
    let user = environment::variable("USER").unwrap_or_default();
    let home = op.home.home.file_name().unwrap_or_default().to_string_lossy();
    let project = place.root.file_name().unwrap_or_default().to_string_lossy();
    NoiseWords::new([user.as_str(), host.as_str(), home.as_ref(), project.as_ref()])
}
