//! `doctor` checks of the machine: who may open the mesh directory, the version of git, and the kernel's inotify limits.

use crate::ops::effects::Op;
use crate::ops::health_check::{DoctorMode, HealthCheck};
use crate::store::Mesh;
use crate::sys::git::run_tree::{RunTreeError, merging_git};

pub(super) fn permissions(op: &Op, mesh: &Mesh, mode: DoctorMode) -> HealthCheck {
    const NAME: &str = "permissions";
    if mode == DoctorMode::Repair
        && let Err(error) = mesh.tighten()
    {
        return HealthCheck::failed(NAME, error);
    }
    match mesh.open_permissions() {
        Some(mode) => HealthCheck::warn(
            NAME,
            format!("`{}` is open to other users (mode {mode:03o})", op.location),
            "the next command that writes to the mesh closes it, and so does `msg doctor --repair`",
        ),
        None => {
            let said = op.take_warnings().into_iter().next();
            said.map_or_else(
                || HealthCheck::ok(NAME, "only you can open it"),
                |said| HealthCheck::repaired(NAME, said),
            )
        }
    }
}

/// Checks whether git can merge the work of runs.
pub(super) fn git(op: &Op) -> HealthCheck {
    const NAME: &str = "git";
    match merging_git() {
        Ok(version) => HealthCheck::ok(NAME, format!("{version} can merge the work of runs")),
        // Until there is such work, nothing is wrong.
        Err(RunTreeError::OldGit { found }) if !has_work(op) => {
            HealthCheck::ok(NAME, format!("{found}; `msg runs merge` needs 2.40 or newer"))
        }
        Err(RunTreeError::OldGit { found }) => HealthCheck::warn(
            NAME,
            format!("git {found} can't merge the work of runs (`msg runs merge`)"),
            "install git 2.40 or newer",
        ),
        Err(error) if has_work(op) => HealthCheck::warn(NAME, error.to_string(), "install git 2.40 or newer"),
        Err(_) => HealthCheck::ok(NAME, "not found; worktrees of runs need it"),
    }
}

/// Whether a run had a worktree. What can't be read is told by other checks.
fn has_work(op: &Op) -> bool {
    op.mesh().ok().flatten().is_some_and(|mesh| mesh.runs().has_work().unwrap_or(false))
}

/// Checks the inotify limits: `watch` needs one watch and one instance; harnesses and editors use up thousands.
pub(super) fn inotify() -> HealthCheck {
    const NAME: &str = "inotify";
    let limit = |name: &str| -> Option<u64> {
        std::fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).ok()?.trim().parse().ok()
    };
    match (limit("max_user_watches"), limit("max_user_instances")) {
        (Some(watches), Some(instances)) => {
            let text = format!("{watches} watches and {instances} instances allowed");
            if watches >= 8192 && instances >= 64 {
                HealthCheck::ok(NAME, text)
            } else {
                HealthCheck::warn(
                    NAME,
                    text,
                    "raise them with `sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512`",
                )
            }
        }
        _ => HealthCheck::ok(NAME, "not on this system"),
    }
}
