//! Gates that count runs. Whoever starts a run asks them, so that it hears early; they are asked again when nobody else
//! can be counted at the same time.

use jiff::SignedDuration;

use crate::domain::runs::{Run, RunId, RunParent};
use crate::store::{LedgerList, Mesh};
use crate::sys::clock;

use super::gate::Gate;
use crate::ops::error::CommandError;

/// How many runs may be above a run, and how many a tree of runs may have.
const MOST_DEPTH: usize = 3;
const MOST_DESCENDANTS: usize = 64;
/// How often the same task may fail with the same profile, and in which time.
const MOST_FAILURES: usize = 5;
const FAILURE_WINDOW: SignedDuration = SignedDuration::from_mins(10);

/// How deep a run of this parent is, if that is allowed and the tree of runs above it has not had too many. `before` is
/// what was read of the ledger before.
pub(super) fn check_depth(
    mesh: &Mesh,
    parent: &RunParent,
    before: &LedgerList,
) -> Result<usize, CommandError> {
    let Some(above) = &parent.run else { return Ok(0) };
    let list = mesh.runs().list_again(before)?;
    let find = |id: &RunId| list.runs.iter().find(|run| run.id == *id);
    let Some(above) = find(above) else { return Ok(0) };
    let depth = above.depth + 1;
    if depth > MOST_DEPTH {
        let text =
            format!("this would be a worker of a worker, {depth} deep; at most {MOST_DEPTH} are allowed");
        return Err(Gate::Depth.refuse(text).hint("do the task yourself, or send it to your parent"));
    }
    let mut root = above;
    while let Some(next) = root.parent.run.as_ref().and_then(find) {
        root = next;
    }
    let is_below = |run: &&Run| {
        let mut next = run.parent.run.as_ref().and_then(find);
        while let Some(above) = next {
            if above.id == root.id {
                return true;
            }
            next = above.parent.run.as_ref().and_then(find);
        }
        false
    };
    let descendants = list.runs.iter().filter(is_below).count();
    if descendants >= MOST_DESCENDANTS {
        let text = format!(
            "run {} has started {descendants} runs in all; at most {MOST_DESCENDANTS} are allowed",
            root.id
        );
        return Err(Gate::Depth.refuse(text).hint("a person can start further ones"));
    }
    Ok(depth)
}

/// The depth of a run that is asked for from another machine, where the runs above it are, if that is allowed.
pub(super) fn check_depth_elsewhere(depth: usize) -> Result<usize, CommandError> {
    if depth <= MOST_DEPTH {
        return Ok(depth);
    }
    let text = format!("this would be a worker of a worker, {depth} deep; at most {MOST_DEPTH} are allowed");
    Err(Gate::Depth.refuse(text).hint("do the task yourself, or send it to your parent"))
}

/// Refuses what has failed too often just now.
pub(super) fn check_loop(mesh: &Mesh, prompt: &str, profile: &str) -> Result<(), CommandError> {
    let since = clock::now() - FAILURE_WINDOW;
    let list = mesh.runs().list()?;
    let is_same = |run: &&Run| run.prompt == prompt && run.ended_at.is_some_and(|at| at >= since);
    let failures = list.runs.iter().filter(is_same).filter(|run| run.state.is_failure()).count();
    if failures < MOST_FAILURES {
        return Ok(());
    }
    let text = format!(
        "this task has failed {failures} times in ten minutes with the profile `{profile}`: the same again would not help"
    );
    Err(Gate::Loop.refuse(text).hint("`msg runs` shows why they failed; change the task, or wait"))
}
