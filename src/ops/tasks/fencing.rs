//! Fencing: whoever was given a task for a run, and lost it since, can neither complete it nor have its work merged.

use crate::domain::runs::{Run, RunClaim, RunId};
use crate::domain::{TaskRef, quote_code, quote_name};
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runs::RUN_VARIABLE;
use crate::store::{Claim, Mesh};
use crate::sys::environment::variable;

use super::spec_key::Spellings;

/// The run that this command belongs to, as its environment says.
pub(super) fn own_run_id() -> Option<String> {
    variable(RUN_VARIABLE).and_then(|id| RunId::new(&id).ok()).map(|id| id.to_string())
}

/// What a worker was given with its task: it carries the id of its run, and the run has the number of the claim.
pub(super) struct FencingToken {
    run: RunId,
    claim: RunClaim,
}

impl FencingToken {
    /// The token of whoever calls; `None` if it belongs to no run that was given a task.
    pub(super) fn of_caller(mesh: &Mesh) -> Result<Option<Self>, CommandError> {
        let Some(run) = variable(RUN_VARIABLE).and_then(|id| RunId::new(&id).ok()) else { return Ok(None) };
        let claim = mesh.runs().get(&run)?.and_then(|run| run.claim);
        Ok(claim.map(|claim| Self { run, claim }))
    }

    /// Refuses to complete a task that was claimed for somebody else since.
    pub(super) fn check(&self, claim: &Claim, spellings: &Spellings) -> Result<(), CommandError> {
        let is_same = claim.task == self.claim.task && spellings.are_same(&claim.spec, &self.claim.spec);
        let is_ours = claim.run.as_deref() == Some(self.run.as_str());
        if !is_same || is_ours || claim.number <= self.claim.number {
            return Ok(());
        }
        let text = format!(
            "{} was given away since run {} had it: {} has it now (number {}, yours is {})",
            quote_code(&claim.task),
            self.run,
            quote_name(&claim.agent),
            shown(claim.number),
            shown(self.claim.number)
        );
        Err(CommandError::new(CommandErrorKind::NotYours, text).fact("agent", claim.agent.as_str()))
    }
}

/// Why the work of a run must not be merged as that of its task, if the task was claimed by another since.
pub(in crate::ops) fn merge_refusal(mesh: &Mesh, run: &Run) -> Result<Option<CommandError>, CommandError> {
    let Some(RunClaim { spec, task, number }) = &run.claim else { return Ok(None) };
    let numbers = mesh.tasks().claim_numbers()?;
    let Some(last) = numbers.get(&TaskRef { spec: spec.clone(), id: task.clone() }) else { return Ok(None) };
    if Some(last.number) <= *number || last.run.as_deref() == Some(run.id.as_str()) {
        return Ok(None);
    }
    let by = last.run.as_ref().map_or_else(|| "another agent".to_string(), |run| format!("run {run}"));
    let text = format!(
        "task {} was claimed by {by} since run {} had it (number {}, that of the run is {}): nothing was written",
        quote_code(task),
        run.id,
        last.number,
        shown(*number)
    );
    let error = CommandError::new(CommandErrorKind::NotYours, text);
    Ok(Some(error.hint(format!(
        "`msg runs diff {0}` shows the work; a person who wants it all the same can run `msg runs merge {0} --given-away`",
        run.id
    ))))
}

fn shown(number: Option<u64>) -> String {
    number.map_or_else(|| "none".to_string(), |number| number.to_string())
}
