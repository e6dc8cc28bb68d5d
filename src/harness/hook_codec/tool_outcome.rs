//! What a harness reports about a tool afterwards, from which its codec determines whether the tool succeeded.

use super::lenient_json::Keep;
use crate::domain::hook::{ToolOutcome, ToolUse};

/// The event by which a harness reports that a tool was used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ReportEvent {
    AfterUse,
    /// The harness's own event for failed tools.
    AfterFailure,
}

/// What a harness reports after a tool was used.
#[derive(Debug, Default)]
pub struct ToolReport {
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
pub struct TextExcerpt {
    pub start: String,
    pub end: String,
}

/// Bytes kept at either end.
const KEPT: usize = 2000;

impl Keep for TextExcerpt {
    fn text(text: &str) -> Option<Self> {
        let (start, end) =
            (text.floor_char_boundary(KEPT), text.ceil_char_boundary(text.len().saturating_sub(KEPT)));
        Some(Self { start: text[..start].to_string(), end: text[end..].to_string() })
    }
}

impl ToolReport {
    /// What a command that failed said.
    pub fn output_of(&self, outcome: Option<ToolOutcome>, tool: &ToolUse) -> Option<String> {
        let has_failed = outcome == Some(ToolOutcome::Failed) && tool.command.is_some();
        let said = self.error.as_ref().or(self.text.as_ref()).filter(|_| has_failed)?;
        Some(match said.start == said.end {
            true => said.start.clone(),
            false => format!("{}\n{}", said.start, said.end),
        })
    }
}

impl TextExcerpt {
    pub fn last_line(&self) -> &str {
        self.end.trim_end().rsplit('\n').next().unwrap_or_default()
    }
}

/// The outcome of a command that ended with this exit code.
pub fn of_exit_code(code: &str) -> Option<ToolOutcome> {
    let code: u32 = code.trim().parse().ok()?;
    Some(if code == 0 { ToolOutcome::Succeeded } else { ToolOutcome::Failed })
}
