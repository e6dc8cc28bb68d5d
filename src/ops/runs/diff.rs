//! `msg runs diff`: what a run changed, from its base to its tip. Nothing is changed by looking.

use crate::domain::runs::Run;
use crate::store::WorkStage;
use crate::sys::git::run_tree::{DiffColour, TreeChange};

use super::list::find;
use super::merge::find_nothing;
use super::work::RunWork;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};

/// What a run changed.
#[derive(Debug)]
pub struct RunDiff {
    pub run: Run,
    pub text: String,
    pub changes: Vec<TreeChange>,
}

/// What the run that `id` names changed.
pub fn diff(op: &Op, id: &str) -> Result<RunDiff, CommandError> {
    let mesh = op.mesh()?.ok_or_else(|| find_nothing(id))?;
    let run = find(op, id)?;
    let none = || {
        let text = format!("run {} has no worktree of its own: what it did is in `{}`", run.id, run.root);
        CommandError::new(CommandErrorKind::NoWork, text)
    };
    let work = RunWork::load(op, &mesh, &run.id)?.ok_or_else(none)?;
    if work.record.stage == WorkStage::Discarded {
        let text = format!("the work of run {} is gone: it was discarded, or merged", run.id);
        return Err(CommandError::new(CommandErrorKind::NoWork, text));
    }
    if matches!(work.record.stage, WorkStage::Making | WorkStage::Open) {
        let (why, hint) = match run.state.is_final() {
            true => ("was cut short", "`msg runs gc` saves it".to_string()),
            false => ("goes on", format!("its files are in `{}`", run.root)),
        };
        let text = format!("run {} {why}, and its work is not committed yet", run.id);
        return Err(CommandError::new(CommandErrorKind::AtWork, text).hint(hint));
    }
    let text = String::from_utf8_lossy(&work.tree.diff_text(DiffColour::Never)?).into_owned();
    Ok(RunDiff { text, changes: work.tree.changes()?, run })
}
