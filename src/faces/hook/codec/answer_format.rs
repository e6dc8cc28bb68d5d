//! Encodes hook answers (deny, allow, context, continue) in the JSON formats of the harnesses.

use serde_json::{Value, json};

/// The answer formats; several harnesses share one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum AnswerFormat {
    /// Claude Code. It calls a block at `Stop` an error and shows it to the model twice; so continuing is done by
    /// context, which it supports since 2.1.163.
    Claude,
    /// Codex: like Claude Code except at `Stop`. It rejects an answer with an unknown field, so answers contain nothing
    /// else.
    Codex,
    /// Gemini CLI, which has no permission decisions.
    Gemini,
    /// Copilot CLI: all fields at the top level.
    Copilot,
    /// Copilot CLI with Claude Code's event names: a denial as in Claude Code, but context as in Copilot.
    CopilotPascal,
    /// Our own plugins.
    Shim,
}

impl AnswerFormat {
    pub(super) fn deny(self, event: &str, reason: &str) -> Value {
        match self {
            Self::Claude | Self::Codex | Self::CopilotPascal => json!({
                "hookSpecificOutput": {
                    "hookEventName": event,
                    "permissionDecision": "deny",
                    "permissionDecisionReason": reason,
                }
            }),
            Self::Gemini => block(reason),
            Self::Copilot => json!({ "permissionDecision": "deny", "permissionDecisionReason": reason }),
            Self::Shim => json!({ "deny": reason }),
        }
    }

    /// `None` if the format has no such answer.
    pub(super) fn allow(self) -> Option<Value> {
        (self == Self::Copilot).then(|| json!({ "behavior": "allow" }))
    }

    pub(super) fn context(self, event: &str, text: &str) -> Value {
        match self {
            Self::Claude | Self::Codex | Self::Gemini => {
                json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } })
            }
            Self::Copilot | Self::CopilotPascal => json!({ "additionalContext": text }),
            Self::Shim => json!({ "context": text }),
        }
    }

    pub(super) fn go_on(self, event: &str, text: &str) -> Value {
        match self {
            Self::Claude => self.context(event, text),
            Self::Codex | Self::Gemini | Self::Copilot | Self::CopilotPascal => block(text),
            Self::Shim => json!({ "goOn": text }),
        }
    }
}

/// Blocks what is about to happen: a tool call, or the end of the turn.
fn block(reason: &str) -> Value {
    json!({ "decision": "block", "reason": reason })
}
