//! Codex. Its hooks are Claude Code's, with `apply_patch` for all edits.

use serde_json::Value;

use super::payload::Payload;
use super::tool::{ToolInput, Touch, Words};
use super::{Can, Codec, claude, lenient, words};
use crate::domain::hook::HookEvent;

pub(super) struct Codex;

impl Codec for Codex {
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

    /// It moves what is longer than about 2,500 tokens to a file.
    fn room(&self) -> usize {
        6_000
    }

    // An answer with a field that it doesn't know counts as none: so these have nothing else in them.

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

fn touch(tool: &str, input: ToolInput) -> Touch {
    match tool {
        "apply_patch" => Touch::patch(input.command.0.map(Words::text).as_deref()),
        _ => claude::touch(tool, input),
    }
}
