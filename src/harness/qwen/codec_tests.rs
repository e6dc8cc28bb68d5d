//! Tests of the codec of Qwen Code.

use serde_json::json;

use super::ID;
use crate::harness::hook_codec::fixture::{
    BAD, BLOCK, DENY, GOOD, check_answers, check_no_answers, nested_context, outcome,
};

#[test]
fn what_it_is_answered() {
    let carriers = ["SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"];
    for event in carriers {
        check_answers(ID, event, [None, Some(&nested_context(event)), None]);
    }
    check_answers(ID, "PreToolUse", [DENY, None, None]);
    check_answers(ID, "Stop", [None, None, BLOCK]);
    check_no_answers(ID, &[&carriers[..], &["PreToolUse", "Stop"]].concat());
}

#[test]
fn every_exit_code_is_reported() {
    let (good, bad) = ("qwen/PostToolUse-run_shell_command", "qwen/PostToolUseFailure-run_shell_command");
    let said = |lines: &str| outcome(good, &[("/tool_response/llmContent", json!(lines))]);
    assert_eq!(outcome(good, &[]), GOOD);
    assert_eq!(said("Output: no\nExit Code: 101\nSignal: (none)\nProcess Group PGID: 7"), BAD);
    let background = "Exit Code: 1\nSignal: (none)\nBackground PIDs: 8, 9\nProcess Group PGID: 7";
    assert_eq!(said(background), BAD);
    assert_eq!(said("Output: no\nExit Code: (none)\nSignal: 9\nProcess Group PGID: 7"), None);
    assert_eq!(said("Output: Exit Code: 0"), None);
    assert_eq!(outcome("qwen/PostToolUse-run_shell_command-background", &[]), None);
    assert_eq!(outcome(bad, &[]), BAD);
    assert_eq!(outcome("qwen/PostToolUseFailure-run_shell_command-interrupted", &[]), None);
    assert_eq!(outcome("qwen/PostToolUse-edit", &[]), GOOD);
    assert_eq!(outcome("qwen/PostToolUseFailure-edit", &[]), BAD);
}
