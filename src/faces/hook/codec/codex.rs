//! Codec of Codex, whose hooks are Claude Code's, with `apply_patch` for all edits.

use super::payload::Payload;
use super::tool::{ToolInput, Touch, Words};
use super::words::Tongue;
use super::{Can, Codec, claude, ending, lenient};
use crate::domain::hook::HookEvent;

pub(super) struct Codex;

impl Codec for Codex {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, String> {
        Ok(lenient::object::<Payload>(input)?.event(event, touch, ending::of_codex))
    }

    fn can(&self, event: &str) -> Can {
        match event {
            "PreToolUse" => Can::DenyOrContext,
            // Codex calls no hook after a tool that failed.
            "PostToolUseFailure" => Can::Nothing,
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

    fn tongue(&self, _: &str) -> Tongue {
        Tongue::Codex
    }
}

fn touch(tool: &str, input: ToolInput) -> Touch {
    match tool {
        "apply_patch" => Touch::patch(input.command.0.map(Words::text).as_deref()),
        _ => claude::touch(tool, input),
    }
}
