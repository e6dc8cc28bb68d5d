//! Codec of Copilot CLI. The spelling of the event decides the format of the payload: `preToolUse` has keys of its own,
//! `PreToolUse` has Claude Code's keys with the same values.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::hook::{HookEvent, HookMoment, SessionEnd, ToolOutcome, ToolUse};
use crate::harness::hook_codec::claude_payload::ClaudePayload;
use crate::harness::hook_codec::lenient_json::{Maybe, Object};
use crate::harness::hook_codec::tool_input::{ToolArguments, ToolCommand, ToolInput, ToolTouches};
use crate::harness::hook_codec::tool_outcome::{self, TextExcerpt, ToolReport};
use crate::harness::hook_codec::{AcceptedAnswers, DecodeError, HookCodec, answers, lenient_json, session};

pub(super) struct CopilotCodec;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CamelPayload {
    session_id: Maybe<String>,
    cwd: Maybe<String>,
    prompt: Maybe<String>,
    tool_name: Maybe<String>,
    tool_args: ToolArguments,
    /// The name of `tool_args` when the user is asked for permission.
    tool_input: ToolArguments,
    tool_result: Object<ToolResult>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ToolResult {
    result_type: Maybe<String>,
    text_result_for_llm: Maybe<TextExcerpt>,
}

impl HookCodec for CopilotCodec {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, DecodeError> {
        if is_pascal(event) {
            return Ok(lenient_json::object::<ClaudePayload>(input)?.event(event, touch, outcome));
        }
        let payload: CamelPayload = lenient_json::object(input)?;
        let moment = match event {
            "sessionStart" => HookMoment::SessionStarted,
            "sessionEnd" => HookMoment::SessionEnded(SessionEnd::Final),
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
                let outcome = outcome(&ending, &tool);
                let output = ending.output_of(outcome, &tool);
                HookMoment::AfterTool(ToolUse { outcome, output, ..tool })
            }
            "permissionRequest" => HookMoment::AskingLeave(tool_use(payload.tool_name, payload.tool_input)),
            "agentStop" => HookMoment::Stopping,
            _ => HookMoment::Other,
        };
        let session = session(payload.session_id);
        Ok(HookEvent { session, cwd: payload.cwd.0, moment, ..HookEvent::default() })
    }

    fn accepts(&self, event: &str) -> AcceptedAnswers {
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

    /// With Claude Code's event names, a denial is as in Claude Code.
    fn deny(&self, event: &str, reason: &str) -> Value {
        if is_pascal(event) {
            return answers::deny(event, reason);
        }
        json!({ "permissionDecision": "deny", "permissionDecisionReason": reason })
    }

    fn allow(&self) -> Option<Value> {
        Some(json!({ "behavior": "allow" }))
    }

    /// Whatever the event is called.
    fn context(&self, _: &str, text: &str) -> Value {
        json!({ "additionalContext": text })
    }
}

fn is_pascal(event: &str) -> bool {
    event.starts_with(|first: char| first.is_ascii_uppercase())
}

fn tool_use(tool: Maybe<String>, args: ToolArguments) -> ToolUse {
    let tool = tool.0.unwrap_or_default();
    let input = args.0.unwrap_or_default();
    let arguments = input.mark(&tool);
    let touch = touch(&tool, input);
    let ToolTouches { edits, reads, command, .. } = touch;
    ToolUse { tool, edits, reads, command, arguments, ..ToolUse::default() }
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

/// Copilot CLI writes the exit code below the output: `<shellId: 0 completed with exit code 0>`.
fn outcome(ending: &ToolReport, tool: &ToolUse) -> Option<ToolOutcome> {
    if tool.command.is_none() {
        return match (ending.is_failure, ending.kind.as_deref()) {
            (true, _) => Some(ToolOutcome::Failed),
            (false, Some("success")) => Some(ToolOutcome::Succeeded),
            (false, _) => None,
        };
    }
    let line = ending.text.as_ref()?.last_line().strip_suffix('>')?;
    let (id, code) = line.strip_prefix("<shellId: ")?.split_once(" completed with exit code ")?;
    id.chars().all(char::is_alphanumeric).then(|| tool_outcome::of_exit_code(code)).flatten()
}
