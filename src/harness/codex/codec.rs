//! Codec of Codex, whose hooks are Claude Code's, with `apply_patch` for all edits.

use crate::domain::hook::{HookEvent, ToolOutcome, ToolUse};
use crate::harness::hook_codec::claude_payload::{ClaudePayload, tool_touches};
use crate::harness::hook_codec::tool_input::{ToolCommand, ToolInput, ToolTouches};
use crate::harness::hook_codec::tool_outcome::ToolReport;
use crate::harness::hook_codec::{AcceptedAnswers, DecodeError, HookCodec, lenient_json};

/// Codex rejects an answer with an unknown field, so answers contain nothing else.
pub(super) struct CodexCodec;

impl HookCodec for CodexCodec {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, DecodeError> {
        Ok(lenient_json::object::<ClaudePayload>(input)?.event(event, touch, outcome))
    }

    fn accepts(&self, event: &str) -> AcceptedAnswers {
        match event {
            "PreToolUse" => AcceptedAnswers::DenyOrContext,
            // Codex calls no hook after a tool that failed.
            "SessionStart" | "UserPromptSubmit" | "PostToolUse" => AcceptedAnswers::Context,
            "Stop" => AcceptedAnswers::GoOn,
            _ => AcceptedAnswers::Nothing,
        }
    }

    fn keeps_text_after_interrupt(&self, _: &str) -> bool {
        true
    }

    /// Codex moves context of more than about 2,500 tokens to a file.
    fn max_answer_chars(&self) -> usize {
        6_000
    }
}

fn touch(tool: &str, input: ToolInput) -> ToolTouches {
    match tool {
        "apply_patch" => ToolTouches::patch(input.command.0.map(ToolCommand::text).as_deref()),
        _ => tool_touches(tool, input),
    }
}

/// Codex reports the output of a command but not its exit code, and nothing at all for tools that fail.
fn outcome(_: &ToolReport, tool: &ToolUse) -> Option<ToolOutcome> {
    tool.command.is_none().then_some(ToolOutcome::Succeeded)
}
