//! Codec of Gemini CLI.

use serde_json::Value;

use crate::domain::hook::{HookEvent, HookMoment, ToolOutcome, ToolUse};
use crate::harness::hook_codec::claude_payload::ClaudePayload;
use crate::harness::hook_codec::tool_input::{ToolInput, ToolTouches};
use crate::harness::hook_codec::tool_outcome::{ReportEvent, ToolReport};
use crate::harness::hook_codec::{
    AcceptedAnswers, DecodeError, HookCodec, answers, lenient_json, tool_outcome,
};

pub(super) struct GeminiCodec;

impl HookCodec for GeminiCodec {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, DecodeError> {
        let mut payload: ClaudePayload = lenient_json::object(input)?;
        let moment = match event {
            "SessionStart" => HookMoment::SessionStarted,
            "SessionEnd" => payload.session_ended(),
            "BeforeAgent" => {
                HookMoment::PromptSubmitted { prompt: without_hook_context(&payload.prompt()).to_string() }
            }
            "BeforeTool" => HookMoment::BeforeTool(payload.tool_use(touch)),
            "AfterTool" => HookMoment::AfterTool(payload.used(touch, outcome, ReportEvent::AfterUse)),
            "AfterAgent" => HookMoment::Stopping,
            _ => HookMoment::Other,
        };
        Ok(payload.at(moment))
    }

    fn accepts(&self, event: &str) -> AcceptedAnswers {
        match event {
            "BeforeTool" => AcceptedAnswers::Deny,
            "SessionStart" | "BeforeAgent" | "AfterTool" => AcceptedAnswers::Context,
            "AfterAgent" => AcceptedAnswers::GoOn,
            _ => AcceptedAnswers::Nothing,
        }
    }

    /// Gemini CLI has no permission decisions.
    fn deny(&self, _: &str, reason: &str) -> Value {
        answers::block(reason)
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

/// Gemini CLI writes a list below the output, which contains the exit code unless it is 0.
fn outcome(ending: &ToolReport, tool: &ToolUse) -> Option<ToolOutcome> {
    if tool.command.is_none() {
        return Some(if ending.error.is_some() { ToolOutcome::Failed } else { ToolOutcome::Succeeded });
    }
    let text = ending.text.as_ref()?.end.trim_end();
    let mut lines = text.strip_suffix("</untrusted_context>").unwrap_or(text).trim_end().lines().rev();
    // Without this line, the command did not run to its end.
    lines.next().filter(|line| line.starts_with("Process Group PGID: "))?;
    let mut line = lines.next()?;
    if line.starts_with("Background PIDs: ") {
        line = lines.next()?;
    }
    if line.starts_with("Signal: ") || line.starts_with("Error: ") {
        return None;
    }
    line.strip_prefix("Exit Code: ").map_or(Some(ToolOutcome::Succeeded), tool_outcome::of_exit_code)
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
