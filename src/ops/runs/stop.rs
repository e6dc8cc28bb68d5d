//! `msg runs stop`: asks the supervisor of a run to end its worker.

use crate::domain::runs::Run;
use crate::store::{StopOrder, StopUrgency};

use super::elsewhere::listing::find_anywhere;
use super::elsewhere::wishes;
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};

/// Asks for the end of a run. Returns it as it was; its supervisor does the rest.
pub fn stop(op: &Op, id: &str, urgency: StopUrgency) -> Result<Run, CommandError> {
    let run = find_anywhere(op, id)?;
    if run.state.is_final() {
        let text = format!("run {} has ended: {}", run.id, run.outcome());
        return Err(CommandError::new(CommandErrorKind::NotRunning, text).fact("state", run.state.name()));
    }
    if let (Some(_), Some(mesh)) = (&run.elsewhere, op.mesh()?) {
        wishes::stop(op, &mesh, &run, urgency)?;
        return Ok(run);
    }
    let by = match identity::caller(op) {
        Ok((_, caller)) => caller.agent.name.to_string(),
        Err(_) => "a person".to_string(),
    };
    if let Some(mesh) = op.mesh()? {
        mesh.runs().ask_to_stop(&run.id, &StopOrder { by, urgency })?;
    }
    Ok(run)
}
