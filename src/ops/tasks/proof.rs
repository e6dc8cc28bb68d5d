//! How well it is proven that listed tasks are done: from what is recorded with their completions, and from edits that
//! hooks saw since.

use jiff::Timestamp;

use crate::domain::{Agent, TaskProof};
use crate::ops::error::CommandError;
use crate::store::{Census, Claims, Completion, Completions, Mesh, Registration};

use super::task_board::{TaskState, TaskView};

/// What is known about the work of agents since they completed a task.
pub(super) struct LaterWork<'a> {
    pub(super) mesh: &'a Mesh,
    pub(super) census: &'a Census,
    pub(super) claims: &'a Claims,
    pub(super) completions: &'a Completions,
}

impl LaterWork<'_> {
    /// Says of each finished task how well that is proven.
    pub(super) fn judge(&self, tasks: &mut [TaskView]) -> Result<(), CommandError> {
        for task in tasks.iter_mut().filter(|task| task.state == TaskState::Done) {
            let evidence = task.completion.as_ref().and_then(|done| done.evidence.as_ref());
            let proof = TaskProof::of(evidence, None);
            // Only what is proven can be outdated.
            let edited = match (&task.completion, proof) {
                (Some(done), TaskProof::Proven) => self.edited_since(done)?,
                _ => None,
            };
            task.proof = Some(edited.map_or(proof, |edited| TaskProof::of(evidence, Some(edited))));
        }
        Ok(())
    }

    /// The last edit after the completion by the agent that made it, as long as it has done nothing else since: it has
    /// neither another task now, nor has it completed one.
    fn edited_since(&self, done: &Completion) -> Result<Option<Timestamp>, CommandError> {
        let Some(Registration { agent, .. }) = completer(self.census, done) else { return Ok(None) };
        if !self.claims.of(agent).is_empty() {
            return Ok(None);
        }
        let edited = self.mesh.activity().seen(&agent.name)?.edited_at.filter(|edited| *edited >= done.at);
        Ok(edited.filter(|_| !self.has_completed_since(agent, done)))
    }

    fn has_completed_since(&self, agent: &Agent, done: &Completion) -> bool {
        let mut all = self.completions.specs().flat_map(|finished| self.completions.of(finished));
        all.any(|other| other.at > done.at && is_name_of(agent, &other.by))
    }
}

/// The agent that completed the task, if it is still here. Another one may have its name now.
pub(super) fn completer<'a>(census: &'a Census, done: &Completion) -> Option<&'a Registration> {
    let is_it = |agent: &Agent| agent.started_at <= done.at && is_name_of(agent, &done.by);
    census.local().find(|record| is_it(&record.agent))
}

fn is_name_of(agent: &Agent, name: &str) -> bool {
    agent.all_names().any(|known| known.as_str().eq_ignore_ascii_case(name))
}
