//! Codec of OpenCode. The payload is written by our plugin: a hook's `input` and `output`, or an event unchanged.

use serde::Deserialize;
use serde_json::Value;

use crate::domain::hook::{HookEvent, HookMoment, PermissionMode, SessionEnd, ToolOutcome, ToolUse};
use crate::harness::hook_codec::lenient_json::{Maybe, Object};
use crate::harness::hook_codec::tool_input::{ToolArguments, ToolInput, ToolTouches};
use crate::harness::hook_codec::{
    AcceptedAnswers, DecodeError, HookCodec, lenient_json, plugin_answers, session,
};

pub(super) struct OpenCodeCodec;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpencodePayload {
    // Added by the plugin.
    cwd: Maybe<String>,
    model: Maybe<String>,
    #[serde(rename = "parentSessionID")]
    parent_session_id: Maybe<String>,
    // Of a hook.
    input: Object<Input>,
    output: Object<Output>,
    // Of an event.
    r#type: Maybe<String>,
    properties: Object<Properties>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Input {
    #[serde(rename = "sessionID")]
    session_id: Maybe<String>,
    #[serde(rename = "callID")]
    call_id: Maybe<String>,
    tool: Maybe<String>,
    /// Set after the tool.
    args: ToolArguments,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Output {
    /// Set before the tool.
    args: ToolArguments,
    /// Set after the tool.
    metadata: Object<Metadata>,
    message: Object<OpencodeMessage>,
    parts: Maybe<Vec<Object<Part>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    /// Exit code of a shell command.
    exit: Maybe<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpencodeMessage {
    model: Object<Model>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Model {
    #[serde(rename = "modelID")]
    model_id: Maybe<String>,
}

/// A part of the user's message; synthetic if a plugin or OpenCode itself wrote it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Part {
    r#type: Maybe<String>,
    text: Maybe<String>,
    synthetic: Maybe<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Properties {
    #[serde(rename = "sessionID")]
    session_id: Maybe<String>,
    info: Object<Info>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Info {
    id: Maybe<String>,
    #[serde(rename = "parentID")]
    parent_id: Maybe<String>,
    directory: Maybe<String>,
}

impl HookCodec for OpenCodeCodec {
    fn decode(&self, event: &str, input: &[u8]) -> Result<HookEvent, DecodeError> {
        let mut payload: OpencodePayload = lenient_json::object(input)?;
        let kind = payload.r#type.0.take();
        let event = if event == "event" { kind.as_deref().unwrap_or_default() } else { event };
        let moment = match event {
            "tool.execute.before" => {
                let args = payload.output.0.args.0.take();
                HookMoment::BeforeTool(payload.tool_use(args))
            }
            "tool.execute.after" => {
                let args = payload.input.0.args.0.take();
                let tool = payload.tool_use(args);
                let exit = payload.output.0.metadata.0.exit.0;
                HookMoment::AfterTool(ToolUse { outcome: outcome(exit, &tool), ..tool })
            }
            "chat.message" => HookMoment::PromptSubmitted { prompt: payload.prompt() },
            "session.created" => HookMoment::SessionStarted,
            "session.idle" => HookMoment::Stopping,
            "session.deleted" => HookMoment::SessionEnded(SessionEnd::Final),
            _ => HookMoment::Other,
        };
        Ok(payload.at(moment))
    }

    fn accepts(&self, event: &str) -> AcceptedAnswers {
        match event {
            "tool.execute.before" => AcceptedAnswers::Deny,
            // The plugin keeps context for a new session until the next message.
            "tool.execute.after" | "chat.message" | "session.created" => AcceptedAnswers::Context,
            "session.idle" => AcceptedAnswers::GoOn,
            // The payload says which event it is.
            "event" => AcceptedAnswers::ContextOrGoOn,
            _ => AcceptedAnswers::Nothing,
        }
    }

    fn keeps_text_after_interrupt(&self, _: &str) -> bool {
        true
    }

    /// Only a prompt makes OpenCode continue.
    fn continues_as_user_prompt(&self) -> bool {
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

impl OpencodePayload {
    fn at(self, moment: HookMoment) -> HookEvent {
        let Properties { session_id, info: Object(info) } = self.properties.0;
        let parent = session(self.parent_session_id).or_else(|| session(info.parent_id));
        let own =
            session(self.input.0.session_id).or_else(|| session(session_id)).or_else(|| session(info.id));
        HookEvent {
            in_subagent: parent.is_some(),
            subagent: own.as_ref().filter(|_| parent.is_some()).map(ToString::to_string),
            session: own,
            turn: None,
            is_silent: false,
            last_words: None,
            permissions: PermissionMode::Asks,
            parent,
            cwd: self.cwd.0.or(info.directory.0),
            model: self.model.0.or(self.output.0.message.0.model.0.model_id.0),
            tokens: 0,
            moment,
        }
    }

    fn tool_use(&mut self, args: Option<ToolInput>) -> ToolUse {
        let tool = self.input.0.tool.0.take().unwrap_or_default();
        let input = args.unwrap_or_default();
        let arguments = input.mark(&tool);
        let touch = touch(&tool, input);
        self.cwd.0 = touch.cwd(self.cwd.0.take());
        let call = self.input.0.call_id.0.take();
        let ToolTouches { edits, reads, command, .. } = touch;
        ToolUse { tool, call, edits, reads, command, arguments, ..ToolUse::default() }
    }

    fn prompt(&mut self) -> String {
        let parts = self.output.0.parts.0.take().unwrap_or_default().into_iter().map(|part| part.0);
        let said =
            parts.filter(|part| part.r#type.0.as_deref() == Some("text") && part.synthetic.0 != Some(true));
        said.filter_map(|part| part.text.0).collect::<Vec<_>>().join("\n")
    }
}

fn touch(tool: &str, args: ToolInput) -> ToolTouches {
    match tool {
        "edit" | "write" | "multiedit" => ToolTouches::edit(args.file_path_camel),
        "apply_patch" | "patch" => ToolTouches::patch(args.patch_text.0.as_deref()),
        "read" => ToolTouches::read(args.file_path_camel),
        "bash" => ToolTouches::run(args.command, args.workdir.0),
        _ => ToolTouches::default(),
    }
}

/// OpenCode reports the exit code; it has no event for a tool that fails otherwise.
fn outcome(exit: Option<u64>, tool: &ToolUse) -> Option<ToolOutcome> {
    match (tool.command.is_some(), exit) {
        (false, _) | (true, Some(0)) => Some(ToolOutcome::Succeeded),
        (true, Some(_)) => Some(ToolOutcome::Failed),
        (true, None) => None,
    }
}
