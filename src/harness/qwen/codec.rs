//! Codec of Qwen Code, whose hooks are Claude Code's, with the tools of Gemini CLI.

use serde_json::Value;

use crate::domain::hook::{HookEvent, HookMoment, PermissionMode, ToolOutcome, ToolUse};
use crate::harness::hook_codec::claude_payload::ClaudePayload;
use crate::harness::hook_codec::tool_input::{ToolInput, ToolTouches};
use crate::harness::hook_codec::tool_outcome::{self, ToolReport};
use crate::harness::hook_codec::{AcceptedAnswers, DecodeError, HookCodec, answers, lenient_json};

/// The modes in which some or all tools run without asking.
const UNASKED: [&str; 3] = ["auto_edit", "auto", "yolo"];

pub(super) struct QwenCodec;

impl HookCodec for QwenCodec {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, DecodeError> {
        let mut payload: ClaudePayload = lenient_json::object(input)?;
        let permissions = match payload.mode() {
            Some(mode) if UNASKED.contains(&mode) => PermissionMode::Bypasses,
            Some("plan") => PermissionMode::Plans,
            _ => PermissionMode::Asks,
        };
        let decoded = match event {
            "PermissionRequest" => {
                let tool = payload.tool_use(touch);
                payload.at(HookMoment::AskingLeave(tool))
            }
            event => payload.event(event, touch, outcome),
        };
        let moment = match decoded.moment {
            // Before each request that follows a tool's result it calls this hook again, with an empty prompt.
            HookMoment::PromptSubmitted { prompt } if prompt.is_empty() => HookMoment::Other,
            moment => moment,
        };
        Ok(HookEvent { permissions, moment, ..decoded })
    }

    fn accepts(&self, event: &str) -> AcceptedAnswers {
        match event {
            "PermissionRequest" => AcceptedAnswers::Allow,
            "PreToolUse" => AcceptedAnswers::Deny,
            "SessionStart" | "UserPromptSubmit" | "PostToolUse" | "PostToolUseFailure" => {
                AcceptedAnswers::Context
            }
            "Stop" => AcceptedAnswers::GoOn,
            _ => AcceptedAnswers::Nothing,
        }
    }

    /// A prompt that is interrupted before the first word of the answer is taken back, with the context given for it.
    fn keeps_text_after_interrupt(&self, event: &str) -> bool {
        event != "UserPromptSubmit"
    }

    /// The reason for going on becomes a prompt, at which the hook for prompts is called: the mail comes there.
    fn continues_as_user_prompt(&self) -> bool {
        true
    }

    fn allow(&self) -> Option<Value> {
        Some(answers::permit())
    }
}

/// Below the output of a command is a list that contains its exit code.
fn outcome(report: &ToolReport, tool: &ToolUse) -> Option<ToolOutcome> {
    if report.is_open {
        return None;
    }
    if tool.command.is_none() {
        return Some(if report.is_failure { ToolOutcome::Failed } else { ToolOutcome::Succeeded });
    }
    let text = report.text.as_ref().or(report.error.as_ref())?.end.trim_end();
    let mut lines = text.lines().rev();
    // Without this line, the command did not run to its end.
    lines.next().filter(|line| line.starts_with("Process Group PGID: "))?;
    let mut line = lines.next()?;
    if line.starts_with("Background PIDs: ") {
        line = lines.next()?;
    }
    line.strip_prefix("Signal: (none)")?;
    tool_outcome::of_exit_code(lines.next()?.strip_prefix("Exit Code: ")?)
}

fn touch(tool: &str, mut input: ToolInput) -> ToolTouches {
    match tool {
        "edit" | "write_file" => ToolTouches::edit(input.file_path),
        "notebook_edit" => ToolTouches::edit(input.notebook_path),
        "read_file" => ToolTouches::read(input.file_path),
        "run_shell_command" | "monitor" => {
            let in_background = input.is_background.0 == Some(true);
            let directory = input.directory.0.take();
            ToolTouches { in_background, ..ToolTouches::run(input.command, directory) }
        }
        _ => ToolTouches::default(),
    }
}
