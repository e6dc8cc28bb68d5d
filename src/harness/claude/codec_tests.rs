//! Tests of the codec of Claude Code.

use serde_json::json;

use super::ID;
use crate::harness::hook_codec::fixture::{
    BAD, DENY, GOOD, check_answers, check_command, check_edits, check_no_answers, nested_context, outcome,
    tool,
};

#[test]
fn what_it_is_answered() {
    let carriers = ["SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"];
    for event in carriers {
        check_answers(ID, event, [None, Some(&nested_context(event)), None]);
    }
    check_answers(ID, "PreToolUse", [DENY, None, None]);
    check_answers(ID, "Stop", [None, None, Some(&nested_context("Stop"))]);
    let forbidden = r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"\"R\""}}}"#;
    check_answers(ID, "PermissionRequest", [Some(forbidden), None, None]);
    check_no_answers(ID, &[&carriers[..], &["PreToolUse", "Stop", "PermissionRequest"]].concat());
}

#[test]
fn what_its_tools_touch() {
    let edits = |input: &str, expected: &[&str]| check_edits(ID, "PreToolUse", input, expected);
    edits(r#"{"tool_name":"MultiEdit","tool_input":{"file_path":"a","edits":[]}}"#, &["a"]);
    edits(r#"{"tool_name":"Edit","tool_input":{"file_path":"a"}}"#, &["a"]);
    edits(r#"{"tool_name":"Patch","tool_input":{"file_path":"a","content":""}}"#, &["a"]);
    edits(r#"{"tool_name":"Patch","tool_input":{"file_path":"a","edits":[{}]}}"#, &["a"]);
    edits(r#"{"tool_name":"Look","tool_input":{"file_path":"a","content":null}}"#, &[]);
    edits(r#"{"tool_name":"Look","tool_input":{"file_path":"a"}}"#, &[]);
    edits(r#"{"tool_name":"Look","tool_input":{"content":"a"}}"#, &[]);
    for tool in ["Read", "Glob", "Grep"] {
        edits(&format!(r#"{{"tool_name":"{tool}","tool_input":{{"file_path":"a","content":"b"}}}}"#), &[]);
    }
    // A tool with a `command` field that is not a shell runs no command.
    check_command(ID, "PreToolUse", r#"{"tool_name":"Agent","tool_input":{"command":"ls"}}"#, None);
}

#[test]
fn what_it_asks_for() {
    let asked = |input: &str| tool(ID, "PermissionRequest", input).asked;
    let command = r#"{"tool_name":"Bash","tool_input":{"command":"rm -r build"}}"#;
    assert_eq!(asked(command).as_deref(), Some("rm -r build"));
    let edit = r#"{"tool_name":"Edit","tool_input":{"file_path":"/a"}}"#;
    assert_eq!(asked(edit).as_deref(), Some("/a"));
    let other = r#"{"tool_name":"WebFetch","tool_input":{"url":"https://x"}}"#;
    assert_eq!(asked(other).as_deref(), Some(r#"{"url":"https://x"}"#));
    assert_eq!(tool(ID, "PreToolUse", command).asked, None);
}

#[test]
fn files_that_a_command_changed() {
    let changed = |response: &str| {
        let input = format!(r#"{{"tool_name":"Bash","tool_response":{response}}}"#);
        tool(ID, "PostToolUse", &input).changed
    };
    assert_eq!(changed(r#"{"bashEditDiff":{"changedFiles":["a","b"]}}"#).unwrap(), ["a", "b"]);
    assert_eq!(changed(r#"{"bashEditDiff":{"changedFiles":[]}}"#), Some(Vec::new()));
    assert_eq!(changed(r#"{"bashEditDiff":{"changedFiles":"a"}}"#), None);
    assert_eq!(changed(r#"{"bashEditDiff":null}"#), None);
    assert_eq!(changed(r#""text""#), None);
}

#[test]
fn an_event_of_its_own_reports_failures() {
    let (good, bad) = ("claude/PostToolUse-Bash", "claude/PostToolUseFailure-Bash");
    assert_eq!(outcome(good, &[]), GOOD);
    assert_eq!(outcome(good, &[("/tool_response/interrupted", json!(true))]), None);
    assert_eq!(outcome(good, &[("/tool_response/backgroundTaskId", json!("b1"))]), None);
    assert_eq!(outcome(good, &[("/tool_input/run_in_background", json!(true))]), None);
    assert_eq!(outcome(bad, &[]), BAD);
    assert_eq!(outcome(bad, &[("/error", json!(format!("Exit code 101\n{}", "x".repeat(5000))))]), BAD);
    assert_eq!(outcome(bad, &[("/error", json!("Command timed out after 2m"))]), None);
    assert_eq!(outcome(bad, &[("/is_interrupt", json!(true))]), None);
    assert_eq!(outcome("claude/PostToolUse-Edit", &[]), GOOD);
}
