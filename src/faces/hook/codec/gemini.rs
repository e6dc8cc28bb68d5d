//! Codec of Gemini CLI.

use super::answer_format::AnswerFormat;
use super::claude_payload::ClaudePayload;
use super::tool_input::{ToolInput, ToolTouches};
use super::{AcceptedAnswers, Codec, lenient_json, tool_outcome};
use crate::domain::hook::{HookEvent, HookMoment};

pub(super) struct Gemini;

impl Codec for Gemini {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, String> {
        let mut payload: ClaudePayload = lenient_json::object(input)?;
        let moment = match event {
            "SessionStart" => HookMoment::SessionStarted,
            "SessionEnd" => payload.session_ended(),
            "BeforeAgent" => {
                HookMoment::PromptSubmitted { prompt: without_hook_context(&payload.prompt()).to_string() }
            }
            "BeforeTool" => HookMoment::BeforeTool(payload.tool_use(touch)),
            "AfterTool" => HookMoment::AfterTool(payload.used(touch, tool_outcome::of_gemini, false)),
            "AfterAgent" => HookMoment::Stopping,
            _ => HookMoment::Other,
        };
        Ok(payload.at(moment))
    }

    fn can(&self, event: &str) -> AcceptedAnswers {
        match event {
            "BeforeTool" => AcceptedAnswers::Deny,
            "SessionStart" | "BeforeAgent" | "AfterTool" => AcceptedAnswers::Context,
            "AfterAgent" => AcceptedAnswers::GoOn,
            _ => AcceptedAnswers::Nothing,
        }
    }

    fn tongue(&self, _: &str) -> AnswerFormat {
        AnswerFormat::Gemini
    }
}

fn touch(tool: &str, input: ToolInput) -> ToolTouches {
    match tool {
        "read_file" => ToolTouches::read(input.file_path),
        "replace" | "write_file" => ToolTouches::edit(input.file_path),
        // `dir_path` is the newer name.
        "run_shell_command" => ToolTouches::run(input.command, input.directory.0.or(input.dir_path.0)),
        _ => ToolTouches::default(),
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
