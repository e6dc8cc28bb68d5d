//! Tests of the codec of pi.

use serde_json::{Value, json};

use super::ID;
use crate::domain::hook::HookMoment;
use crate::harness::hook_codec::fixture::{
    BAD, GOOD, SHIM_CONTEXT, SHIM_DENY, SHIM_GO_ON, check_answers, check_edits, check_no_answers, event,
    outcome,
};

#[test]
fn what_it_is_answered() {
    for event in ["tool_result", "before_agent_start", "session_start"] {
        check_answers(ID, event, [None, SHIM_CONTEXT, None]);
    }
    check_answers(ID, "tool_call", [SHIM_DENY, None, None]);
    check_answers(ID, "agent_before_settle", [None, None, SHIM_GO_ON]);
    check_no_answers(
        ID,
        &["tool_result", "before_agent_start", "session_start", "tool_call", "agent_before_settle"],
    );
}

#[test]
fn what_its_tools_touch() {
    let call = |tool: &str| {
        format!(
            r#"{{"event":{{"toolName":"{tool}","input":{{"path":"a"}}}},"ctx":{{"sessionId":"s","cwd":"/p"}}}}"#
        )
    };
    check_edits(ID, "tool_call", &call("write"), &["a"]);
    check_edits(ID, "tool_call", &call("read"), &[]);
    assert_eq!(event(ID, "input", &call("write")).moment, HookMoment::Other);
    assert_eq!(event(ID, "agent_end", &call("write")).moment, HookMoment::Other);
}

#[test]
fn the_last_line_says_why_it_failed() {
    let name = "pi/tool_result-bash";
    let failed = |text: &str| {
        let content = json!([{ "type": "text", "text": text }]);
        outcome(name, &[("/event/isError", json!(true)), ("/event/content", content)])
    };
    assert_eq!(outcome(name, &[]), GOOD);
    assert_eq!(failed("out\n\nCommand exited with code 1"), BAD);
    assert_eq!(failed("out\n\nCommand timed out after 5 seconds"), None);
    assert_eq!(failed("Command aborted"), None);
    assert_eq!(failed("src/lib.rs is reserved"), None);
    assert_eq!(outcome(name, &[("/event/isError", Value::Null)]), None);
    assert_eq!(outcome("pi/tool_result-edit", &[("/event/isError", json!(true))]), BAD);
}
