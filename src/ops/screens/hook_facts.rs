//! What the hooks of an agent say about it.

use std::time::{Duration, SystemTime};

use crate::domain::runs::RunId;
use crate::domain::screens::{HookSign, HookSigns, HookStep, HookStepKind, HookSteps};
use crate::domain::{Agent, SessionId};
use crate::ops::error::CommandError;
use crate::store::{Mesh, SessionState, StoreError};
use crate::sys::clock;

/// What the hooks of an agent said last.
#[derive(Clone, Debug, Default)]
pub struct HookFacts {
    pub signs: HookSigns,
    /// The last steps that they reported, oldest first.
    pub steps: HookSteps,
    /// A subagent of it runs.
    pub has_subagents: bool,
}

impl HookFacts {
    /// Reads what the agent's hooks have recorded. Nothing of an agent of pi-messenger, which runs none of ours.
    pub(in crate::ops) fn read(mesh: &Mesh, agent: &Agent) -> Result<Self, CommandError> {
        if !agent.is_ours() {
            return Ok(Self::default());
        }
        let session = &agent.session;
        let steps = mesh.hooks().steps(session)?;
        let state = mesh.session_states().get(session)?;
        let since = match state {
            SessionState::Working => mesh.session_states().working_since(session)?,
            SessionState::Idle => mesh.session_states().idle_since(session)?,
            SessionState::Unknown => None,
        };
        let has_subagents = mesh.hooks().has_subagents(session)?;
        Ok(Self { signs: signs(state, since, &steps), steps, has_subagents })
    }

    /// Counts on with every hook: two looks with the same number have no hook in between.
    pub fn hook_number(&self) -> u64 {
        let at = self.steps.last().map_or(0, |step| step.at.as_millisecond().unsigned_abs());
        // Two hooks may run in one millisecond.
        at.wrapping_mul(1024).wrapping_add(self.steps.all().len() as u64)
    }
}

/// Recognises the report of a prompt that is about to be typed.
#[derive(Clone, Debug)]
pub(in crate::ops) struct PromptReport {
    mark: String,
    /// Reports from before are about another one.
    since: i64,
}

impl PromptReport {
    pub(in crate::ops) fn of(text: &str) -> Self {
        Self { mark: HookStep::mark_of(text), since: clock::now().as_millisecond() }
    }

    /// The mark by which the hooks know it.
    pub(in crate::ops) fn mark(&self) -> &str {
        &self.mark
    }

    /// Whether a hook of the session has reported it.
    pub(in crate::ops) fn is_there(&self, mesh: &Mesh, session: &SessionId) -> Result<bool, StoreError> {
        let is_it = |step: &HookStep| {
            let is_prompt = step.kind == HookStepKind::PromptTaken && step.at.as_millisecond() >= self.since;
            is_prompt && step.mark.as_ref() == Some(&self.mark)
        };
        Ok(mesh.hooks().steps(session)?.all().iter().any(is_it))
    }

    /// Whether the worker of a run has reported it. Before it has joined, nobody can tell which prompt it took: then it
    /// counts if the worker has taken more than `before`.
    pub(in crate::ops) fn is_taken_by_worker(
        &self,
        mesh: &Mesh,
        run: &RunId,
        before: u32,
    ) -> Result<bool, StoreError> {
        let name = mesh.runs().worker(run)?;
        match name.map(|name| mesh.registry().get(&name)).transpose()?.flatten() {
            // One hook records both, the turn after the step. Who stops the run as soon as its task is taken must find
            // it in a turn.
            Some(worker) => {
                Ok(self.is_there(mesh, &worker.agent.session)? && mesh.runs().turns(run)?.prompts > before)
            }
            None => Ok(mesh.runs().turns(run)?.prompts > before),
        }
    }
}

/// The marks of a turn decide whether one runs: they are set and removed by whoever begins and ends one. The steps say
/// what happened in it.
fn signs(state: SessionState, since: Option<SystemTime>, steps: &HookSteps) -> HookSigns {
    let last = steps.last();
    let has_had_turn =
        steps.last_of(HookStepKind::PromptTaken).is_some() || steps.last_of(HookStepKind::TurnEnds).is_some();
    let sign = match (state, last.map(|step| step.kind)) {
        (SessionState::Idle, _) if steps.has_failed() => Some(HookSign::TurnFailed),
        (SessionState::Idle, _) if has_had_turn => Some(HookSign::TurnOver),
        // Before this version, nothing but that was recorded.
        (SessionState::Idle, None) => Some(HookSign::TurnOver),
        (SessionState::Idle, Some(_)) => Some(HookSign::SessionStarted),
        // It counts as working, but has no mark of a turn: somebody is waking it.
        (SessionState::Working, _) if since.is_none() => Some(HookSign::BeingWoken),
        (SessionState::Working, Some(HookStepKind::AsksLeave)) => Some(HookSign::AsksLeave),
        (
            SessionState::Working,
            Some(HookStepKind::ToolBegins | HookStepKind::ToolEnds | HookStepKind::ToolRefused),
        ) => Some(HookSign::ToolUsed),
        (SessionState::Working, _) => Some(HookSign::PromptTaken),
        (SessionState::Unknown, Some(HookStepKind::SessionStarted)) => Some(HookSign::SessionStarted),
        (SessionState::Unknown, _) => None,
    };
    let ages = [since.map(clock::age), last.map(age)];
    HookSigns { last: sign, age: ages.into_iter().flatten().min().unwrap_or_default() }
}

fn age(step: &HookStep) -> Duration {
    clock::now().duration_since(step.at).try_into().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(state: SessionState, kinds: &[HookStepKind], expected: Option<HookSign>) {
        let steps = kinds.iter().map(|kind| HookStep::new(clock::now(), *kind)).collect();
        let since = Some(clock::machine_time());
        assert_eq!(signs(state, since, &HookSteps::new(steps)).last, expected, "{state:?} {kinds:?}");
    }

    #[test]
    fn whoever_is_being_woken_has_no_turn_yet() {
        let long_ago = clock::now() - jiff::SignedDuration::from_secs(300);
        let steps = HookSteps::new(vec![HookStep::new(long_ago, HookStepKind::TurnEnds)]);
        assert_eq!(signs(SessionState::Working, None, &steps).last, Some(HookSign::BeingWoken));
    }

    #[test]
    fn the_marks_say_whether_a_turn_runs_and_the_steps_what_happened() {
        use HookStepKind::{
            AsksLeave, PromptTaken, SessionStarted, ToolBegins, ToolEnds, TurnEnds, TurnFails,
        };
        check(SessionState::Unknown, &[], None);
        check(SessionState::Idle, &[SessionStarted], Some(HookSign::SessionStarted));
        check(SessionState::Working, &[SessionStarted, PromptTaken], Some(HookSign::PromptTaken));
        check(SessionState::Working, &[PromptTaken, ToolBegins], Some(HookSign::ToolUsed));
        check(SessionState::Working, &[PromptTaken, ToolBegins, AsksLeave], Some(HookSign::AsksLeave));
        check(SessionState::Idle, &[PromptTaken, ToolBegins, TurnEnds], Some(HookSign::TurnOver));
        check(SessionState::Idle, &[PromptTaken, TurnFails], Some(HookSign::TurnFailed));
        check(SessionState::Idle, &[PromptTaken, TurnFails, ToolEnds], Some(HookSign::TurnFailed));
        check(SessionState::Idle, &[TurnFails, PromptTaken, TurnEnds], Some(HookSign::TurnOver));
        // A hook may come late, and mail may keep a turn going.
        check(SessionState::Idle, &[PromptTaken, TurnEnds, ToolEnds], Some(HookSign::TurnOver));
        check(SessionState::Working, &[PromptTaken, TurnEnds], Some(HookSign::PromptTaken));
    }
}
