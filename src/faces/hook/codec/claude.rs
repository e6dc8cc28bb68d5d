//! Codec of Claude Code.

use super::lenient::Maybe;
use super::payload::Payload;
use super::tool::{ToolInput, Touch};
use super::words::Tongue;
use super::{Can, Codec, ending, lenient};
use crate::domain::hook::HookEvent;

pub(super) struct Claude;

impl Codec for Claude {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, String> {
        Ok(lenient::object::<Payload>(input)?.event(event, touch, ending::of_claude))
    }

    fn can(&self, event: &str) -> Can {
        match event {
            // Context given before a tool reaches the model only with the tool's result, and never if there is none.
            "PreToolUse" => Can::Deny,
            "SessionStart" | "UserPromptSubmit" | "PostToolUse" | "PostToolUseFailure" => Can::Context,
            "Stop" => Can::GoOn,
            _ => Can::Nothing,
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

    fn tongue(&self, _: &str) -> Tongue {
        Tongue::Claude
    }
}

/// The files and commands that a tool of Claude Code touches. An unknown tool counts as an edit if it has the fields of
/// one.
pub(super) fn touch(tool: &str, input: ToolInput) -> Touch {
    match tool {
        "Edit" | "Write" | "MultiEdit" => Touch::edit(input.file_path),
        "NotebookEdit" => Touch::edit(input.notebook_path),
        "Bash" | "Monitor" => Touch::start(input),
        "Read" => Touch::read(input.file_path),
        "Glob" | "Grep" => Touch::default(),
        // Tools of MCP servers call the field `path`. A relative one may be on another machine.
        _ if input.writes() => {
            let path = input.path.0.filter(|path| path.starts_with('/'));
            Touch::edit(Maybe(input.file_path.0.or(path)))
        }
        _ => Touch::default(),
    }
}
