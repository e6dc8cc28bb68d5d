//! The run whose worker called this command, by the processes above it: variables can be set by whoever calls.

use crate::domain::RecordedProcess;
use crate::domain::runs::Run;
use crate::harness::ancestry;
use crate::store::Mesh;
use crate::sys::process;

use crate::ops::error::CommandError;

/// The run whose supervisor is the nearest one above this process. A supervisor starts its worker, and on Linux adopts
/// what leaves it.
pub(super) fn worker_run(mesh: &Mesh) -> Result<Option<Run>, CommandError> {
    let above: Vec<_> = ancestry::all_ancestors().into_iter().filter_map(process::identify).collect();
    let place = |run: &Run| match &run.owner {
        RecordedProcess::Pinned(owner) => above.iter().position(|process| process == owner),
        RecordedProcess::Bare { .. } => None,
    };
    let runs = mesh.runs().list()?.runs.into_iter().filter(|run| !run.state.is_final());
    let found = runs.filter_map(|run| Some((place(&run)?, run))).min_by_key(|(place, _)| *place);
    Ok(found.map(|(_, run)| run))
}
