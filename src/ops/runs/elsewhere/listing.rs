//! The runs of this machine together with the copies of those on others.

use crate::domain::runs::Run;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runs::list::{self, RunScope};
use crate::store::Mesh;

use super::copies::{copy_named, get};

/// The runs of this machine and those that somebody here asked others for, newest first.
pub fn all_runs(op: &Op, scope: RunScope) -> Result<Vec<Run>, CommandError> {
    let runs = list::runs(op, RunScope::All)?;
    let elsewhere = match op.mesh()? {
        Some(mesh) => copies(op, &mesh)?,
        None => Vec::new(),
    };
    let mut all: Vec<Run> = runs.into_iter().chain(elsewhere).collect();
    all.sort_by(|a, b| b.queued_at.cmp(&a.queued_at).then_with(|| a.id.cmp(&b.id)));
    list::narrow(&mut all, scope);
    Ok(all)
}

/// The run that `id` names, by its id or the beginning of it, wherever it is.
pub fn find_anywhere(op: &Op, id: &str) -> Result<Run, CommandError> {
    let here = match list::find_here(op, id) {
        Err(error) if error.kind == CommandErrorKind::UnknownRun => error,
        found => return found,
    };
    let Some(mesh) = op.mesh()? else { return Err(here) };
    copy_named(&mesh, id)?.ok_or(here)
}

fn copies(op: &Op, mesh: &Mesh) -> Result<Vec<Run>, CommandError> {
    let mut copies = Vec::new();
    for id in mesh.remote().run_ids()? {
        match get(mesh, &id) {
            Ok(run) => copies.extend(run),
            // One file must not hide all others.
            Err(error) => op.warn(format!("run {id} can't be read: {}", error.message)),
        }
    }
    Ok(copies)
}
