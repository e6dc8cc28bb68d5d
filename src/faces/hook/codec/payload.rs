//! The payload of Claude Code, which Codex, Gemini CLI and Copilot CLI took over with other tools.

use serde::Deserialize;

use super::lenient::{Maybe, Object};
use super::session;
use super::tool::{ToolInput, Touch};
use crate::domain::hook::{HookEvent, Moment, ToolUse};

/// The mode in which nobody is asked for leave.
const UNASKED: &str = "bypassPermissions";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Payload {
    session_id: Maybe<String>,
    /// The subagent that this happens in.
    agent_id: Maybe<String>,
    permission_mode: Maybe<String>,
    cwd: Maybe<String>,
    model: Maybe<String>,
    prompt: Maybe<String>,
    reason: Maybe<String>,
    tool_name: Maybe<String>,
    tool_use_id: Maybe<String>,
    tool_input: Maybe<ToolInput>,
    tool_response: Object<ToolResponse>,
    duration_ms: Maybe<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ToolResponse {
    bash_edit_diff: Object<BashEditDiff>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BashEditDiff {
    changed_files: Maybe<Vec<String>>,
}

impl Payload {
    /// The event, where the events have Claude Code's names. `read` tells what a tool will touch.
    pub fn event(mut self, event: &str, read: fn(&str, ToolInput) -> Touch) -> HookEvent {
        let moment = match event {
            "SessionStart" => Moment::SessionStarted,
            "SessionEnd" => self.session_ended(),
            "UserPromptSubmit" => Moment::PromptSubmitted { prompt: self.prompt() },
            "PreToolUse" => Moment::BeforeTool(self.tool_use(read)),
            "PostToolUse" | "PostToolUseFailure" => Moment::AfterTool(self.tool_use(read)),
            "Stop" => Moment::Stopping,
            _ => Moment::Other,
        };
        self.at(moment)
    }

    pub fn at(self, moment: Moment) -> HookEvent {
        HookEvent {
            session: session(self.session_id),
            parent: None,
            in_subagent: self.agent_id.0.is_some(),
            is_unasked: self.permission_mode.0.as_deref() == Some(UNASKED),
            cwd: self.cwd.0,
            model: self.model.0,
            moment,
        }
    }

    pub fn session_ended(&self) -> Moment {
        Moment::SessionEnded { goes_on: matches!(self.reason.0.as_deref(), Some("clear" | "resume")) }
    }

    pub fn prompt(&mut self) -> String {
        self.prompt.0.take().unwrap_or_default()
    }

    pub fn tool_use(&mut self, read: fn(&str, ToolInput) -> Touch) -> ToolUse {
        let tool = self.tool_name.0.take().unwrap_or_default();
        let touch = read(&tool, self.tool_input.0.take().unwrap_or_default());
        self.cwd.0 = touch.cwd(self.cwd.0.take());
        let changed = self.tool_response.0.bash_edit_diff.0.changed_files.0.take();
        ToolUse {
            tool,
            call: self.tool_use_id.0.take(),
            edits: touch.edits,
            command: touch.command,
            changed: changed.map(|files| files.into_iter().filter(|file| !file.is_empty()).collect()),
            duration_ms: self.duration_ms.0,
        }
    }
}
