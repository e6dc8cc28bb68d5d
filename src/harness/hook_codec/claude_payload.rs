//! The payload of Claude Code, which Codex, Gemini CLI and Copilot CLI adopted with other tools.

use serde::Deserialize;

use super::lenient_json::{Maybe, Object};
use super::session;
use super::tool_input::{ToolArguments, ToolInput, ToolTouches};
use super::tool_outcome::{ReportEvent, TextExcerpt, ToolReport};
use crate::domain::hook::{HookEvent, HookMoment, PermissionMode, SessionEnd, ToolOutcome, ToolUse};

/// The mode in which the user is not asked for permission.
const BYPASS_PERMISSIONS: &str = "bypassPermissions";
/// The mode in which it only reads.
const PLAN: &str = "plan";

/// Gemini CLI's response text if its model said nothing.
const NOTHING: [&str; 2] = ["", "[no response text]"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ClaudePayload {
    session_id: Maybe<String>,
    /// The subagent that the event belongs to.
    agent_id: Maybe<String>,
    permission_mode: Maybe<String>,
    /// The turn's id, of Claude Code and of Codex.
    prompt_id: Maybe<String>,
    turn_id: Maybe<String>,
    cwd: Maybe<String>,
    model: Maybe<String>,
    prompt: Maybe<String>,
    /// The response of Gemini CLI's model in the turn that ends.
    prompt_response: Maybe<String>,
    /// What the model said last, of Claude Code and of Codex.
    last_assistant_message: Maybe<String>,
    reason: Maybe<String>,
    tool_name: Maybe<String>,
    tool_use_id: Maybe<String>,
    tool_input: ToolArguments,
    tool_response: Object<ToolResponse>,
    duration_ms: Maybe<u64>,
    /// Why a tool failed.
    error: Maybe<TextExcerpt>,
    is_interrupt: Maybe<bool>,
    /// Copilot CLI's name for `tool_response`.
    tool_result: Object<ToolResult>,
    #[serde(skip)]
    in_background: bool,
}

/// Determines a tool's outcome from what the harness reports.
type Judge = fn(&ToolReport, &ToolUse) -> Option<ToolOutcome>;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ToolResponse {
    bash_edit_diff: Object<BashEditDiff>,
    interrupted: Maybe<bool>,
    background_task_id: Maybe<String>,
    // Of Gemini CLI.
    llm_content: Maybe<TextExcerpt>,
    error: Object<ToolError>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolError {
    message: Maybe<TextExcerpt>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolResult {
    result_type: Maybe<String>,
    text_result_for_llm: Maybe<TextExcerpt>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BashEditDiff {
    changed_files: Maybe<Vec<String>>,
}

impl ClaudePayload {
    /// Makes the event, for harnesses with Claude Code's event names. `read` says what a tool touches.
    pub fn event(mut self, event: &str, read: fn(&str, ToolInput) -> ToolTouches, ends: Judge) -> HookEvent {
        let moment = match event {
            "SessionStart" => HookMoment::SessionStarted,
            "SessionEnd" => self.session_ended(),
            "UserPromptSubmit" => HookMoment::PromptSubmitted { prompt: self.prompt() },
            "PreToolUse" => HookMoment::BeforeTool(self.tool_use(read)),
            "PostToolUse" => HookMoment::AfterTool(self.used(read, ends, ReportEvent::AfterUse)),
            "PostToolUseFailure" => HookMoment::AfterTool(self.used(read, ends, ReportEvent::AfterFailure)),
            "Stop" => HookMoment::Stopping,
            "StopFailure" => HookMoment::TurnFailed,
            _ => HookMoment::Other,
        };
        self.at(moment)
    }

    pub fn at(self, moment: HookMoment) -> HookEvent {
        HookEvent {
            session: session(self.session_id),
            parent: None,
            in_subagent: self.agent_id.0.is_some(),
            subagent: self.agent_id.0,
            turn: self.prompt_id.0.or(self.turn_id.0),
            is_silent: self.prompt_response.0.as_deref().is_some_and(|said| NOTHING.contains(&said.trim())),
            last_words: self.last_assistant_message.0.or(self.prompt_response.0),
            permissions: match self.permission_mode.0.as_deref() {
                Some(BYPASS_PERMISSIONS) => PermissionMode::Bypasses,
                Some(PLAN) => PermissionMode::Plans,
                _ => PermissionMode::Asks,
            },
            cwd: self.cwd.0,
            model: self.model.0,
            tokens: 0,
            moment,
        }
    }

    /// The permission mode, as the harness calls it.
    pub fn mode(&self) -> Option<&str> {
        self.permission_mode.0.as_deref()
    }

    pub fn session_ended(&self) -> HookMoment {
        HookMoment::SessionEnded(match self.reason.0.as_deref() {
            Some("clear" | "resume") => SessionEnd::ProcessContinues,
            _ => SessionEnd::Final,
        })
    }

    pub fn prompt(&mut self) -> String {
        self.prompt.0.take().unwrap_or_default()
    }

    pub fn tool_use(&mut self, read: fn(&str, ToolInput) -> ToolTouches) -> ToolUse {
        let tool = self.tool_name.0.take().unwrap_or_default();
        let input = self.tool_input.0.take().unwrap_or_default();
        let arguments = input.mark(&tool);
        let touch = read(&tool, input);
        self.cwd.0 = touch.cwd(self.cwd.0.take());
        self.in_background = touch.in_background;
        let changed = self.tool_response.0.bash_edit_diff.0.changed_files.0.take();
        ToolUse {
            tool,
            call: self.tool_use_id.0.take(),
            edits: touch.edits,
            reads: touch.reads,
            command: touch.command,
            arguments,
            changed: changed.map(|files| files.into_iter().filter(|file| !file.is_empty()).collect()),
            duration_ms: self.duration_ms.0,
            is_users_decision: touch.is_users_decision,
            ..ToolUse::default()
        }
    }

    /// A tool use after the tool, with its outcome.
    pub fn used(
        &mut self,
        read: fn(&str, ToolInput) -> ToolTouches,
        ends: Judge,
        event: ReportEvent,
    ) -> ToolUse {
        let tool = self.tool_use(read);
        let ToolResponse { interrupted, background_task_id, llm_content, error, .. } =
            std::mem::take(&mut self.tool_response.0);
        let ToolResult { result_type, text_result_for_llm } = std::mem::take(&mut self.tool_result.0);
        let is_interrupted = interrupted.0 == Some(true) || self.is_interrupt.0 == Some(true);
        let ending = ToolReport {
            is_failure: event == ReportEvent::AfterFailure,
            is_open: is_interrupted || background_task_id.0.is_some() || self.in_background,
            error: self.error.0.take().or(error.0.message.0),
            text: llm_content.0.or(text_result_for_llm.0),
            kind: result_type.0,
        };
        let outcome = ends(&ending, &tool);
        let output = ending.output_of(outcome, &tool);
        ToolUse { outcome, output, was_interrupted: is_interrupted, ..tool }
    }
}

/// The files and commands that a tool with Claude Code's name and input touches. An unknown tool counts as an edit if
/// it has the fields of one.
pub fn tool_touches(tool: &str, input: ToolInput) -> ToolTouches {
    match tool {
        "Edit" | "Write" | "MultiEdit" => ToolTouches::edit(input.file_path),
        "NotebookEdit" => ToolTouches::edit(input.notebook_path),
        "Bash" | "Monitor" => ToolTouches::start(input),
        "Read" => ToolTouches::read(input.file_path),
        "Glob" | "Grep" => ToolTouches::default(),
        "ExitPlanMode" | "AskUserQuestion" => {
            ToolTouches { is_users_decision: true, ..ToolTouches::default() }
        }
        // Tools of MCP servers call the field `path`. A relative one may be on another machine.
        _ if input.writes() => {
            let path = input.path.0.filter(|path| path.starts_with('/'));
            ToolTouches::edit(Maybe(input.file_path.0.or(path)))
        }
        _ => ToolTouches::default(),
    }
}
