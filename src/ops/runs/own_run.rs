//! The run whose worker called this command, by the processes above it: variables can be set by whoever calls. And the
//! session under which a place is kept for a worker.

use crate::domain::runs::{Run, RunId};
use crate::domain::{Agent, Pid, RecordedProcess, SessionId, SessionIdError};
use crate::harness::ancestry;
use crate::store::Mesh;
use crate::sys::process;

use crate::ops::error::CommandError;

/// How the session of a place begins.
const KEPT: &str = "run-";

/// The run whose supervisor, or keeper in a tmux pane, is the nearest one above this process. Both start their worker, and
/// on Linux adopt what leaves it.
pub(in crate::ops) fn worker_run(mesh: &Mesh) -> Result<Option<Run>, CommandError> {
    nearest_run(mesh, ancestry::all_ancestors())
}

/// The run that a live agent works for, by the same rule.
pub(in crate::ops) fn run_of_agent(mesh: &Mesh, agent: &Agent) -> Result<Option<Run>, CommandError> {
    nearest_run(mesh, ancestry::above(agent.process.pid()))
}

/// The run whose supervisor or keeper comes first among these processes.
fn nearest_run(mesh: &Mesh, processes: Vec<Pid>) -> Result<Option<Run>, CommandError> {
    let above: Vec<_> = processes.into_iter().filter_map(process::identify).collect();
    let position = |recorded: &RecordedProcess| match recorded {
        RecordedProcess::Pinned(owner) => above.iter().position(|process| process == owner),
        RecordedProcess::Bare { .. } => None,
    };
    // A worker in a tmux pane is below its keeper, and that is below tmux.
    let place = |run: &Run| {
        let keeper = run.pane.as_ref().and_then(|pane| position(&pane.keeper));
        [position(&run.owner), keeper].into_iter().flatten().min()
    };
    let runs = mesh.runs().list()?.runs.into_iter().filter(|run| !run.state.is_final());
    let found = runs.filter_map(|run| Some((place(&run)?, run))).min_by_key(|(place, _)| *place);
    Ok(found.map(|(_, run)| run))
}

/// The session under which the place of a run's worker is kept.
pub(in crate::ops) fn kept_session(run: &RunId) -> Result<SessionId, SessionIdError> {
    SessionId::new(format!("{KEPT}{run}"))
}

/// The run whose supervisor keeps a place under that agent's name: its worker has not joined yet, or is to go on later.
pub(in crate::ops) fn run_that_keeps(mesh: &Mesh, agent: &Agent) -> Result<Option<Run>, CommandError> {
    let Some(id) = agent.session.as_str().strip_prefix(KEPT).and_then(|id| RunId::new(id).ok()) else {
        return Ok(None);
    };
    Ok(mesh.runs().get(&id)?.filter(|run| run.owner == agent.process))
}
