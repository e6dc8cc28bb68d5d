//! Whether what was asked for becomes a run. Its own supervisor decides, while it holds the lock for that: whoever asked
//! may be killed at any moment.

use crate::domain::RecordedProcess;
use crate::domain::link::RunAskRefusal;
use crate::domain::runs::{Run, RunState};
use crate::store::{BatchTaskRecord, Mesh, RunDecision, RunOrder, RunRefusal};

use super::count_gates::check_depth;
use super::grants::{GrantAnswer, decide, read_before};
use super::list::as_it_is;
use super::name_gate::check_name;
use super::settle::end_carriers;
use crate::ops::error::{CommandError, CommandErrorKind, ErrorDetail};

/// What became of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Admission {
    /// It is a run, and in the ledger.
    Run,
    /// It is none; why is recorded.
    Refused,
}

/// Writes the run into the ledger, unless something speaks against it. `starter` is who asked. It is told of every error:
/// nobody else hears of it.
pub(super) fn admit(
    mesh: &Mesh,
    run: &mut Run,
    order: &RunOrder,
    starter: RecordedProcess,
) -> Result<Admission, CommandError> {
    decide_admission(mesh, run, order, starter).or_else(|error| refuse(mesh, run, &as_refusal(error)))
}

fn decide_admission(
    mesh: &Mesh,
    run: &mut Run,
    order: &RunOrder,
    starter: RecordedProcess,
) -> Result<Admission, CommandError> {
    let key = order.batch_task.as_deref();
    // Without the lock first: it may take seconds, and others want to be admitted.
    key.map_or(Ok(()), |key| end_interrupted(mesh, key))?;
    let before = read_before(mesh, run)?;
    let lock = mesh.runs().lock_admission()?;
    key.map_or(Ok(()), |key| end_interrupted(mesh, key))?;
    // What another machine asked for is done once, however it ends.
    let other = |key| if run.asked_by.is_some() { last_of(mesh, key) } else { doing(mesh, key) };
    if let Some(key) = key
        && let Some(other) = other(key)?
    {
        return refuse(mesh, run, &RunRefusal::DoneBy(other.id.to_string()));
    }
    if let Some(asker) = &run.asked_by
        && let Some(RunDecision::Refused(refusal)) = mesh.remote().decision(&asker.machine, &asker.id)?
    {
        let RunAskRefusal { kind, gate, message, hints } = refusal;
        return refuse(mesh, run, &RunRefusal::Refused { kind, gate, message, hints });
    }
    // The starter has asked, too; but others may have been admitted since.
    check_depth(mesh, &run.parent, &before)?;
    check_name(mesh, &run.id, order)?;
    match decide(mesh, run, order, &before)? {
        GrantAnswer::Granted(grant, _) => run.grant = grant,
        GrantAnswer::Refused(refusal) => return refuse(mesh, run, &RunRefusal::Budget(refusal)),
    }
    // In this order: a record of a run that is none is passed over, but a run without a record would be done twice.
    if let Some(key) = key {
        mesh.runs().put_batch_task(key, &BatchTaskRecord { run: run.id.clone(), starter }, &lock)?;
    }
    mesh.runs().put(run)?;
    drop(lock);
    Ok(Admission::Run)
}

fn refuse(mesh: &Mesh, run: &Run, refusal: &RunRefusal) -> Result<Admission, CommandError> {
    mesh.runs().put_refusal(&run.id, refusal)?;
    Ok(Admission::Refused)
}

/// What the starter is told of an error.
pub(super) fn as_refusal(error: CommandError) -> RunRefusal {
    let gate = error.facts.iter().find_map(|(name, detail)| match detail {
        ErrorDetail::Text(text) if *name == "gate" => Some(text.clone()),
        _ => None,
    });
    let CommandError { kind, message, hints, .. } = error;
    RunRefusal::Refused { kind: kind.name().to_string(), gate, message, hints }
}

/// The error that a supervisor recorded.
pub(super) fn recorded_error(
    kind: &str,
    gate: Option<&str>,
    message: String,
    hints: Vec<String>,
) -> CommandError {
    let known = CommandErrorKind::ALL.iter().find(|known| known.name() == kind);
    let mut error = CommandError::new(known.copied().unwrap_or(CommandErrorKind::Gate), message);
    error.hints = hints;
    match gate {
        Some(gate) => error.fact("gate", gate),
        None => error,
    }
}

/// The run that does this task of a batch, or has done it.
pub(super) fn doing(mesh: &Mesh, key: &str) -> Result<Option<Run>, CommandError> {
    let run = last_of(mesh, key)?;
    Ok(run.filter(|run| run.state == RunState::Done || !run.state.is_final()))
}

/// Waits until nothing is left of a worker that did this task and whose supervisor died: nobody does it meanwhile.
fn end_interrupted(mesh: &Mesh, key: &str) -> Result<(), CommandError> {
    match last_of(mesh, key)?.filter(|run| run.state == RunState::Interrupted) {
        Some(run) => end_carriers(&run.id),
        None => Ok(()),
    }
}

/// The run that was started last for this task of a batch, as it is.
pub(super) fn last_of(mesh: &Mesh, key: &str) -> Result<Option<Run>, CommandError> {
    let Some(record) = mesh.runs().batch_task(key)? else { return Ok(None) };
    Ok(mesh.runs().get(&record.run)?.map(|run| as_it_is(mesh, run)))
}
