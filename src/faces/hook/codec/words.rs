//! Answers, in the words of the harnesses.

use serde_json::{Value, json};

/// The ways of answering that there are; several harnesses share one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Tongue {
    /// Claude Code's. What blocks its stop it calls an error, and tells the model twice; so it goes on by context, which it
    /// knows since 2.1.163.
    Claude,
    /// Codex's, which is Claude Code's but for the stop. It takes an answer with a field that it doesn't know for none, so
    /// there is nothing else in these.
    Codex,
    /// Gemini CLI's: it doesn't know of permissions.
    Gemini,
    /// Copilot CLI's: everything at the top level.
    Copilot,
    /// Copilot CLI's where its events are called as Claude Code's: a denial is Claude's too, context is not.
    CopilotPascal,
    /// What our own plugins read.
    Shim,
}

impl Tongue {
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

    /// `None`: it can't be told that.
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

/// What is about to happen must not: a tool, or stopping.
fn block(reason: &str) -> Value {
    json!({ "decision": "block", "reason": reason })
}
