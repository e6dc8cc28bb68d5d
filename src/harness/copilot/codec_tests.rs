//! Tests of the codec of Copilot CLI.

use serde_json::json;

use super::ID;
use crate::harness::hook_codec::fixture::{
    BAD, BLOCK, DENY, GOOD, PATCH, TOP_CONTEXT, check_answers, check_command, check_edits, check_no_answers,
    outcome,
};

#[test]
fn what_it_is_answered() {
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
        check_answers(ID, event, [None, TOP_CONTEXT, None]);
    }
    check_answers(ID, "preToolUse", [Some(TOP_DENY), None, None]);
    check_answers(ID, "PreToolUse", [DENY, None, None]);
    check_answers(ID, "agentStop", [None, None, BLOCK]);
    check_answers(ID, "Stop", [None, None, BLOCK]);
    let others = [&context[..], &["preToolUse", "PreToolUse", "agentStop", "Stop"]].concat();
    check_no_answers(ID, &others);
}

#[test]
fn what_its_tools_touch() {
    let edits = |tool: &str, args: &str, expected: &[&str]| {
        let camel = format!(r#"{{"toolName":"{tool}","toolArgs":{args}}}"#);
        check_edits(ID, "preToolUse", &camel, expected);
        let pascal = format!(r#"{{"tool_name":"{tool}","tool_input":{args}}}"#);
        check_edits(ID, "PreToolUse", &pascal, expected);
    };
    edits("edit", r#"{"path":"a"}"#, &["a"]);
    edits("create", r#""{\"path\":\"a\",\"file_text\":\"\"}""#, &["a"]);
    edits("str_replace_editor", r#"{"command":"str_replace","path":"a"}"#, &["a"]);
    edits("str_replace_editor", r#"{"command":"view","path":"a"}"#, &[]);
    edits("apply_patch", &format!(r#""{PATCH}""#), &["a.rs", "b.rs"]);
    edits("apply_patch", &format!(r#"{{"input":"{PATCH}"}}"#), &["a.rs", "b.rs"]);
    edits("Edit", &format!(r#"{{"input":"{PATCH}"}}"#), &["a.rs", "b.rs"]);
    edits("Write", r#"{"path":"a","file_text":""}"#, &["a"]);
    edits("view", r#"{"path":"a"}"#, &[]);
    edits("create", r#""{\"path\"""#, &[]);
    for shell in ["bash", "shell", "powershell"] {
        let input = format!(r#"{{"toolName":"{shell}","toolArgs":"{{\"command\":\"ls\"}}"}}"#);
        check_command(ID, "preToolUse", &input, Some("ls"));
    }
}

#[test]
fn the_exit_code_is_beneath_the_output() {
    for (name, text, kind) in [
        ("copilot/postToolUse-bash", "/toolResult/textResultForLlm", "copilot/postToolUse-create"),
        (
            "copilot-pascal/PostToolUse-Bash",
            "/tool_result/text_result_for_llm",
            "copilot-pascal/PostToolUse-Write",
        ),
    ] {
        let said = |words: &str| outcome(name, &[(text, json!(words))]);
        assert_eq!(outcome(name, &[]), GOOD);
        assert_eq!(said("no\n<shellId: 3 completed with exit code 101>"), BAD);
        assert_eq!(said("<shellId: 3 completed with exit code 0>\nmore"), None);
        assert_eq!(said("<command with shellId: 0 is still running>"), None);
        assert_eq!(outcome(kind, &[]), GOOD);
    }
    assert_eq!(outcome("copilot/postToolUseFailure-apply_patch", &[]), BAD);
}
