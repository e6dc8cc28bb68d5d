//! Codec of Copilot CLI. The spelling of the event decides the format of the payload: `preToolUse` has keys of its own,
//! `PreToolUse` has Claude Code's keys with the same values.

use serde::Deserialize;

use super::ending::{self, Ending, Ends};
use super::lenient::{Maybe, Object};
use super::payload::Payload;
use super::tool::{ToolInput, Touch, Words};
use super::words::Tongue;
use super::{Can, Codec, lenient, session};
use crate::domain::hook::{HookEvent, Moment, ToolUse};

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
    text_result_for_llm: Maybe<Ends>,
}

impl Codec for Copilot {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, String> {
        if is_pascal(event) {
            return Ok(lenient::object::<Payload>(input)?.event(event, touch, ending::of_copilot));
        }
        let payload: CamelPayload = lenient::object(input)?;
        let moment = match event {
            "sessionStart" => Moment::SessionStarted,
            "sessionEnd" => Moment::SessionEnded { goes_on: false },
            "userPromptSubmitted" => Moment::PromptSubmitted { prompt: payload.prompt.0.unwrap_or_default() },
            "preToolUse" => Moment::BeforeTool(tool_use(payload.tool_name, payload.tool_args)),
            "postToolUse" | "postToolUseFailure" => {
                let ToolResult { result_type, text_result_for_llm } = payload.tool_result.0;
                let ending = Ending {
                    is_failure: event == "postToolUseFailure",
                    text: text_result_for_llm.0,
                    kind: result_type.0,
                    ..Ending::default()
                };
                let tool = tool_use(payload.tool_name, payload.tool_args);
                Moment::AfterTool(ToolUse { outcome: ending::of_copilot(&ending, &tool), ..tool })
            }
            "permissionRequest" => Moment::AskingLeave(tool_use(payload.tool_name, payload.tool_input)),
            "agentStop" => Moment::Stopping,
            _ => Moment::Other,
        };
        let session = session(payload.session_id);
        Ok(HookEvent { session, cwd: payload.cwd.0, moment, ..HookEvent::default() })
    }

    fn can(&self, event: &str) -> Can {
        match event {
            "permissionRequest" => Can::Allow,
            "preToolUse" | "PreToolUse" => Can::Deny,
            "sessionStart" | "SessionStart" => Can::Context,
            "userPromptSubmitted" | "UserPromptSubmit" => Can::Context,
            "postToolUse" | "PostToolUse" => Can::Context,
            "agentStop" | "Stop" => Can::GoOn,
            _ => Can::Nothing,
        }
    }

    fn tongue(&self, event: &str) -> Tongue {
        if is_pascal(event) { Tongue::CopilotPascal } else { Tongue::Copilot }
    }
}

fn is_pascal(event: &str) -> bool {
    event.starts_with(|first: char| first.is_ascii_uppercase())
}

fn tool_use(tool: Maybe<String>, args: Maybe<ToolInput>) -> ToolUse {
    let tool = tool.0.unwrap_or_default();
    let touch = touch(&tool, args.0.unwrap_or_default());
    let Touch { edits, reads, command, .. } = touch;
    ToolUse { tool, edits, reads, command, ..ToolUse::default() }
}

/// With Claude Code's event names, `Edit` is `edit` or `apply_patch`, and `Write` is `create`.
fn touch(tool: &str, args: ToolInput) -> Touch {
    match tool {
        "bash" | "shell" | "powershell" | "Bash" | "PowerShell" => Touch::run(args.command, None),
        "str_replace_editor" if matches!(&args.command.0, Some(Words::Line(line)) if line == "view") => {
            Touch::default()
        }
        "view" | "Read" => Touch::read(args.path),
        "edit" | "create" | "str_replace_editor" | "apply_patch" | "Edit" | "Write" => match args.path {
            Maybe(None) => Touch::patch(args.input.0.as_deref()),
            path => Touch::edit(path),
        },
        _ => Touch::default(),
    }
}
