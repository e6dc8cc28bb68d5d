//! `msg mode`: what agents may do in a repository, set by people and held by every agent's hooks and by the gates of
//! runs.

use std::path::Path;

use jiff::Timestamp;

use crate::domain::ProjectMode;
use crate::store::{Mesh, RecordedMode, StoreError};
use crate::sys::{clock, paths};

use super::context::Context;
use super::effects::Op;
use super::error::CommandError;
use super::person_required;

/// Settings and profiles of a project, which agents may edit in mode `admin`.
const SETTINGS: [&str; 2] = ["config.json", "workers.toml"];

/// The mode here.
#[derive(Clone, Copy, Debug)]
pub struct CurrentMode {
    pub mode: ProjectMode,
    /// `None` if nobody set one.
    pub since: Option<Timestamp>,
}

impl CurrentMode {
    fn of(recorded: Option<RecordedMode>) -> Self {
        match recorded {
            Some(RecordedMode { mode, since }) => Self { mode, since: Some(since) },
            None => Self { mode: ProjectMode::default(), since: None },
        }
    }
}

/// The mode that applies in the working directory.
pub fn mode(op: &Op) -> Result<CurrentMode, CommandError> {
    match op.mesh()? {
        Some(mesh) => of_run(op, &mesh, &op.cwd),
        None => Ok(CurrentMode::of(None)),
    }
}

/// Sets the mode of this repository. Needs a person.
pub fn set_mode(op: &Op, mode: ProjectMode) -> Result<CurrentMode, CommandError> {
    person_required::required(|| person_required::with_mesh(op, &format!("msg mode {}", mode.name())))?;
    let mesh = op.create_mesh()?;
    let (here, now) = (paths::follow(&op.cwd), clock::now());
    mesh.modes().set(&here, mode, now)?;
    Ok(CurrentMode { mode, since: Some(now).filter(|_| mode != ProjectMode::default()) })
}

/// The mode that forbids agents to change `path`, if one does. `path` has its links resolved.
pub(super) fn forbidding_edit(mesh: &Mesh, path: &Path) -> Result<Option<ProjectMode>, CommandError> {
    let recorded = mesh.modes().at(path)?;
    let mode = recorded.map(|recorded| recorded.mode).filter(|mode| !mode.allows_edits());
    Ok(mode.filter(|mode| *mode != ProjectMode::Admin || !is_setting(path)))
}

/// Whether it is a file with settings or profiles of a project.
fn is_setting(path: &Path) -> bool {
    let is_in_folder = path.parent().is_some_and(|folder| folder.ends_with(".ravenry"));
    is_in_folder && SETTINGS.iter().any(|name| path.ends_with(name))
}

/// Refuses an agent that wants to change the settings of this project, unless it is in mode `admin`.
pub(super) fn require_person_or_admin(
    ctx: &Context,
    line: impl FnOnce() -> String,
) -> Result<(), CommandError> {
    let recorded = ctx.mesh()?.map(|mesh| mesh.modes().at(&paths::follow(&ctx.cwd)));
    match recorded {
        Some(Ok(Some(recorded))) if recorded.mode == ProjectMode::Admin => Ok(()),
        _ => person_required::required(line),
    }
}

/// What a person has to type so that agents may do all.
pub(super) fn way_out(ctx: &Context) -> String {
    person_required::with_mesh(ctx, "msg mode build")
}

/// The mode that counts for a run that works in `root`. A record that is damaged is told, and counts as the strictest
/// mode: somebody has set one.
pub(super) fn of_run(op: &Op, mesh: &Mesh, root: &Path) -> Result<CurrentMode, CommandError> {
    match mesh.modes().at(&paths::follow(root)) {
        Err(error @ StoreError::Corrupt { .. }) => {
            op.warn(format!(
                "the mode can't be read, so it counts as `plan`: {error}; a person can set it with `msg mode MODE`"
            ));
            Ok(CurrentMode { mode: ProjectMode::Plan, since: None })
        }
        recorded => Ok(CurrentMode::of(recorded?)),
    }
}
