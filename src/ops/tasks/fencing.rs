//! Fencing: whoever was given a task for a run, and lost it since, can neither complete it, give it up or
//! pass it on, nor have its work merged.

use crate::domain::runs::{Run, RunClaim, RunId};
use crate::domain::{TaskRef, quote_code, quote_name};
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runs::RUN_VARIABLE;
use crate::ops::runs::own_run::worker_run;
use crate::store::{Claim, Mesh};
use crate::sys::environment::variable;

use super::spec_key::Spellings;

/// The run that a claim of this command is for. The variable alone gives nobody a right.
pub(super) fn own_run_id(mesh: &Mesh) -> Result<Option<String>, CommandError> {
    Ok(worker_run(mesh)?.map(|run| run.id.to_string()))
}

/// What a worker was given with its task: the run that it belongs to has the number of the claim.
pub(super) struct FencingToken {
    /// `None` if the caller belongs to no run that was given a task.
    given: Option<(RunId, RunClaim)>,
}

impl FencingToken {
    /// The token of whoever calls. The variable counts for what has outlived its supervisor.
    pub(super) fn of_caller(mesh: &Mesh) -> Result<Self, CommandError> {
        let run = match worker_run(mesh)? {
            Some(run) => Some(run),
            None => match variable(RUN_VARIABLE).and_then(|id| RunId::new(&id).ok()) {
                Some(id) => mesh.runs().get(&id)?,
                None => None,
            },
        };
        Ok(Self { given: run.and_then(|run| Some((run.id, run.claim?))) })
    }

    /// Refuses to end or pass on a claim that was made for somebody else since.
    pub(super) fn check(&self, claim: &Claim, spellings: &Spellings) -> Result<(), CommandError> {
        let Some((run, given)) = &self.given else { return Ok(()) };
        let is_same = claim.task == given.task && spellings.are_same(&claim.spec, &given.spec);
        let is_ours = claim.run.as_deref() == Some(run.as_str());
        if !is_same || is_ours || claim.number <= given.number {
            return Ok(());
        }
        let text = format!(
            "{} was given away since run {} had it: {} has it now (number {}, yours is {})",
            quote_code(&claim.task),
            run,
            quote_name(&claim.agent),
            shown(claim.number),
            shown(given.number)
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
