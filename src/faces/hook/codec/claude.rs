//! Codec of Claude Code.

use super::answer_format::AnswerFormat;
use super::claude_payload::ClaudePayload;
use super::lenient_json::Maybe;
use super::tool_input::{ToolInput, ToolTouches};
use super::{AcceptedAnswers, Codec, lenient_json, tool_outcome};
use crate::domain::hook::HookEvent;

pub(super) struct Claude;

impl Codec for Claude {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, String> {
        Ok(lenient_json::object::<ClaudePayload>(input)?.event(event, touch, tool_outcome::of_claude))
    }

    fn can(&self, event: &str) -> AcceptedAnswers {
        match event {
            // Context given before a tool reaches the model only with the tool's result, and never if there is none.
            "PreToolUse" => AcceptedAnswers::Deny,
            "SessionStart" | "UserPromptSubmit" | "PostToolUse" | "PostToolUseFailure" => {
                AcceptedAnswers::Context
            }
            "Stop" => AcceptedAnswers::GoOn,
            _ => AcceptedAnswers::Nothing,
        }
    }

    /// A prompt that is interrupted before the first word of the answer is taken back, with the context given for it.
    fn keeps(&self, event: &str) -> bool {
        event != "UserPromptSubmit"
    }

    /// Claude Code moves context of more than 10,000 characters to a file.
    fn room(&self) -> usize {
        9_000
    }

    fn tongue(&self, _: &str) -> AnswerFormat {
        AnswerFormat::Claude
    }
}

/// The files and commands that a tool of Claude Code touches. An unknown tool counts as an edit if it has the fields of
/// one.
pub(super) fn touch(tool: &str, input: ToolInput) -> ToolTouches {
    match tool {
        "Edit" | "Write" | "MultiEdit" => ToolTouches::edit(input.file_path),
        "NotebookEdit" => ToolTouches::edit(input.notebook_path),
        "Bash" | "Monitor" => ToolTouches::start(input),
        "Read" => ToolTouches::read(input.file_path),
        "Glob" | "Grep" => ToolTouches::default(),
        // Tools of MCP servers call the field `path`. A relative one may be on another machine.
        _ if input.writes() => {
            let path = input.path.0.filter(|path| path.starts_with('/'));
            ToolTouches::edit(Maybe(input.file_path.0.or(path)))
        }
        _ => ToolTouches::default(),
    }
}
