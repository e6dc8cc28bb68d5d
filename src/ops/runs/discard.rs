//! `msg runs discard`: gives up the work of a run.

use crate::domain::runs::{Run, RunClaim};
use crate::store::WorkStage;

use super::ended_work::ended_work;
use super::merge::find_nothing;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::tasks::is_open;

/// What was given up.
#[derive(Debug)]
pub struct DiscardReport {
    pub run: Run,
    /// The commit with the work. git keeps it for a while.
    pub tip: Option<String>,
    /// The branch that stays, because somebody moved it, or has it checked out.
    pub kept_branch: Option<String>,
    /// The task of a crew that would have gone on with the work, and begins anew now.
    pub begins_anew: Option<RunClaim>,
}

/// The task of a crew that would go on with the work of that run.
pub fn task_in_work(op: &Op, run: &Run) -> Result<Option<RunClaim>, CommandError> {
    let (Some(_), Some(claim), Some(mesh)) = (&run.crew, &run.claim, op.mesh()?) else { return Ok(None) };
    Ok(is_open(&mesh, claim)?.then(|| claim.clone()))
}

/// Gives up the work of the run that `id` names.
pub fn discard(op: &Op, id: &str) -> Result<DiscardReport, CommandError> {
    let mesh = op.mesh()?.ok_or_else(|| find_nothing(id))?;
    let mut ended = ended_work(op, &mesh, id, "discard")?;
    if let Some(name) = ended.work.agent_inside()? {
        let text = format!("{name} is in the worktree of run {}", ended.run.id);
        let hint = format!("ask it to leave: `msg send {name} \"…\"`");
        return Err(CommandError::new(CommandErrorKind::AtWork, text).hint(hint));
    }
    let begins_anew = task_in_work(op, &ended.run)?;
    let discarded = ended.work.tree.discard()?;
    ended.work.record.stage = WorkStage::Discarded;
    ended.work.record.kept = None;
    if discarded.kept_branch.is_none() {
        ended.work.record.branch = None;
    }
    ended.work.put()?;
    let tip = ended.work.record.tip.clone();
    Ok(DiscardReport { run: ended.run, tip, kept_branch: discarded.kept_branch, begins_anew })
}
