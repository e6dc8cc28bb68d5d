//! `msg runs log`: what a worker printed.

use super::elsewhere::listing::find_anywhere;
use super::elsewhere::wishes;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;

/// Which output of a worker.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WorkerLog {
    Output,
    Errors,
}

/// What the worker printed so far; a mark says where something was left out.
pub fn log(op: &Op, id: &str, which: WorkerLog) -> Result<String, CommandError> {
    let run = find_anywhere(op, id)?;
    if let (Some(_), Some(mesh)) = (&run.elsewhere, op.mesh()?) {
        let name = if which == WorkerLog::Errors { "errors" } else { "output" };
        return wishes::log(op, &mesh, &run, name);
    }
    let name = match which {
        // At a terminal nothing else is printed.
        WorkerLog::Output if run.pane.is_some() => "screen.txt",
        WorkerLog::Output => "output",
        WorkerLog::Errors => "errors",
    };
    let content = match op.mesh()? {
        Some(mesh) => mesh.runs().read(&run.id, name)?,
        None => None,
    };
    Ok(String::from_utf8_lossy(&content.unwrap_or_default()).into_owned())
}
