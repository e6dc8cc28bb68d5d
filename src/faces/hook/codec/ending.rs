//! How the use of a tool ended, by what each harness says afterwards. Where it doesn't say, nothing is said.

use super::lenient::Keep;
use crate::domain::hook::{Outcome, ToolUse};

/// What a harness says once a tool was used.
#[derive(Debug, Default)]
pub(super) struct Ending {
    /// It has an event of its own for tools that failed, and this is it.
    pub is_failure: bool,
    /// The user stopped it, or it goes on in the background.
    pub is_open: bool,
    /// Why it failed.
    pub error: Option<Ends>,
    /// What the tool says.
    pub text: Option<Ends>,
    /// In one word.
    pub kind: Option<String>,
}

/// Both ends of a text that may be long.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub start: String,
    pub end: String,
}

/// So many bytes of either end are kept.
const KEPT: usize = 400;

impl Keep for Ends {
    fn text(text: &str) -> Option<Self> {
        let (start, end) =
            (text.floor_char_boundary(KEPT), text.ceil_char_boundary(text.len().saturating_sub(KEPT)));
        Some(Self { start: text[..start].to_string(), end: text[end..].to_string() })
    }
}

impl Ends {
    fn last_line(&self) -> &str {
        self.end.trim_end().rsplit('\n').next().unwrap_or_default()
    }
}

/// Claude Code has an event for failures, and says of a command how it ended.
pub(super) fn of_claude(ending: &Ending, tool: &ToolUse) -> Option<Outcome> {
    if ending.is_open {
        return None;
    }
    let exits = ending.error.as_ref().is_some_and(|error| error.start.starts_with("Exit code "));
    match (ending.is_failure, tool.command.is_some()) {
        (false, _) => Some(Outcome::Succeeded),
        // Anything else may be that it took too long.
        (true, true) => exits.then_some(Outcome::Failed),
        (true, false) => Some(Outcome::Failed),
    }
}

/// Codex tells the output of a command and not how it ended; of tools that fail it tells nothing at all.
pub(super) fn of_codex(_: &Ending, tool: &ToolUse) -> Option<Outcome> {
    tool.command.is_none().then_some(Outcome::Succeeded)
}

/// Copilot CLI writes it beneath the output: `<shellId: 0 completed with exit code 0>`.
pub(super) fn of_copilot(ending: &Ending, tool: &ToolUse) -> Option<Outcome> {
    if tool.command.is_none() {
        return match (ending.is_failure, ending.kind.as_deref()) {
            (true, _) => Some(Outcome::Failed),
            (false, Some("success")) => Some(Outcome::Succeeded),
            (false, _) => None,
        };
    }
    let line = ending.text.as_ref()?.last_line().strip_suffix('>')?;
    let (id, code) = line.strip_prefix("<shellId: ")?.split_once(" completed with exit code ")?;
    id.chars().all(char::is_alphanumeric).then(|| of_code(code)).flatten()
}

/// Gemini CLI writes a list beneath the output, in which the exit code stands unless it is 0.
pub(super) fn of_gemini(ending: &Ending, tool: &ToolUse) -> Option<Outcome> {
    if tool.command.is_none() {
        return Some(if ending.error.is_some() { Outcome::Failed } else { Outcome::Succeeded });
    }
    let text = ending.text.as_ref()?.end.trim_end();
    let mut lines = text.strip_suffix("</untrusted_context>").unwrap_or(text).trim_end().lines().rev();
    // Without it, it was not run to its end.
    lines.next().filter(|line| line.starts_with("Process Group PGID: "))?;
    let mut line = lines.next()?;
    if line.starts_with("Background PIDs: ") {
        line = lines.next()?;
    }
    if line.starts_with("Signal: ") || line.starts_with("Error: ") {
        return None;
    }
    line.strip_prefix("Exit Code: ").map_or(Some(Outcome::Succeeded), of_code)
}

/// pi throws where a command fails, and says why in the last line.
pub(super) fn of_pi(ending: &Ending, tool: &ToolUse, is_error: Option<bool>) -> Option<Outcome> {
    match (is_error?, tool.command.is_some()) {
        (false, _) => Some(Outcome::Succeeded),
        (true, false) => Some(Outcome::Failed),
        (true, true) => of_code(ending.text.as_ref()?.last_line().strip_prefix("Command exited with code ")?),
    }
}

/// OpenCode tells the exit code; a tool that fails otherwise has no such event.
pub(super) fn of_opencode(exit: Option<u64>, tool: &ToolUse) -> Option<Outcome> {
    match (tool.command.is_some(), exit) {
        (false, _) | (true, Some(0)) => Some(Outcome::Succeeded),
        (true, Some(_)) => Some(Outcome::Failed),
        (true, None) => None,
    }
}

fn of_code(code: &str) -> Option<Outcome> {
    let code: u32 = code.trim().parse().ok()?;
    Some(if code == 0 { Outcome::Succeeded } else { Outcome::Failed })
}
