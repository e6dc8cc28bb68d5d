//! A worker may do no more than its parent: whoever only reads starts only readers, and who works in a work tree of its
//! own starts writers only there.
//!
//! What a parent may do is known in two cases. A worker of ours has an order, and other harnesses tell in their hooks
//! whether they are in a mode that only plans. Whether a parent would have asked its user before an edit is not compared:
//! its user was asked about `msg run` itself.

use std::path::Path;

use crate::domain::hook::PermissionMode;
use crate::domain::runs::RunParent;
use crate::store::Mesh;
use crate::sys::paths;

use super::gate::Gate;
use crate::ops::error::{CommandError, CommandErrorKind};

/// Whether the parent may start a worker that writes.
pub(super) fn may_write(mesh: &Mesh, parent: &RunParent) -> Result<bool, CommandError> {
    match check_writer(mesh, parent, "") {
        Err(error) if error.kind == CommandErrorKind::Gate => Ok(false),
        checked => checked.map(|()| true),
    }
}

/// Refuses a profile that writes if the parent only reads.
pub(super) fn check_writer(mesh: &Mesh, parent: &RunParent, profile: &str) -> Result<(), CommandError> {
    let refusal = |why: String| {
        let text = format!("`{profile}` changes files, and {why}");
        Gate::Harness.refuse(text).hint("choose a profile that only reads: `msg workers` lists them")
    };
    if let Some(run) = &parent.run
        && mesh.runs().get(run)?.is_some()
        && !mesh.runs().order(run)?.is_to_write
    {
        return Err(refusal(format!("you are the worker of run {run}, which only reads")));
    }
    if let Some(session) = &parent.session
        && mesh.session_states().permission_mode(session)? == PermissionMode::Plans
    {
        return Err(refusal("you are in a mode that only plans".to_string()));
    }
    Ok(())
}

/// Refuses a run outside of the work tree of the worker that starts it.
pub(super) fn check_place(mesh: &Mesh, parent: &RunParent, root: &Path) -> Result<(), CommandError> {
    let mut next = parent.run.clone();
    while let Some(run) = next.map(|id| mesh.runs().get(&id)).transpose()?.flatten() {
        if run.project.is_none() {
            next = run.parent.run;
            continue;
        }
        if paths::follow(root).starts_with(paths::follow(Path::new(&run.root))) {
            return Ok(());
        }
        let text = format!(
            "`{}` is outside of the work tree of run {}, whose worker you are or work for",
            root.display(),
            run.id
        );
        return Err(Gate::Harness.refuse(text).hint(format!("start it in `{}`", run.root)));
    }
    Ok(())
}
