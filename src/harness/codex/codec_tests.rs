//! Tests of the codec of Codex.

use serde_json::json;

use super::ID;
use crate::harness::hook_codec::fixture::{
    BLOCK, DENY, GOOD, PATCH, check_answers, check_command, check_edits, check_no_answers, event,
    nested_context, outcome,
};

#[test]
fn what_it_is_answered() {
    for event in ["SessionStart", "UserPromptSubmit", "PostToolUse"] {
        check_answers(ID, event, [None, Some(&nested_context(event)), None]);
    }
    check_answers(ID, "PreToolUse", [DENY, Some(&nested_context("PreToolUse")), None]);
    check_answers(ID, "Stop", [None, None, BLOCK]);
    check_no_answers(ID, &["SessionStart", "UserPromptSubmit", "PostToolUse", "PreToolUse", "Stop"]);
}

#[test]
fn what_its_tools_touch() {
    let patch = format!(r#"{{"tool_name":"apply_patch","tool_input":{{"command":"{PATCH}"}}}}"#);
    check_edits(ID, "PreToolUse", &patch, &["a.rs", "b.rs"]);
    let patch =
        format!(r#"{{"tool_name":"apply_patch","tool_input":{{"command":["apply_patch","{PATCH}"]}}}}"#);
    check_edits(ID, "PreToolUse", &patch, &["a.rs", "b.rs"]);
    let shell = |command: &str, expected| {
        let input = format!(r#"{{"tool_name":"Bash","tool_input":{{"command":{command}}}}}"#);
        check_command(ID, "PreToolUse", &input, expected);
    };
    shell(r#""ls a b""#, Some("ls a b"));
    shell(r#"["bash","-lc","ls 'a b'"]"#, Some("ls 'a b'"));
    shell(r#"["ls","a b"]"#, Some("ls 'a b'"));
    shell("{}", None);
    let subagent = event(ID, "PreToolUse", r#"{"agent_id":"a","model":"gpt-5.5"}"#);
    assert!(subagent.in_subagent);
    assert_eq!(subagent.model.as_deref(), Some("gpt-5.5"));
}

#[test]
fn the_end_of_a_command_is_not_reported() {
    assert_eq!(outcome("codex/PostToolUse-Bash", &[]), None);
    assert_eq!(outcome("codex/PostToolUse-Bash", &[("/tool_response", json!("Exit code: 1"))]), None);
    assert_eq!(outcome("codex/PostToolUse-apply_patch", &[]), GOOD);
}
