//! Determines whether a tool succeeded, from what each harness reports afterwards; `None` if the harness does not say.

use super::lenient_json::Keep;
use crate::domain::hook::{ToolOutcome, ToolUse};

/// What a harness reports after a tool was used.
#[derive(Debug, Default)]
pub(super) struct ToolReport {
    /// The event is the harness's own one for failed tools.
    pub is_failure: bool,
    /// The user interrupted it, or it continues in the background.
    pub is_open: bool,
    /// The error message.
    pub error: Option<TextExcerpt>,
    /// The tool's output.
    pub text: Option<TextExcerpt>,
    /// The result type, one word.
    pub kind: Option<String>,
}

/// The beginning and the end of a text that may be long.
#[derive(Debug, Default)]
pub(super) struct TextExcerpt {
    pub start: String,
    pub end: String,
}

/// Bytes kept at either end.
const KEPT: usize = 400;

impl Keep for TextExcerpt {
    fn text(text: &str) -> Option<Self> {
        let (start, end) =
            (text.floor_char_boundary(KEPT), text.ceil_char_boundary(text.len().saturating_sub(KEPT)));
        Some(Self { start: text[..start].to_string(), end: text[end..].to_string() })
    }
}

impl TextExcerpt {
    fn last_line(&self) -> &str {
        self.end.trim_end().rsplit('\n').next().unwrap_or_default()
    }
}

/// Claude Code has an event for failures, and gives the exit code of a command.
pub(super) fn of_claude(ending: &ToolReport, tool: &ToolUse) -> Option<ToolOutcome> {
    if ending.is_open {
        return None;
    }
    let exits = ending.error.as_ref().is_some_and(|error| error.start.starts_with("Exit code "));
    match (ending.is_failure, tool.command.is_some()) {
        (false, _) => Some(ToolOutcome::Succeeded),
        // Any other error may be a timeout.
        (true, true) => exits.then_some(ToolOutcome::Failed),
        (true, false) => Some(ToolOutcome::Failed),
    }
}

/// Codex reports the output of a command but not its exit code, and nothing at all for tools that fail.
pub(super) fn of_codex(_: &ToolReport, tool: &ToolUse) -> Option<ToolOutcome> {
    tool.command.is_none().then_some(ToolOutcome::Succeeded)
}

/// Copilot CLI writes the exit code below the output: `<shellId: 0 completed with exit code 0>`.
pub(super) fn of_copilot(ending: &ToolReport, tool: &ToolUse) -> Option<ToolOutcome> {
    if tool.command.is_none() {
        return match (ending.is_failure, ending.kind.as_deref()) {
            (true, _) => Some(ToolOutcome::Failed),
            (false, Some("success")) => Some(ToolOutcome::Succeeded),
            (false, _) => None,
        };
    }
    let line = ending.text.as_ref()?.last_line().strip_suffix('>')?;
    let (id, code) = line.strip_prefix("<shellId: ")?.split_once(" completed with exit code ")?;
    id.chars().all(char::is_alphanumeric).then(|| of_code(code)).flatten()
}

/// Gemini CLI writes a list below the output, which contains the exit code unless it is 0.
pub(super) fn of_gemini(ending: &ToolReport, tool: &ToolUse) -> Option<ToolOutcome> {
    if tool.command.is_none() {
        return Some(if ending.error.is_some() { ToolOutcome::Failed } else { ToolOutcome::Succeeded });
    }
    let text = ending.text.as_ref()?.end.trim_end();
    let mut lines = text.strip_suffix("</untrusted_context>").unwrap_or(text).trim_end().lines().rev();
    // Without this line, the command did not run to its end.
    lines.next().filter(|line| line.starts_with("Process Group PGID: "))?;
    let mut line = lines.next()?;
    if line.starts_with("Background PIDs: ") {
        line = lines.next()?;
    }
    if line.starts_with("Signal: ") || line.starts_with("Error: ") {
        return None;
    }
    line.strip_prefix("Exit Code: ").map_or(Some(ToolOutcome::Succeeded), of_code)
}

/// pi throws if a command fails, and gives the reason in the last line.
pub(super) fn of_pi(ending: &ToolReport, tool: &ToolUse, is_error: Option<bool>) -> Option<ToolOutcome> {
    match (is_error?, tool.command.is_some()) {
        (false, _) => Some(ToolOutcome::Succeeded),
        (true, false) => Some(ToolOutcome::Failed),
        (true, true) => of_code(ending.text.as_ref()?.last_line().strip_prefix("Command exited with code ")?),
    }
}

/// OpenCode reports the exit code; it has no event for a tool that fails otherwise.
pub(super) fn of_opencode(exit: Option<u64>, tool: &ToolUse) -> Option<ToolOutcome> {
    match (tool.command.is_some(), exit) {
        (false, _) | (true, Some(0)) => Some(ToolOutcome::Succeeded),
        (true, Some(_)) => Some(ToolOutcome::Failed),
        (true, None) => None,
    }
}

fn of_code(code: &str) -> Option<ToolOutcome> {
    let code: u32 = code.trim().parse().ok()?;
    Some(if code == 0 { ToolOutcome::Succeeded } else { ToolOutcome::Failed })
}
