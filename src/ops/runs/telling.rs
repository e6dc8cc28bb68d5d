//! Telling the parent how a run has ended, and a worker that it is to wrap up.

use std::sync::Arc;

use crate::domain::runs::{Run, RunParent};
use crate::domain::{Agent, Notice, PeerText};
use crate::store::Mesh;

use crate::ops::effects::Op;
use crate::ops::error::CommandError;

/// How much of a worker's last words is told.
const MOST_WORDS: usize = 4_000;

/// Tells the parent; if it is gone, its own parent. If nobody is left, the ledger has it.
pub(super) fn tell_end(op: &Op, mesh: &Mesh, run: &Run) -> Result<(), CommandError> {
    let Some(parent) = parent(mesh, &run.parent)? else { return Ok(()) };
    op.notify(parent, end_notice(run), format!("the parent of run {} was not told of its end", run.id));
    Ok(())
}

/// The live agent that is to be told.
fn parent(mesh: &Mesh, parent: &RunParent) -> Result<Option<Arc<Agent>>, CommandError> {
    let census = mesh.registry().census()?;
    let mut next = Some(parent.clone());
    while let Some(parent) = next {
        let found = census.records.iter().find(|record| {
            record.is_live()
                && (parent.session.as_ref() == Some(&record.agent.session)
                    || parent.session.is_none() && parent.agent.as_ref() == Some(&record.agent.name))
        });
        if let Some(found) = found {
            return Ok(Some(Arc::new(found.agent.clone())));
        }
        next = match &parent.run {
            Some(run) => mesh.runs().get(run)?.map(|run| run.parent),
            None => None,
        };
    }
    Ok(None)
}

fn end_notice(run: &Run) -> Notice {
    let mut notice = Notice::new().say("Run ").code(&PeerText::new(run.id.as_str())).say(" (");
    notice = notice.code(&PeerText::new(&run.profile)).say(": ");
    notice = notice.quote(&PeerText::new(run.title(80))).say(") has ended: ");
    notice = notice.code(&PeerText::new(run.state.name()));
    if let Some(reason) = &run.reason {
        notice = notice.say(", ").quote(&PeerText::new(reason));
    }
    notice = notice.say(".");
    if let Some(tokens) = run.usage.tokens() {
        notice = notice.say(" It used ").number(usize::try_from(tokens).unwrap_or(usize::MAX)).say(" tokens");
        if let Some(amount) = run.cost.amount() {
            notice = notice.say(" and cost ").code(&PeerText::new(amount.to_string()));
        }
        notice = notice.say(".");
    }
    if let Some(result) = run.result.as_deref().filter(|result| !result.trim().is_empty()) {
        let words: String = result.trim().chars().take(MOST_WORDS).collect();
        let is_cut = words.len() < result.trim().len();
        notice = notice.say(" Its last words:").quoted_lines(&PeerText::new(&words));
        if is_cut {
            notice = notice.say("\n(Cut here. `msg runs show` with the run's id has the whole.)");
        }
    }
    notice
}

/// Tells a worker that its run is to end soon.
pub(super) fn tell_to_wrap_up(op: &Op, worker: &Agent, by: &str, seconds: usize) {
    let notice = Notice::new()
        .quote(&PeerText::new(by))
        .say(" stops this run. You have ")
        .number(seconds)
        .say(" seconds: finish the step that you are at, and say in your last words what is done and what is not.");
    op.notify(Arc::new(worker.clone()), notice, "the worker was not told to wrap up");
}
