//! Claude Code.

use serde_json::Value;

use super::payload::Payload;
use super::tool::{ToolInput, Touch};
use super::{Can, Codec, lenient, words};
use crate::domain::hook::HookEvent;

pub(super) struct Claude;

impl Codec for Claude {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, String> {
        Ok(lenient::object::<Payload>(input)?.event(event, touch))
    }

    fn can(&self, event: &str) -> Can {
        match event {
            "PreToolUse" => Can::DenyOrContext,
            "SessionStart" | "UserPromptSubmit" | "PostToolUse" => Can::Context,
            "Stop" => Can::GoOn,
            _ => Can::Nothing,
        }
    }

    /// It moves what is longer than 10,000 characters to a file.
    fn room(&self) -> usize {
        9_000
    }

    fn deny(&self, event: &str, reason: &str) -> Value {
        words::permission_denied(event, reason)
    }

    fn context(&self, event: &str, text: &str) -> Value {
        words::additional_context(event, text)
    }

    fn go_on(&self, text: &str) -> Value {
        words::block(text)
    }
}

/// What a tool of Claude Code's will touch. Tools that we don't know by name edit if they have what an edit has.
pub(super) fn touch(tool: &str, input: ToolInput) -> Touch {
    match tool {
        "Edit" | "Write" | "MultiEdit" => Touch::edit(input.file_path),
        "NotebookEdit" => Touch::edit(input.notebook_path),
        "Bash" | "Monitor" => Touch::run(input.command, None),
        "Read" | "Glob" | "Grep" => Touch::default(),
        _ if input.writes() => Touch::edit(input.file_path),
        _ => Touch::default(),
    }
}
