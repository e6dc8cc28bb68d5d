//! Codec of Codex, whose hooks are Claude Code's, with `apply_patch` for all edits.

use super::answer_format::AnswerFormat;
use super::claude_payload::ClaudePayload;
use super::tool_input::{ToolCommand, ToolInput, ToolTouches};
use super::{AcceptedAnswers, Codec, claude, lenient_json, tool_outcome};
use crate::domain::hook::HookEvent;

pub(super) struct Codex;

impl Codec for Codex {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, String> {
        Ok(lenient_json::object::<ClaudePayload>(input)?.event(event, touch, tool_outcome::of_codex))
    }

    fn can(&self, event: &str) -> AcceptedAnswers {
        match event {
            "PreToolUse" => AcceptedAnswers::DenyOrContext,
            // Codex calls no hook after a tool that failed.
            "PostToolUseFailure" => AcceptedAnswers::Nothing,
            event => claude::Claude.can(event),
        }
    }

    fn keeps(&self, _: &str) -> bool {
        true
    }

    /// Codex moves context of more than about 2,500 tokens to a file.
    fn room(&self) -> usize {
        6_000
    }

    fn tongue(&self, _: &str) -> AnswerFormat {
        AnswerFormat::Codex
    }
}

fn touch(tool: &str, input: ToolInput) -> ToolTouches {
    match tool {
        "apply_patch" => ToolTouches::patch(input.command.0.map(ToolCommand::text).as_deref()),
        _ => claude::touch(tool, input),
    }
}
