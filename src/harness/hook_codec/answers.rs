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

/// The event at which a harness with this format asks whether its user must be asked.
pub const PERMISSION_REQUEST: &str = "PermissionRequest";

/// Permits what the user would be asked about.
pub fn permit() -> Value {
    decision(json!({ "behavior": "allow" }))
}

/// Refuses what the user would be asked about.
pub fn forbid(reason: &str) -> Value {
    decision(json!({ "behavior": "deny", "message": reason }))
}

fn decision(decision: Value) -> Value {
    json!({ "hookSpecificOutput": { "hookEventName": PERMISSION_REQUEST, "decision": decision } })
}
