//! Codec of Claude Code.

use serde_json::Value;

use crate::domain::hook::{HookEvent, HookMoment, ToolOutcome, ToolUse};
use crate::harness::hook_codec::answers::PERMISSION_REQUEST;
use crate::harness::hook_codec::claude_payload::{ClaudePayload, tool_touches};
use crate::harness::hook_codec::tool_outcome::ToolReport;
use crate::harness::hook_codec::{AcceptedAnswers, DecodeError, HookCodec, answers, lenient_json};

pub(super) struct ClaudeCodec;

impl HookCodec for ClaudeCodec {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, DecodeError> {
        let mut payload = lenient_json::object::<ClaudePayload>(input)?;
        if event != PERMISSION_REQUEST {
            return Ok(payload.event(event, tool_touches, outcome));
        }
        let tool = payload.tool_use(tool_touches);
        let asked = asked(&tool, input);
        Ok(payload.at(HookMoment::AskingLeave(ToolUse { asked, ..tool })))
    }

    fn accepts(&self, event: &str) -> AcceptedAnswers {
        match event {
            // Context given before a tool reaches the model only with the tool's result, and never if there is none.
            "PreToolUse" => AcceptedAnswers::Deny,
            "SessionStart" | "UserPromptSubmit" | "PostToolUse" | "PostToolUseFailure" => {
                AcceptedAnswers::Context
            }
            "Stop" => AcceptedAnswers::GoOn,
            PERMISSION_REQUEST => AcceptedAnswers::AllowOrDeny,
            _ => AcceptedAnswers::Nothing,
        }
    }

    /// A prompt that is interrupted before the first word of the answer is taken back, with the context given for it.
    fn keeps_text_after_interrupt(&self, event: &str) -> bool {
        event != "UserPromptSubmit"
    }

    /// Claude Code moves context of more than 10,000 characters to a file.
    fn max_answer_chars(&self) -> usize {
        9_000
    }

    fn deny(&self, event: &str, reason: &str) -> Value {
        if event == PERMISSION_REQUEST { answers::forbid(reason) } else { answers::deny(event, reason) }
    }

    fn allow(&self) -> Option<Value> {
        Some(answers::permit())
    }

    /// Claude Code calls a block at `Stop` an error and shows it to the model twice; so continuing is done by context,
    /// which it supports since 2.1.163.
    fn go_on(&self, event: &str, text: &str) -> Value {
        answers::context(event, text)
    }
}

/// What a tool is to do, for whoever is asked.
fn asked(tool: &ToolUse, input: &[u8]) -> Option<String> {
    let whole = tool.command.clone().or_else(|| (!tool.edits.is_empty()).then(|| tool.edits.join("\n")));
    whole.or_else(|| {
        let payload: Value = serde_json::from_slice(input).ok()?;
        payload.get("tool_input").map(Value::to_string)
    })
}

/// Claude Code has an event for failures, and gives the exit code of a command.
fn outcome(ending: &ToolReport, tool: &ToolUse) -> Option<ToolOutcome> {
    if ending.is_open {
        return None;
    }
    let exits = ending.error.as_ref().is_some_and(|error| error.start.starts_with("Exit code "));
    match (ending.is_failure, tool.command.is_some()) {
        (false, _) => Some(ToolOutcome::Succeeded),
        // Any other error may be a timeout.
        (true, true) => exits.then_some(ToolOutcome::Failed),
        (true, false) => Some(ToolOutcome::Failed),
    }
}
