//! Tests that concern all codecs, with payloads of real harnesses and with invalid ones. Those of one codec are in the
//! folder of its harness.

mod anything;
mod captured;
mod decoding;
mod encoding;

/// Every event of any harness, and one that none has.
pub(super) const EVENTS: [&str; 42] = [
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "Stop",
    "StopFailure",
    "BeforeAgent",
    "AfterAgent",
    "BeforeModel",
    "BeforeTool",
    "AfterTool",
    "tool.execute.before",
    "tool.execute.after",
    "chat.message",
    "event",
    "session.created",
    "session.idle",
    "session.deleted",
    "session_start",
    "session_shutdown",
    "before_agent_start",
    "tool_call",
    "tool_result",
    "agent_before_settle",
    "agent_end",
    "sessionStart",
    "sessionEnd",
    "userPromptSubmitted",
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "agentStop",
    "permissionRequest",
    "PermissionRequest",
    "Interrupt",
    "no such event",
];
