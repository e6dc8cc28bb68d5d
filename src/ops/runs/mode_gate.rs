//! The gate of the mode: asked before a run is written into the ledger, and again when it gets its slot, because the mode
//! may have been set meanwhile.

use std::path::Path;

use crate::store::{Mesh, RunOrder};

use super::gate::Gate;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::mode;

/// Refuses a run in `root` that the mode of the repository does not allow.
pub(super) fn check(
    op: &Op,
    mesh: &Mesh,
    root: &Path,
    (profile, order): (&str, &RunOrder),
) -> Result<(), CommandError> {
    let mode = mode::of_run(op, mesh, root)?.mode;
    if mode.allows_edits() || mode.allows_reading_runs() && !order.is_to_write {
        return Ok(());
    }
    let text = match mode.allows_reading_runs() {
        false => format!("this repository is in mode `{}`, in which no runs are started", mode.name()),
        true => format!(
            "this repository is in mode `{}`, in which only runs of read-only profiles are started, and `{profile}` is to change files",
            mode.name(),
        ),
    };
    let hint = format!("a person can run `{}`", mode::way_out(op));
    Err(Gate::Mode.refuse(text).fact("mode", mode.name()).hint(hint))
}
