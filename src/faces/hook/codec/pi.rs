//! Codec of pi. The payload is written by our extension: an event, with the directory and the session it belongs to.

use serde::Deserialize;

use super::ending::{self, Ending, Ends};
use super::lenient::{Maybe, Object};
use super::tool::{ToolInput, Touch};
use super::words::Tongue;
use super::{Can, Codec, lenient, session};
use crate::domain::hook::{HookEvent, Moment, ToolUse};

pub(super) struct Pi;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Payload {
    event: Object<Event>,
    ctx: Object<Context>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Event {
    reason: Maybe<String>,
    prompt: Maybe<String>,
    tool_name: Maybe<String>,
    tool_call_id: Maybe<String>,
    input: Maybe<ToolInput>,
    is_error: Maybe<bool>,
    content: Maybe<Vec<Object<Content>>>,
    /// Tokens since the last event, summed by our extension.
    tokens: Maybe<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Content {
    text: Maybe<Ends>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Context {
    session_id: Maybe<String>,
    cwd: Maybe<String>,
    model: Maybe<String>,
}

impl Codec for Pi {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, String> {
        let Payload { event: Object(said), ctx: Object(context) } = lenient::object(input)?;
        let tokens = said.tokens.0.unwrap_or(0);
        let moment = match event {
            "session_start" => Moment::SessionStarted,
            "session_shutdown" => Moment::SessionEnded { goes_on: said.goes_on() },
            "before_agent_start" => Moment::PromptSubmitted { prompt: said.prompt.0.unwrap_or_default() },
            "tool_call" => Moment::BeforeTool(said.tool_use()),
            "tool_result" => Moment::AfterTool(said.used()),
            "agent_before_settle" => Moment::Stopping,
            _ => Moment::Other,
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

    fn can(&self, event: &str) -> Can {
        match event {
            "tool_call" => Can::Deny,
            "tool_result" | "before_agent_start" | "session_start" => Can::Context,
            "agent_before_settle" => Can::GoOn,
            _ => Can::Nothing,
        }
    }

    fn keeps(&self, _: &str) -> bool {
        true
    }

    fn tongue(&self, _: &str) -> Tongue {
        Tongue::Shim
    }
}

impl Event {
    fn goes_on(&self) -> bool {
        matches!(self.reason.0.as_deref(), Some("new" | "resume" | "fork" | "reload"))
    }

    fn tool_use(self) -> ToolUse {
        let tool = self.tool_name.0.unwrap_or_default();
        let touch = touch(&tool, self.input.0.unwrap_or_default());
        let call = self.tool_call_id.0;
        let Touch { edits, reads, command, .. } = touch;
        ToolUse { tool, call, edits, reads, command, ..ToolUse::default() }
    }

    fn used(mut self) -> ToolUse {
        let mut said = self.content.0.take().unwrap_or_default().into_iter().filter_map(|part| part.0.text.0);
        let ending = Ending { text: said.next_back(), ..Ending::default() };
        let is_error = self.is_error.0;
        let tool = self.tool_use();
        ToolUse { outcome: ending::of_pi(&ending, &tool, is_error), ..tool }
    }
}

fn touch(tool: &str, input: ToolInput) -> Touch {
    match tool {
        "edit" | "write" => {
            Touch { edits: input.path.0.map(readings).unwrap_or_default(), ..Touch::default() }
        }
        "read" => Touch::read(input.path),
        "bash" => Touch::run(input.command, None),
        _ => Touch::default(),
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
