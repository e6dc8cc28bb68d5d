//! What a shell completes arguments with: agents, reserved patterns, open predictions and runs, as they are now.

use super::agents::identity;
use super::agents::roster::Roster;
use super::awareness::WorkPlace;
use super::effects::Op;
use super::error::CommandError;
use super::reservations::contest_target::targets_here;

/// A kind of argument that names something in the mesh.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LiveValue {
    /// The names of live agents.
    Agents,
    /// The patterns in this project that the caller may contest, as they are written from here.
    Reservations,
    /// The ids of open predictions in this repository.
    Predictions,
    /// The ids of runs, newest first.
    Runs,
}

/// The values there are now. It changes nothing, and is not a sign of life of the caller.
pub fn live_values(op: &Op, kind: LiveValue) -> Result<Vec<String>, CommandError> {
    let Some(mesh) = op.mesh()? else { return Ok(Vec::new()) };
    if kind == LiveValue::Predictions {
        let all = mesh.awareness().predictions(&WorkPlace::of(&op.cwd).repository)?;
        return Ok(all.into_iter().filter(|one| one.end.is_none()).map(|one| one.id).collect());
    }
    if kind == LiveValue::Runs {
        return Ok(mesh.runs().list()?.runs.into_iter().map(|run| run.id.to_string()).collect());
    }
    let roster = Roster::read(&mesh)?;
    let mut values: Vec<String> = match kind {
        LiveValue::Agents => roster.live().map(|agent| agent.name.to_string()).collect(),
        _ => {
            let me = identity::caller_if_certain(op, &mesh, roster.census());
            targets_here(op, &mesh, &roster, me.as_ref())
        }
    };
    values.sort();
    values.dedup();
    Ok(values)
}
