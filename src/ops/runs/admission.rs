//! Whether what was asked for becomes a run. Its own supervisor decides, while it holds the lock for that: whoever asked
//! may be killed at any moment.

use crate::domain::RecordedProcess;
use crate::domain::runs::{Run, RunState};
use crate::store::{BatchTaskRecord, Mesh, RunOrder, RunRefusal};

use super::list::as_it_is;
use crate::ops::error::CommandError;

/// What became of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Admission {
    /// It is a run, and in the ledger.
    Run,
    /// It is none; why is recorded.
    Refused,
}

/// Writes the run into the ledger, unless something speaks against it. `starter` is who asked.
pub(super) fn admit(
    mesh: &Mesh,
    run: &Run,
    order: &RunOrder,
    starter: RecordedProcess,
) -> Result<Admission, CommandError> {
    let Some(key) = &order.batch_task else {
        mesh.runs().put(run)?;
        return Ok(Admission::Run);
    };
    let lock = mesh.runs().lock_admission()?;
    if let Some(other) = doing(mesh, key)? {
        mesh.runs().put_refusal(&run.id, &RunRefusal::DoneBy(other.id.to_string()))?;
        return Ok(Admission::Refused);
    }
    // In this order: a record of a run that is none is passed over, but a run without a record would be done twice.
    mesh.runs().put_batch_task(key, &BatchTaskRecord { run: run.id.clone(), starter }, &lock)?;
    mesh.runs().put(run)?;
    Ok(Admission::Run)
}

/// The run that does this task of a batch, or has done it.
pub(super) fn doing(mesh: &Mesh, key: &str) -> Result<Option<Run>, CommandError> {
    let Some(record) = mesh.runs().batch_task(key)? else { return Ok(None) };
    let Some(run) = mesh.runs().get(&record.run)? else { return Ok(None) };
    let run = as_it_is(mesh, run);
    Ok(Some(run).filter(|run| run.state == RunState::Done || !run.state.is_final()))
}
