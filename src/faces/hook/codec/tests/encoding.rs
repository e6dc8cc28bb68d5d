//! Tests of encoding: which answer is written at which event.

use super::super::{encode, room};
use super::{EVENTS, HARNESSES};
use crate::domain::Harness::{self, Claude, Codex, Copilot, Gemini, Opencode, Pi};
use crate::domain::hook::HookAnswer;

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
        check(Claude, event, [None, Some(&nested_context(event)), None]);
    }
    check(Claude, "PreToolUse", [DENY, None, None]);
    check(Claude, "Stop", [None, None, Some(&nested_context("Stop"))]);
    check_others(Claude, &[&carriers[..], &["PreToolUse", "Stop"]].concat());
}

#[test]
fn codex() {
    for event in ["SessionStart", "UserPromptSubmit", "PostToolUse"] {
        check(Codex, event, [None, Some(&nested_context(event)), None]);
    }
    check(Codex, "PreToolUse", [DENY, Some(&nested_context("PreToolUse")), None]);
    check(Codex, "Stop", [None, None, BLOCK]);
    check_others(Codex, &["SessionStart", "UserPromptSubmit", "PostToolUse", "PreToolUse", "Stop"]);
}

#[test]
fn gemini() {
    for event in ["SessionStart", "BeforeAgent", "AfterTool"] {
        check(Gemini, event, [None, Some(&nested_context(event)), None]);
    }
    check(Gemini, "BeforeTool", [BLOCK, None, None]);
    check(Gemini, "AfterAgent", [None, None, BLOCK]);
    check_others(Gemini, &["SessionStart", "BeforeAgent", "AfterTool", "BeforeTool", "AfterAgent"]);
}

#[test]
fn opencode() {
    for event in ["tool.execute.after", "chat.message", "session.created"] {
        check(Opencode, event, [None, SHIM_CONTEXT, None]);
    }
    check(Opencode, "tool.execute.before", [SHIM_DENY, None, None]);
    check(Opencode, "session.idle", [None, None, SHIM_GO_ON]);
    check(Opencode, "event", [None, SHIM_CONTEXT, SHIM_GO_ON]);
    check_others(
        Opencode,
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
        check(Pi, event, [None, SHIM_CONTEXT, None]);
    }
    check(Pi, "tool_call", [SHIM_DENY, None, None]);
    check(Pi, "agent_before_settle", [None, None, SHIM_GO_ON]);
    check_others(
        Pi,
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
        check(Copilot, event, [None, TOP_CONTEXT, None]);
    }
    check(Copilot, "preToolUse", [Some(TOP_DENY), None, None]);
    check(Copilot, "PreToolUse", [DENY, None, None]);
    check(Copilot, "agentStop", [None, None, BLOCK]);
    check(Copilot, "Stop", [None, None, BLOCK]);
    let others = [&context[..], &["preToolUse", "PreToolUse", "agentStop", "Stop"]].concat();
    check_others(Copilot, &others);
}

#[test]
fn only_copilot_asks_whether_its_user_must_be_asked() {
    for harness in HARNESSES {
        for event in EVENTS {
            let expected =
                (harness == Copilot && event == "permissionRequest").then_some(r#"{"behavior":"allow"}"#);
            assert_eq!(encode(harness, event, &HookAnswer::Allow).as_deref(), expected, "{harness} {event}");
        }
    }
}

#[test]
fn what_has_no_hooks_is_told_nothing() {
    check_others(Harness::Terminal, &[]);
    check_others(Harness::Other, &[]);
}

#[test]
fn how_much_there_is_room_for() {
    for harness in HARNESSES {
        let expected = match harness {
            Claude => 9_000,
            Codex => 6_000,
            _ => 8_000,
        };
        let rooms: Vec<usize> = EVENTS.iter().filter_map(|event| room(harness, event)).collect();
        assert!(rooms.len() >= 4 && rooms.iter().all(|room| *room == expected), "{harness}: {rooms:?}");
    }
}
