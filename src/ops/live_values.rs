//! What a shell completes arguments with: agents, reserved patterns and open predictions, as they are now.

use super::agents::identity;
use super::awareness::WorkPlace;
use super::effects::Op;
use super::error::CommandError;

/// A kind of argument that names something in the mesh.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LiveValue {
    /// The names of live agents.
    Agents,
    /// The patterns that others have reserved.
    Reservations,
    /// The ids of open predictions in this repository.
    Predictions,
}

/// The values there are now. It changes nothing, and is not a sign of life of the caller.
pub fn live_values(op: &Op, kind: LiveValue) -> Result<Vec<String>, CommandError> {
    let Some(mesh) = op.mesh()? else { return Ok(Vec::new()) };
    if kind == LiveValue::Predictions {
        let all = mesh.awareness().predictions(&WorkPlace::of(&op.cwd).repository)?;
        return Ok(all.into_iter().filter(|one| one.end.is_none()).map(|one| one.id).collect());
    }
    let census = mesh.registry().census()?;
    let me = identity::caller_if_certain(op, &mesh, &census).map(|agent| agent.name);
    let live = census.records.into_iter().filter(|record| record.is_live()).map(|record| record.agent);
    let mut values: Vec<String> = match kind {
        LiveValue::Agents => live.map(|agent| agent.name.to_string()).collect(),
        _ => live
            .filter(|agent| Some(&agent.name) != me.as_ref())
            .flat_map(|agent| agent.reservations)
            .map(|reservation| reservation.pattern)
            .collect(),
    };
    values.sort();
    values.dedup();
    Ok(values)
}
