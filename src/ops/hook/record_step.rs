//! Records what a hook reports about its session, in order: whoever watches the agent decides by that what it is doing
//! (`ops/screens`). Nothing here is worth failing for.

use crate::domain::SessionId;
use crate::domain::hook::{HookMoment, ToolUse};
use crate::domain::screens::{HookStep, HookStepKind, ToolWork};
use crate::ops::error::CommandError;
use crate::store::{Mesh, SessionState};
use crate::sys::clock;

use super::planned_changes::may_ask_for_mail;
use super::{HookCall, HookRun};

impl HookRun<'_> {
    /// Records the start of a session, or the end of a turn.
    pub(super) fn record_step(&self, kind: HookStepKind) -> Result<(), CommandError> {
        self.add_step(HookStep::new(clock::now(), kind))
    }

    /// Records that a prompt was taken.
    pub(super) fn record_prompt_step(&self, prompt: &str) -> Result<(), CommandError> {
        let mark = Some(HookStep::mark_of(prompt));
        self.add_step(HookStep { mark, ..HookStep::new(clock::now(), HookStepKind::PromptTaken) })
    }

    pub(super) fn record_tool_step(&self, kind: HookStepKind, tool: &ToolUse) -> Result<(), CommandError> {
        let by = self.call.event.subagent.as_deref().map(HookStep::mark_of);
        self.add_step(HookStep { by, ..step_of(kind, tool) })
    }

    /// Records the end of a turn, unless it goes on.
    pub(super) fn record_end_step(&self) -> Result<(), CommandError> {
        let Some(session) = self.call.event.session.as_ref() else { return Ok(()) };
        match self.mesh.session_states().get(session)? {
            SessionState::Idle => self.record_step(HookStepKind::TurnEnds),
            SessionState::Working | SessionState::Unknown => Ok(()),
        }
    }

    /// Records that the turn has ended because the model could not be asked: now its user has to do something.
    pub(super) fn turn_failed(&self) -> Result<(), CommandError> {
        let me = self.me.as_ref().filter(|me| !me.is_foreign() && !self.call.event.in_subagent);
        let (Some(_), Some(session)) = (me, &self.call.event.session) else { return Ok(()) };
        self.mesh.session_states().set_idle(session)?;
        self.record_step(HookStepKind::TurnFails)
    }

    fn add_step(&self, step: HookStep) -> Result<(), CommandError> {
        let Some(me) = self.me.as_ref().filter(|me| !me.is_foreign()) else { return Ok(()) };
        self.mesh.hooks().add_step(&me.session, &step)?;
        Ok(())
    }
}

/// Records that the user is about to be asked, for a session whose hooks have reported something before.
pub(super) fn record_question(mesh: &Mesh, call: &HookCall) -> Result<(), CommandError> {
    let HookMoment::AskingLeave(tool) = &call.event.moment else { return Ok(()) };
    let is_known = |session: &&SessionId| {
        mesh.session_states().get(session).is_ok_and(|state| state != SessionState::Unknown)
    };
    if let Some(session) = call.sessions().iter().find(is_known) {
        mesh.hooks().add_step(session, &step_of(HookStepKind::AsksLeave, tool))?;
    }
    Ok(())
}

fn step_of(kind: HookStepKind, tool: &ToolUse) -> HookStep {
    let work = match (tool.edits.is_empty(), tool.command.as_deref()) {
        (false, _) => ToolWork::Edits,
        (true, Some(command)) => ToolWork::of_command(command),
        (true, None) => ToolWork::ReadsOrPlans,
    };
    HookStep {
        tool: Some(tool.tool.clone()),
        call: tool.call.clone(),
        mark: tool.command.as_deref().map(HookStep::mark_of),
        arguments: arguments_of(tool),
        work: Some(work),
        result: tool.outcome.map(|outcome| {
            HookStep::result_of(&format!("{outcome:?}"), tool.output.as_deref().unwrap_or_default())
        }),
        ..HookStep::new(clock::now(), kind)
    }
}

/// What the call is recognised by if it is repeated: of a command, the command itself, because other arguments only describe
/// it. Whoever asks for mail does so again and again.
fn arguments_of(tool: &ToolUse) -> Option<String> {
    if may_ask_for_mail(tool) {
        return None;
    }
    tool.command.as_deref().map(HookStep::mark_of).or_else(|| tool.arguments.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_ask_for_mail_are_not_compared() {
        let command = |line: &str| ToolUse { command: Some(line.to_string()), ..ToolUse::default() };
        let named = |tool: &str| ToolUse {
            tool: tool.to_string(),
            arguments: Some("0123456789abcdef".to_string()),
            ..ToolUse::default()
        };
        assert_eq!(arguments_of(&command("make  test")), arguments_of(&command("make test")));
        assert_eq!(arguments_of(&named("Read")).as_deref(), Some("0123456789abcdef"));
        assert_eq!(arguments_of(&named("mcp__ravenry__receive")), None);
        assert_eq!(arguments_of(&command("msg wait --for Bob --until idle")), None);
    }
}
