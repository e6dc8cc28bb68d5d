//! Tests of the codec of OpenCode.

use serde_json::{Value, json};

use super::ID;
use crate::harness::hook_codec::fixture::{
    BAD, GOOD, PATCH, SHIM_CONTEXT, SHIM_DENY, SHIM_GO_ON, check_answers, check_command, check_edits,
    check_no_answers, event, outcome, tool,
};

#[test]
fn what_it_is_answered() {
    for event in ["tool.execute.after", "chat.message", "session.created"] {
        check_answers(ID, event, [None, SHIM_CONTEXT, None]);
    }
    check_answers(ID, "tool.execute.before", [SHIM_DENY, None, None]);
    check_answers(ID, "session.idle", [None, None, SHIM_GO_ON]);
    check_answers(ID, "event", [None, SHIM_CONTEXT, SHIM_GO_ON]);
    check_no_answers(
        ID,
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
fn what_its_tools_touch() {
    let before = |tool: &str, args: &str| {
        format!(r#"{{"cwd":"/p","input":{{"tool":"{tool}","sessionID":"s"}},"output":{{"args":{args}}}}}"#)
    };
    check_edits(ID, "tool.execute.before", &before("multiedit", r#"{"filePath":"a"}"#), &["a"]);
    check_edits(ID, "tool.execute.before", &before("read", r#"{"filePath":"a"}"#), &[]);
    let patch = before("patch", &format!(r#"{{"patchText":"{PATCH}"}}"#));
    check_edits(ID, "tool.execute.before", &patch, &["a.rs", "b.rs"]);
    let bash = before("bash", r#"{"command":"ls","workdir":"sub"}"#);
    check_command(ID, "tool.execute.before", &bash, Some("ls"));
    assert_eq!(event(ID, "tool.execute.before", &bash).cwd.as_deref(), Some("/p/sub"));
    // After the tool the arguments are in another field.
    assert!(tool(ID, "tool.execute.after", &before("edit", r#"{"filePath":"a"}"#)).edits.is_empty());
}

#[test]
fn what_its_subagents_are() {
    let created = event(
        ID,
        "session.created",
        r#"{"type":"session.created","properties":{"info":{"id":"s","parentID":"p","directory":"/d"}}}"#,
    );
    assert_eq!(created.session.unwrap().as_str(), "s");
    assert_eq!(created.parent.unwrap().as_str(), "p");
    assert!(created.in_subagent);
    assert_eq!(created.cwd.as_deref(), Some("/d"));
    let told = event(ID, "chat.message", r#"{"parentSessionID":"p","cwd":"/c","model":"m"}"#);
    assert_eq!((told.in_subagent, told.cwd.as_deref(), told.model.as_deref()), (true, Some("/c"), Some("m")));
}

#[test]
fn the_exit_code_is_reported() {
    let name = "opencode/tool.execute.after-bash";
    assert_eq!(outcome(name, &[]), GOOD);
    assert_eq!(outcome(name, &[("/output/metadata/exit", json!(101))]), BAD);
    assert_eq!(outcome(name, &[("/output/metadata/exit", Value::Null)]), None);
    assert_eq!(outcome("opencode/tool.execute.after-write", &[]), GOOD);
}
