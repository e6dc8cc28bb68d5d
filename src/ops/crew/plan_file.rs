//! The file of a plan: whether it is one of ours, which of its tasks have begun, and how it is written in one step.

use std::path::Path;

use crate::domain::crews::{BegunTask, CrewPlan};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runs::gate::Gate;
use crate::ops::tasks::begun_tasks;
use crate::ops::{mode, person_required, reservations};
use crate::store::Mesh;
use crate::sys::files::{self, FileError, Published};
use crate::sys::paths;

/// As editors would make it.
const FILE_MODE: u32 = 0o644;

/// The file as it is at one time, with what the mesh knows of its tasks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct PlanFileState {
    /// `None`: there is no file.
    content: Option<Vec<u8>>,
    pub(super) begun: Vec<BegunTask>,
}

/// Whether a plan was written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PlanWrite {
    Written,
    /// The file is another one now, or somebody has begun or completed a task of it.
    Changed,
}

impl PlanFileState {
    pub(super) fn read(op: &Op, path: &Path) -> Result<Self, CommandError> {
        Self::of(op.mesh()?.as_deref(), path)
    }

    fn of(mesh: Option<&Mesh>, path: &Path) -> Result<Self, CommandError> {
        let content = files::read_large(&files::destination(path))?;
        Ok(Self { content, begun: begun_tasks(mesh, path)? })
    }

    /// The text of a file; `None` if there is none, or it is no text.
    pub(super) fn text(&self) -> Option<&str> {
        self.content.as_deref().and_then(|content| std::str::from_utf8(content).ok())
    }

    /// Whether there is a file that `msg` did not write.
    pub(super) fn is_foreign(&self) -> bool {
        self.content.is_some() && !self.text().is_some_and(CrewPlan::is_ours)
    }

    /// The plan that is there, if it is one of ours. One that somebody has edited so that its tasks can't be told apart any
    /// more is an error.
    pub(super) fn plan(&self, path: &Path) -> Result<Option<CrewPlan>, CommandError> {
        let Some(text) = self.text().filter(|text| CrewPlan::is_ours(text)) else { return Ok(None) };
        CrewPlan::read(text).map(Some).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            let first = faults.first().cloned().unwrap_or_default();
            let text = format!("the plan in `{}` can't be updated: {first}", path.display());
            CommandError::new(CommandErrorKind::InvalidValue, text)
                .hint("fix it, remove the file, or choose another with `--out FILE`")
                .fact("file", path.display().to_string())
                .facts("faults", faults)
        })
    }
}

/// Refuses a place where the caller may not write.
pub(super) fn check_place(op: &Op, path: &Path) -> Result<(), CommandError> {
    let invalid = |text: String| CommandError::new(CommandErrorKind::InvalidValue, text);
    if path.file_name().is_none() || path.is_dir() {
        let text = format!("`{}` is a directory", path.display());
        return Err(invalid(text).hint("name a file with `--out FILE`"));
    }
    let real = files::destination(path);
    if !real.parent().is_some_and(Path::is_dir) {
        return Err(invalid(format!("there is no directory for `{}`", path.display())));
    }
    person_required::check_plan_file(op, path)?;
    if let (Some(mesh), Some(_)) = (op.mesh()?, person_required::harness())
        && let Some(mode) = mode::forbidding_edit(&mesh, &paths::follow(path))?
    {
        let text = format!("this repository is in mode `{}`, in which agents change no files", mode.name());
        let hint = format!("a person can run `{}`", mode::way_out(op));
        return Err(Gate::Mode.refuse(text).fact("mode", mode.name()).hint(hint));
    }
    if op.mesh()?.is_none() {
        return Ok(());
    }
    let verdicts = reservations::check::check(op, &[path.to_string_lossy().into_owned()])?;
    reservations::check::conflict_error(&verdicts).map_or(Ok(()), Err)
}

/// The refusal to replace a file that is not a plan.
pub(super) fn foreign_error(path: &Path) -> CommandError {
    let text = format!("`{}` exists, and `msg crew plan` did not write it", path.display());
    CommandError::new(CommandErrorKind::NotConfirmed, text)
        .hint("choose another file with `--out FILE`, or remove it")
        .fact("file", path.display().to_string())
}

/// Writes the plan, if the file and its tasks are still as they were.
pub(super) fn write(
    op: &Op,
    path: &Path,
    text: &str,
    before: &PlanFileState,
) -> Result<PlanWrite, CommandError> {
    check_place(op, path)?;
    files::sweep_beside(path)?;
    let mesh = op.create_mesh()?;
    if before.content.is_none() {
        let locked = mesh.lock()?;
        if PlanFileState::of(Some(&mesh), path)? != *before {
            return Ok(PlanWrite::Changed);
        }
        let published = files::publish_beside(&files::destination(path), text.as_bytes(), FILE_MODE)?;
        drop(locked);
        return Ok(match published {
            Published::Done => PlanWrite::Written,
            Published::Exists => PlanWrite::Changed,
        });
    }
    // The new content is on the disk before the lock is taken. Nobody claims or completes a task while it is held.
    let mut held = None;
    let is_same = || -> Result<bool, FileError> {
        let locked = mesh.lock().map_err(CommandError::from);
        let now = locked.and_then(|locked| Ok((PlanFileState::of(Some(&mesh), path)?, locked)));
        let is_same = matches!(&now, Ok((now, _)) if now == before);
        held = Some(now);
        Ok(is_same)
    };
    let is_written = files::write_through_if(path, text.as_bytes(), is_same)?;
    drop(held.transpose()?);
    Ok(if is_written { PlanWrite::Written } else { PlanWrite::Changed })
}
