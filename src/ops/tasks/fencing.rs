//! Fencing: whoever was given a task for a run, and lost it since, can neither complete it, give it up or
//! pass it on, nor have its work merged or proposed as a pull request.

use crate::domain::runs::{Run, RunClaim, RunId};
use crate::domain::{Liveness, TaskRef, quote_code, quote_name};
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runs::RUN_VARIABLE;
use crate::ops::runs::own_run::worker_run;
use crate::store::{Claim, ClaimNumbers, Claims, Mesh};
use crate::sys::environment::variable;
use crate::sys::process;

use super::elsewhere::{TasksElsewhere, named, on_machine};
use super::spec_key::Spellings;

/// The run that a claim of this command is for. The variable alone gives nobody a right.
pub(super) fn own_run_id(mesh: &Mesh) -> Result<Option<String>, CommandError> {
    Ok(worker_run(mesh)?.map(|run| run.id.to_string()))
}

/// What a worker was given with its task: the run that it belongs to has the number of the claim.
pub(super) struct FencingToken {
    /// `None` if the caller belongs to no run that was given a task.
    given: Option<(RunId, RunClaim)>,
    /// Whether the run is for a crew.
    is_for_crew: bool,
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
        let is_for_crew = run.as_ref().is_some_and(|run| run.crew.is_some());
        Ok(Self { given: run.and_then(|run| Some((run.id, run.claim?))), is_for_crew })
    }

    /// Refuses to complete a task that a crew completes: its work has to be tested and merged first.
    pub(super) fn check_completing(&self) -> Result<(), CommandError> {
        let Some((run, given)) = self.given.as_ref().filter(|_| self.is_for_crew) else { return Ok(()) };
        let text = format!(
            "run {run} does not complete {} itself: its crew completes it when the work is tested and merged",
            quote_code(&given.task)
        );
        Err(CommandError::new(CommandErrorKind::NotYours, text)
            .hint("end your turn; say in your last words what you did"))
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

/// What is done about work whose task was claimed by another since.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GivenAwayTask {
    Refuse,
    /// A person wants it all the same.
    Accept,
}

impl GivenAwayTask {
    /// Refuses to finish work whose task was claimed by another since. `action` is the word of `msg runs` that asks.
    pub(in crate::ops) fn check(self, mesh: &Mesh, run: &Run, action: &str) -> Result<(), CommandError> {
        match self {
            Self::Refuse => refusal(mesh, run, action)?.map_or(Ok(()), Err),
            Self::Accept => Ok(()),
        }
    }
}

fn refusal(mesh: &Mesh, run: &Run, action: &str) -> Result<Option<CommandError>, CommandError> {
    let Some(RunClaim { spec, task, number }) = &run.claim else { return Ok(None) };
    let given = TaskRef { spec: spec.clone(), id: task.clone() };
    if let Some(refusal) = given_elsewhere(mesh, run, &given, action)? {
        return Ok(Some(refusal));
    }
    let mut numbers = mesh.tasks().claim_numbers()?;
    withdraw_if_never_run(mesh, &mesh.tasks().claims()?, &mut numbers, &given)?;
    let Some(last) = numbers.get(&given) else { return Ok(None) };
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
    Ok(Some(error.hint(all_the_same(run, action))))
}

/// The refusal if another machine of a linked mesh has the task, or has completed it. This is what the mirror says, which
/// may be behind the server. A crew also asks the server before its branch moves (`run_task::confirm_for_run`).
fn given_elsewhere(
    mesh: &Mesh,
    run: &Run,
    task: &TaskRef,
    action: &str,
) -> Result<Option<CommandError>, CommandError> {
    let there = TasksElsewhere::of(Some(mesh)).spec(&task.spec);
    // What was completed here and cut short is not given away.
    let here = mesh.link().config()?.map(|config| config.machine);
    let done = there.completion(&task.id).filter(|done| done.machine != here);
    let claim = there.claim(&task.id);
    let (did, who, machine) = match (claim, done) {
        (Some(claim), _) => ("claimed", &claim.agent, &claim.machine),
        (None, Some(done)) => ("completed", &done.by, &done.machine),
        (None, None) => return Ok(None),
    };
    let who = named(who, machine.as_ref());
    let spellings = Spellings::default();
    if spellings.completion(&mesh.tasks().completions()?, &task.spec, &task.id).is_some() {
        return Ok(None);
    }
    let text = format!(
        "task {} was {did} by {who} since run {} had it: nothing was written",
        quote_code(&task.id),
        run.id
    );
    let error = CommandError::new(CommandErrorKind::NotYours, text);
    let error = error.hint(all_the_same(run, action));
    Ok(Some(on_machine(error, machine.as_ref())))
}

fn all_the_same(run: &Run, action: &str) -> String {
    format!(
        "`msg runs diff {0}` shows the work; a person who wants it all the same can run `msg runs {action} {0} --given-away`",
        run.id
    )
}

/// Takes the last claim of the task out of the numbers if it was made for something that never became a run, because its
/// supervisor died before. While the claim is held by a process that is alive, it may become one.
pub(super) fn withdraw_if_never_run(
    mesh: &Mesh,
    claims: &Claims,
    numbers: &mut ClaimNumbers,
    task: &TaskRef,
) -> Result<(), CommandError> {
    let last = numbers.get(task).and_then(|last| last.run.clone());
    let Some(id) = last.and_then(|run| RunId::new(&run).ok()) else { return Ok(()) };
    let is_held = |claim: Claim| {
        claim.run.as_deref() == Some(id.as_str()) && process::liveness(&claim.process) != Liveness::Gone
    };
    if !claims.iter().any(is_held) && mesh.runs().is_only_draft(&id)? {
        numbers.withdraw(task, id.as_str());
    }
    Ok(())
}

fn shown(number: Option<u64>) -> String {
    number.map_or_else(|| "none".to_string(), |number| number.to_string())
}
