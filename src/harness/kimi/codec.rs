//! Codec of Kimi Code. Its events have Claude Code's names, with other fields and other answers.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::hook::{HookEvent, HookMoment, SessionEnd, ToolOutcome, ToolUse};
use crate::harness::hook_codec::lenient_json::{Maybe, Object};
use crate::harness::hook_codec::tool_input::{ToolArguments, ToolInput, ToolTouches};
use crate::harness::hook_codec::tool_outcome::{self, TextExcerpt};
use crate::harness::hook_codec::{AcceptedAnswers, DecodeError, HookCodec, answers, lenient_json, session};

pub(super) struct KimiCodec;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct KimiPayload {
    session_id: Maybe<String>,
    cwd: Maybe<String>,
    model: Maybe<String>,
    prompt: Maybe<Vec<Object<PromptPart>>>,
    tool_name: Maybe<String>,
    tool_call_id: Maybe<String>,
    tool_input: ToolArguments,
    error: Object<ToolError>,
    #[serde(skip)]
    in_background: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptPart {
    text: Maybe<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolError {
    message: Maybe<TextExcerpt>,
}

impl HookCodec for KimiCodec {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, DecodeError> {
        let mut payload: KimiPayload = lenient_json::object(input)?;
        let moment = match event {
            "SessionStart" => HookMoment::SessionStarted,
            // After `/clear` the reason is the same as at the end of the program.
            "SessionEnd" => HookMoment::SessionEnded(SessionEnd::Final),
            "UserPromptSubmit" => HookMoment::PromptSubmitted { prompt: payload.prompt() },
            "PreToolUse" => HookMoment::BeforeTool(payload.tool_use()),
            "PostToolUse" => HookMoment::AfterTool(payload.used(false)),
            "PostToolUseFailure" => HookMoment::AfterTool(payload.used(true)),
            "Stop" => HookMoment::Stopping,
            "SubagentStart" => HookMoment::SubagentStarted,
            "SubagentStop" => HookMoment::SubagentEnded,
            _ => HookMoment::Other,
        };
        Ok(HookEvent {
            session: session(payload.session_id),
            cwd: payload.cwd.0,
            model: payload.model.0,
            moment,
            ..HookEvent::default()
        })
    }

    fn accepts(&self, event: &str) -> AcceptedAnswers {
        match event {
            "PreToolUse" => AcceptedAnswers::Deny,
            "UserPromptSubmit" => AcceptedAnswers::Context,
            "Stop" => AcceptedAnswers::GoOn,
            _ => AcceptedAnswers::Nothing,
        }
    }

    /// An interrupted prompt stays in the conversation, with what was said about it.
    fn keeps_text_after_interrupt(&self, _: &str) -> bool {
        true
    }

    fn informs_only_at_prompt(&self) -> bool {
        true
    }

    fn hides_end_of_continued_turn(&self) -> bool {
        true
    }

    fn context(&self, _: &str, text: &str) -> Value {
        json!({ "message": text })
    }

    fn go_on(&self, event: &str, text: &str) -> Value {
        answers::deny(event, text)
    }
}

impl KimiPayload {
    fn prompt(&mut self) -> String {
        let parts = self.prompt.0.take().unwrap_or_default();
        let texts: Vec<String> = parts.into_iter().filter_map(|part| part.0.text.0).collect();
        texts.join("\n")
    }

    fn tool_use(&mut self) -> ToolUse {
        let tool = self.tool_name.0.take().unwrap_or_default();
        let input = self.tool_input.0.take().unwrap_or_default();
        let arguments = input.mark(&tool);
        let touch = touch(&tool, input);
        self.cwd.0 = touch.cwd(self.cwd.0.take());
        self.in_background = touch.in_background;
        let ToolTouches { edits, reads, command, .. } = touch;
        let call = self.tool_call_id.0.take();
        ToolUse { tool, call, edits, reads, command, arguments, ..ToolUse::default() }
    }

    fn used(&mut self, is_failure: bool) -> ToolUse {
        let tool = self.tool_use();
        let outcome = match (is_failure, tool.command.is_some()) {
            (false, true) if self.in_background => None,
            (false, _) => Some(ToolOutcome::Succeeded),
            (true, false) => Some(ToolOutcome::Failed),
            (true, true) => self.exit_code(),
        };
        ToolUse { outcome, ..tool }
    }

    /// The exit code in the message of a command that failed. Any other message says that it did not run to its end.
    fn exit_code(&self) -> Option<ToolOutcome> {
        let last = self.error.0.message.0.as_ref()?.last_line();
        let code = last.strip_prefix("Command failed with exit code: ")?.strip_suffix('.')?;
        tool_outcome::of_exit_code(code)
    }
}

fn touch(tool: &str, mut input: ToolInput) -> ToolTouches {
    match tool {
        "Edit" | "Write" => ToolTouches::edit(input.path),
        "Read" => ToolTouches::read(input.path),
        "Bash" => {
            let directory = input.cwd.0.take().filter(|directory| !directory.is_empty());
            ToolTouches { directory, ..ToolTouches::start(input) }
        }
        _ => ToolTouches::default(),
    }
}
