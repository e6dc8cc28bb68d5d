//! Codec of Copilot CLI. The spelling of the event decides the format of the payload: `preToolUse` has keys of its own,
//! `PreToolUse` has Claude Code's keys with the same values.

use serde::Deserialize;

use super::answer_format::AnswerFormat;
use super::claude_payload::ClaudePayload;
use super::lenient_json::{Maybe, Object};
use super::tool_input::{ToolCommand, ToolInput, ToolTouches};
use super::tool_outcome::{self, TextExcerpt, ToolReport};
use super::{AcceptedAnswers, Codec, lenient_json, session};
use crate::domain::hook::{HookEvent, HookMoment, ToolUse};

pub(super) struct Copilot;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CamelPayload {
    session_id: Maybe<String>,
    cwd: Maybe<String>,
    prompt: Maybe<String>,
    tool_name: Maybe<String>,
    tool_args: Maybe<ToolInput>,
    /// The name of `tool_args` when the user is asked for permission.
    tool_input: Maybe<ToolInput>,
    tool_result: Object<ToolResult>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ToolResult {
    result_type: Maybe<String>,
    text_result_for_llm: Maybe<TextExcerpt>,
}

impl Codec for Copilot {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, String> {
        if is_pascal(event) {
            return Ok(lenient_json::object::<ClaudePayload>(input)?.event(
                event,
                touch,
                tool_outcome::of_copilot,
            ));
        }
        let payload: CamelPayload = lenient_json::object(input)?;
        let moment = match event {
            "sessionStart" => HookMoment::SessionStarted,
            "sessionEnd" => HookMoment::SessionEnded { goes_on: false },
            "userPromptSubmitted" => {
                HookMoment::PromptSubmitted { prompt: payload.prompt.0.unwrap_or_default() }
            }
            "preToolUse" => HookMoment::BeforeTool(tool_use(payload.tool_name, payload.tool_args)),
            "postToolUse" | "postToolUseFailure" => {
                let ToolResult { result_type, text_result_for_llm } = payload.tool_result.0;
                let ending = ToolReport {
                    is_failure: event == "postToolUseFailure",
                    text: text_result_for_llm.0,
                    kind: result_type.0,
                    ..ToolReport::default()
                };
                let tool = tool_use(payload.tool_name, payload.tool_args);
                HookMoment::AfterTool(ToolUse { outcome: tool_outcome::of_copilot(&ending, &tool), ..tool })
            }
            "permissionRequest" => HookMoment::AskingLeave(tool_use(payload.tool_name, payload.tool_input)),
            "agentStop" => HookMoment::Stopping,
            _ => HookMoment::Other,
        };
        let session = session(payload.session_id);
        Ok(HookEvent { session, cwd: payload.cwd.0, moment, ..HookEvent::default() })
    }

    fn can(&self, event: &str) -> AcceptedAnswers {
        match event {
            "permissionRequest" => AcceptedAnswers::Allow,
            "preToolUse" | "PreToolUse" => AcceptedAnswers::Deny,
            "sessionStart" | "SessionStart" => AcceptedAnswers::Context,
            "userPromptSubmitted" | "UserPromptSubmit" => AcceptedAnswers::Context,
            "postToolUse" | "PostToolUse" => AcceptedAnswers::Context,
            "agentStop" | "Stop" => AcceptedAnswers::GoOn,
            _ => AcceptedAnswers::Nothing,
        }
    }

    fn tongue(&self, event: &str) -> AnswerFormat {
        if is_pascal(event) { AnswerFormat::CopilotPascal } else { AnswerFormat::Copilot }
    }
}

fn is_pascal(event: &str) -> bool {
    event.starts_with(|first: char| first.is_ascii_uppercase())
}

fn tool_use(tool: Maybe<String>, args: Maybe<ToolInput>) -> ToolUse {
    let tool = tool.0.unwrap_or_default();
    let touch = touch(&tool, args.0.unwrap_or_default());
    let ToolTouches { edits, reads, command, .. } = touch;
    ToolUse { tool, edits, reads, command, ..ToolUse::default() }
}

/// With Claude Code's event names, `Edit` is `edit` or `apply_patch`, and `Write` is `create`.
fn touch(tool: &str, args: ToolInput) -> ToolTouches {
    match tool {
        "bash" | "shell" | "powershell" | "Bash" | "PowerShell" => ToolTouches::run(args.command, None),
        "str_replace_editor" if matches!(&args.command.0, Some(ToolCommand::Line(line)) if line == "view") => {
            ToolTouches::default()
        }
        "view" | "Read" => ToolTouches::read(args.path),
        "edit" | "create" | "str_replace_editor" | "apply_patch" | "Edit" | "Write" => match args.path {
            Maybe(None) => ToolTouches::patch(args.input.0.as_deref()),
            path => ToolTouches::edit(path),
        },
        _ => ToolTouches::default(),
    }
}
