//! Codec of Gemini CLI.

use super::payload::Payload;
use super::tool::{ToolInput, Touch};
use super::words::Tongue;
use super::{Can, Codec, ending, lenient};
use crate::domain::hook::{HookEvent, Moment};

pub(super) struct Gemini;

impl Codec for Gemini {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, String> {
        let mut payload: Payload = lenient::object(input)?;
        let moment = match event {
            "SessionStart" => Moment::SessionStarted,
            "SessionEnd" => payload.session_ended(),
            "BeforeAgent" => {
                Moment::PromptSubmitted { prompt: without_hook_context(&payload.prompt()).to_string() }
            }
            "BeforeTool" => Moment::BeforeTool(payload.tool_use(touch)),
            "AfterTool" => Moment::AfterTool(payload.used(touch, ending::of_gemini, false)),
            "AfterAgent" => Moment::Stopping,
            _ => Moment::Other,
        };
        Ok(payload.at(moment))
    }

    fn can(&self, event: &str) -> Can {
        match event {
            "BeforeTool" => Can::Deny,
            "SessionStart" | "BeforeAgent" | "AfterTool" => Can::Context,
            "AfterAgent" => Can::GoOn,
            _ => Can::Nothing,
        }
    }

    fn tongue(&self, _: &str) -> Tongue {
        Tongue::Gemini
    }
}

fn touch(tool: &str, input: ToolInput) -> Touch {
    match tool {
        "read_file" => Touch::read(input.file_path),
        "replace" | "write_file" => Touch::edit(input.file_path),
        // `dir_path` is the newer name.
        "run_shell_command" => Touch::run(input.command, input.directory.0.or(input.dir_path.0)),
        _ => Touch::default(),
    }
}

/// The prompt without the context that hooks put before it, which is our own text.
fn without_hook_context(prompt: &str) -> &str {
    let mut rest = prompt;
    while let Some((_, after)) =
        rest.trim_start().strip_prefix("<hook_context>").and_then(|block| block.split_once("</hook_context>"))
    {
        rest = after.trim_start();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_leading_blocks_are_left_out() {
        let check = |prompt, expected| assert_eq!(without_hook_context(prompt), expected);
        check("<hook_context>a</hook_context>\n\nhi", "hi");
        check(" <hook_context>a\nb</hook_context> <hook_context></hook_context>hi\n", "hi\n");
        check("hi <hook_context>a</hook_context>", "hi <hook_context>a</hook_context>");
        check("<hook_context>hi", "<hook_context>hi");
        check("  hi", "  hi");
        check("<hook_context>a</hook_context>", "");
        check("", "");
    }
}
