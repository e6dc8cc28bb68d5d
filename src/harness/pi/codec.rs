//! Codec of pi. The payload is written by our extension: an event, with the directory and the session it belongs to.

use serde::Deserialize;
use serde_json::Value;

use crate::domain::hook::{HookEvent, HookMoment, SessionEnd, ToolOutcome, ToolUse};
use crate::harness::hook_codec::lenient_json::{Maybe, Object};
use crate::harness::hook_codec::tool_input::{ToolArguments, ToolInput, ToolTouches};
use crate::harness::hook_codec::tool_outcome::{self, TextExcerpt, ToolReport};
use crate::harness::hook_codec::{
    AcceptedAnswers, DecodeError, HookCodec, lenient_json, plugin_answers, session,
};

pub(super) struct PiCodec;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PiPayload {
    event: Object<PiEvent>,
    ctx: Object<PiContext>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PiEvent {
    reason: Maybe<String>,
    prompt: Maybe<String>,
    tool_name: Maybe<String>,
    tool_call_id: Maybe<String>,
    input: ToolArguments,
    is_error: Maybe<bool>,
    content: Maybe<Vec<Object<Content>>>,
    /// Tokens since the last event, summed by our extension.
    tokens: Maybe<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Content {
    text: Maybe<TextExcerpt>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PiContext {
    session_id: Maybe<String>,
    cwd: Maybe<String>,
    model: Maybe<String>,
}

impl HookCodec for PiCodec {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, DecodeError> {
        let PiPayload { event: Object(said), ctx: Object(context) } = lenient_json::object(input)?;
        let tokens = said.tokens.0.unwrap_or(0);
        let moment = match event {
            "session_start" => HookMoment::SessionStarted,
            "session_shutdown" => HookMoment::SessionEnded(said.end()),
            "before_agent_start" => HookMoment::PromptSubmitted { prompt: said.prompt.0.unwrap_or_default() },
            "tool_call" => HookMoment::BeforeTool(said.tool_use()),
            "tool_result" => HookMoment::AfterTool(said.used()),
            "agent_before_settle" => HookMoment::Stopping,
            _ => HookMoment::Other,
        };
        Ok(HookEvent {
            session: session(context.session_id),
            cwd: context.cwd.0,
            model: context.model.0,
            tokens,
            moment,
            ..HookEvent::default()
        })
    }

    fn accepts(&self, event: &str) -> AcceptedAnswers {
        match event {
            "tool_call" => AcceptedAnswers::Deny,
            "tool_result" | "before_agent_start" | "session_start" => AcceptedAnswers::Context,
            "agent_before_settle" => AcceptedAnswers::GoOn,
            _ => AcceptedAnswers::Nothing,
        }
    }

    fn keeps_text_after_interrupt(&self, _: &str) -> bool {
        true
    }

    fn deny(&self, _: &str, reason: &str) -> Value {
        plugin_answers::deny(reason)
    }

    fn context(&self, _: &str, text: &str) -> Value {
        plugin_answers::context(text)
    }

    fn go_on(&self, _: &str, text: &str) -> Value {
        plugin_answers::go_on(text)
    }
}

impl PiEvent {
    fn end(&self) -> SessionEnd {
        match self.reason.0.as_deref() {
            Some("new" | "resume" | "fork" | "reload") => SessionEnd::ProcessContinues,
            _ => SessionEnd::Final,
        }
    }

    fn tool_use(self) -> ToolUse {
        let tool = self.tool_name.0.unwrap_or_default();
        let input = self.input.0.unwrap_or_default();
        let arguments = input.mark(&tool);
        let touch = touch(&tool, input);
        let call = self.tool_call_id.0;
        let ToolTouches { edits, reads, command, .. } = touch;
        ToolUse { tool, call, edits, reads, command, arguments, ..ToolUse::default() }
    }

    fn used(mut self) -> ToolUse {
        let mut said = self.content.0.take().unwrap_or_default().into_iter().filter_map(|part| part.0.text.0);
        let ending = ToolReport { text: said.next_back(), ..ToolReport::default() };
        let is_error = self.is_error.0;
        let tool = self.tool_use();
        let outcome = outcome(&ending, &tool, is_error);
        let output = ending.output_of(outcome, &tool);
        ToolUse { outcome, output, ..tool }
    }
}

fn touch(tool: &str, input: ToolInput) -> ToolTouches {
    match tool {
        "edit" | "write" => {
            ToolTouches { edits: input.path.0.map(readings).unwrap_or_default(), ..ToolTouches::default() }
        }
        "read" => ToolTouches::read(input.path),
        "bash" => ToolTouches::run(input.command, None),
        _ => ToolTouches::default(),
    }
}

/// The paths that pi may mean: Unicode spaces become plain ones, and a leading `@` marks a mention; in older versions
/// of pi it is part of the name.
fn readings(path: String) -> Vec<String> {
    let is_space =
        |c: char| matches!(c, '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}');
    let plain = path.replace(is_space, " ");
    let mentioned = plain.strip_prefix('@').map(str::to_string);
    mentioned.into_iter().chain([plain]).collect()
}

/// pi throws if a command fails, and gives the reason in the last line.
fn outcome(ending: &ToolReport, tool: &ToolUse, is_error: Option<bool>) -> Option<ToolOutcome> {
    match (is_error?, tool.command.is_some()) {
        (false, _) => Some(ToolOutcome::Succeeded),
        (true, false) => Some(ToolOutcome::Failed),
        (true, true) => tool_outcome::of_exit_code(
            ending.text.as_ref()?.last_line().strip_prefix("Command exited with code ")?,
        ),
    }
}
