//! Decides whether a claim is stale: its process is gone, or another agent has the name.

use crate::domain::{Liveness, RecordedProcess};
use crate::store::{Census, Claim, Registration};
use crate::sys::process;

/// Whether nobody works on it any more: the process is gone, or another agent has the name. A registration that can't
/// be read proves nothing.
pub(crate) fn is_stale(claim: &Claim, census: &Census) -> bool {
    if process::liveness(&claim.process) == Liveness::Gone {
        return true;
    }
    let is_named = |record: &&Registration| {
        record.agent.all_names().any(|name| name.as_str().eq_ignore_ascii_case(&claim.agent))
    };
    let owners: Vec<&Registration> = census.local().filter(is_named).collect();
    let unreadable = census.unreadable.iter().any(|file| file.stem.eq_ignore_ascii_case(&claim.agent));
    match &claim.process {
        RecordedProcess::Pinned(_) => {
            !owners.is_empty() && !owners.iter().any(|owner| owner.agent.process == claim.process)
        }
        // A claim of pi-messenger's: its owner is registered with that process and that session, and is alive.
        RecordedProcess::Bare { pid, .. } => {
            let is_owner = |owner: &&Registration| {
                let is_same =
                    owner.agent.process.pid() == *pid && owner.agent.session.as_str() == claim.session;
                is_same && process::liveness(&owner.agent.process) != Liveness::Gone
            };
            !unreadable && !owners.iter().any(is_owner)
        }
    }
}
