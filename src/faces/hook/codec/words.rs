//! Answers, in the words of the harnesses.

use serde_json::{Value, json};

/// A tool is denied, as Claude Code wants to be told.
pub(super) fn permission_denied(event: &str, reason: &str) -> Value {
    json!({
        "hookSpecificOutput": {
            "hookEventName": event,
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    })
}

/// The same as Copilot CLI wants to be told.
pub(super) fn top_level_denied(reason: &str) -> Value {
    json!({ "permissionDecision": "deny", "permissionDecisionReason": reason })
}

/// Context, as Claude Code wants to be told.
pub(super) fn additional_context(event: &str, text: &str) -> Value {
    json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } })
}

/// The same as Copilot CLI wants to be told.
pub(super) fn top_level_context(text: &str) -> Value {
    json!({ "additionalContext": text })
}

/// What is about to happen must not: a tool, or stopping.
pub(super) fn block(reason: &str) -> Value {
    json!({ "decision": "block", "reason": reason })
}

// What our own plugins are told.

pub(super) fn shim_deny(reason: &str) -> Value {
    json!({ "deny": reason })
}

pub(super) fn shim_context(text: &str) -> Value {
    json!({ "context": text })
}

pub(super) fn shim_go_on(text: &str) -> Value {
    json!({ "goOn": text })
}
