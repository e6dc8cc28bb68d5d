//! The answers of hooks in Claude Code's JSON format, which most harnesses adopted.

use serde_json::{Value, json};

pub fn deny(event: &str, reason: &str) -> Value {
    json!({
        "hookSpecificOutput": {
            "hookEventName": event,
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    })
}

pub fn context(event: &str, text: &str) -> Value {
    json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } })
}

/// Blocks what is about to happen: a tool call, or the end of the turn.
pub fn block(reason: &str) -> Value {
    json!({ "decision": "block", "reason": reason })
}
