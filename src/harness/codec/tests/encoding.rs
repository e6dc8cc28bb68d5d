//! Tests of encoding: which answer is written at which event.

use super::super::{encode, room};
use super::EVENTS;
use crate::domain::Harness;
use crate::domain::hook::HookAnswer;
use crate::harness::{claude, codex, copilot, gemini, kimi, opencode, pi, qwen, supported};

/// Checks what a denial, a context and a go-on become at an event. Silence is always silence.
#[track_caller]
fn check(harness: Harness, event: &str, expected: [Option<&str>; 3]) {
    let answers = [
        HookAnswer::Deny("\"R\"".into()),
        HookAnswer::Context("\"R\"".into()),
        HookAnswer::GoOn("\"R\"".into()),
    ];
    let said = answers.map(|answer| encode(harness, event, &answer));
    assert_eq!(said.each_ref().map(Option::as_deref), expected, "{harness} {event}");
    assert_eq!(encode(harness, event, &HookAnswer::Silence), None);
    assert_eq!(room(harness, event).is_some(), expected[1].is_some() || expected[2].is_some());
}

/// Checks that all other events give no answer.
#[track_caller]
fn check_others(harness: Harness, checked: &[&str]) {
    for event in EVENTS.iter().filter(|event| !checked.contains(event)) {
        check(harness, event, [None, None, None]);
    }
}

const BLOCK: Option<&str> = Some(r#"{"decision":"block","reason":"\"R\""}"#);
const DENY: Option<&str> = Some(
    r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"\"R\""}}"#,
);
const TOP_CONTEXT: Option<&str> = Some(r#"{"additionalContext":"\"R\""}"#);
const SHIM_DENY: Option<&str> = Some(r#"{"deny":"\"R\""}"#);
const SHIM_CONTEXT: Option<&str> = Some(r#"{"context":"\"R\""}"#);
const SHIM_GO_ON: Option<&str> = Some(r#"{"goOn":"\"R\""}"#);

fn nested_context(event: &str) -> String {
    format!(r#"{{"hookSpecificOutput":{{"hookEventName":"{event}","additionalContext":"\"R\""}}}}"#)
}

#[test]
fn claude() {
    let carriers = ["SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"];
    for event in carriers {
        check(claude::ID, event, [None, Some(&nested_context(event)), None]);
    }
    check(claude::ID, "PreToolUse", [DENY, None, None]);
    check(claude::ID, "Stop", [None, None, Some(&nested_context("Stop"))]);
    check_others(claude::ID, &[&carriers[..], &["PreToolUse", "Stop"]].concat());
}

#[test]
fn codex() {
    for event in ["SessionStart", "UserPromptSubmit", "PostToolUse"] {
        check(codex::ID, event, [None, Some(&nested_context(event)), None]);
    }
    check(codex::ID, "PreToolUse", [DENY, Some(&nested_context("PreToolUse")), None]);
    check(codex::ID, "Stop", [None, None, BLOCK]);
    check_others(codex::ID, &["SessionStart", "UserPromptSubmit", "PostToolUse", "PreToolUse", "Stop"]);
}

#[test]
fn gemini() {
    for event in ["SessionStart", "BeforeAgent", "AfterTool"] {
        check(gemini::ID, event, [None, Some(&nested_context(event)), None]);
    }
    check(gemini::ID, "BeforeTool", [BLOCK, None, None]);
    check(gemini::ID, "AfterAgent", [None, None, BLOCK]);
    check_others(gemini::ID, &["SessionStart", "BeforeAgent", "AfterTool", "BeforeTool", "AfterAgent"]);
}

#[test]
fn opencode() {
    for event in ["tool.execute.after", "chat.message", "session.created"] {
        check(opencode::ID, event, [None, SHIM_CONTEXT, None]);
    }
    check(opencode::ID, "tool.execute.before", [SHIM_DENY, None, None]);
    check(opencode::ID, "session.idle", [None, None, SHIM_GO_ON]);
    check(opencode::ID, "event", [None, SHIM_CONTEXT, SHIM_GO_ON]);
    check_others(
        opencode::ID,
        &[
            "tool.execute.after",
            "chat.message",
            "session.created",
            "tool.execute.before",
            "session.idle",
            "event",
        ],
    );
}

#[test]
fn pi() {
    for event in ["tool_result", "before_agent_start", "session_start"] {
        check(pi::ID, event, [None, SHIM_CONTEXT, None]);
    }
    check(pi::ID, "tool_call", [SHIM_DENY, None, None]);
    check(pi::ID, "agent_before_settle", [None, None, SHIM_GO_ON]);
    check_others(
        pi::ID,
        &["tool_result", "before_agent_start", "session_start", "tool_call", "agent_before_settle"],
    );
}

#[test]
fn copilot() {
    const TOP_DENY: &str = r#"{"permissionDecision":"deny","permissionDecisionReason":"\"R\""}"#;
    let context = [
        "sessionStart",
        "userPromptSubmitted",
        "postToolUse",
        "SessionStart",
        "UserPromptSubmit",
        "PostToolUse",
    ];
    for event in context {
        check(copilot::ID, event, [None, TOP_CONTEXT, None]);
    }
    check(copilot::ID, "preToolUse", [Some(TOP_DENY), None, None]);
    check(copilot::ID, "PreToolUse", [DENY, None, None]);
    check(copilot::ID, "agentStop", [None, None, BLOCK]);
    check(copilot::ID, "Stop", [None, None, BLOCK]);
    let others = [&context[..], &["preToolUse", "PreToolUse", "agentStop", "Stop"]].concat();
    check_others(copilot::ID, &others);
}

#[test]
fn kimi() {
    const MESSAGE: &str = r#"{"message":"\"R\""}"#;
    let stop = DENY.unwrap().replace("PreToolUse", "Stop");
    check(kimi::ID, "UserPromptSubmit", [None, Some(MESSAGE), None]);
    check(kimi::ID, "PreToolUse", [DENY, None, None]);
    check(kimi::ID, "Stop", [None, None, Some(&stop)]);
    check_others(kimi::ID, &["UserPromptSubmit", "PreToolUse", "Stop"]);
}

#[test]
fn qwen() {
    let carriers = ["SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"];
    for event in carriers {
        check(qwen::ID, event, [None, Some(&nested_context(event)), None]);
    }
    check(qwen::ID, "PreToolUse", [DENY, None, None]);
    check(qwen::ID, "Stop", [None, None, BLOCK]);
    check_others(qwen::ID, &[&carriers[..], &["PreToolUse", "Stop"]].concat());
}

#[test]
fn two_ask_whether_their_user_must_be_asked() {
    const NESTED: &str =
        r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}"#;
    for harness in supported() {
        for event in EVENTS {
            let expected = match (harness, event) {
                (copilot::ID, "permissionRequest") => Some(r#"{"behavior":"allow"}"#),
                (qwen::ID, "PermissionRequest") => Some(NESTED),
                _ => None,
            };
            assert_eq!(encode(harness, event, &HookAnswer::Allow).as_deref(), expected, "{harness} {event}");
        }
    }
}

#[test]
fn what_has_no_hooks_is_told_nothing() {
    check_others(Harness::TERMINAL, &[]);
    check_others(Harness::OTHER, &[]);
}

#[test]
fn how_much_there_is_room_for() {
    for harness in supported() {
        let expected = match harness {
            claude::ID => 9_000,
            codex::ID => 6_000,
            _ => 8_000,
        };
        let rooms: Vec<usize> = EVENTS.iter().filter_map(|event| room(harness, event)).collect();
        assert!(rooms.len() >= 2 && rooms.iter().all(|room| *room == expected), "{harness}: {rooms:?}");
    }
}
