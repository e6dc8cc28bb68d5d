//! Tests of the codec of Gemini CLI.

use serde_json::json;

use super::ID;
use crate::harness::hook_codec::fixture::{
    BAD, BLOCK, GOOD, check_answers, check_command, check_edits, check_no_answers, event, nested_context,
    outcome,
};

#[test]
fn what_it_is_answered() {
    for event in ["SessionStart", "BeforeAgent", "AfterTool"] {
        check_answers(ID, event, [None, Some(&nested_context(event)), None]);
    }
    check_answers(ID, "BeforeTool", [BLOCK, None, None]);
    check_answers(ID, "AfterAgent", [None, None, BLOCK]);
    check_no_answers(ID, &["SessionStart", "BeforeAgent", "AfterTool", "BeforeTool", "AfterAgent"]);
}

#[test]
fn what_its_tools_touch() {
    check_edits(ID, "BeforeTool", r#"{"tool_name":"read_file","tool_input":{"file_path":"a"}}"#, &[]);
    let cwd = |input: &str| {
        let input = format!(r#"{{"cwd":"/p","tool_name":"run_shell_command","tool_input":{input}}}"#);
        check_command(ID, "BeforeTool", &input, Some("ls"));
        event(ID, "BeforeTool", &input).cwd.unwrap()
    };
    assert_eq!(cwd(r#"{"command":"ls"}"#), "/p");
    assert_eq!(cwd(r#"{"command":"ls","directory":"a b"}"#), "/p/a b");
    assert_eq!(cwd(r#"{"command":"ls","dir_path":"/q"}"#), "/q");
    assert_eq!(cwd(r#"{"command":"ls","dir_path":7}"#), "/p");
}

#[test]
fn an_exit_code_is_reported_unless_it_is_0() {
    let name = "gemini/AfterTool-run_shell_command";
    let said = |lines: &str| {
        let text = format!("<untrusted_context>\n{lines}\n</untrusted_context>");
        outcome(name, &[("/tool_response/llmContent", json!(text))])
    };
    assert_eq!(outcome(name, &[]), GOOD);
    assert_eq!(said("Output: all\nof it\nProcess Group PGID: 7"), GOOD);
    assert_eq!(said("Output: no\nExit Code: 101\nProcess Group PGID: 7"), BAD);
    assert_eq!(said("Output: no\nExit Code: 1\nBackground PIDs: 8, 9\nProcess Group PGID: 7"), BAD);
    assert_eq!(said(&format!("Output: {}\nExit Code: 1\nProcess Group PGID: 7", "é".repeat(9000))), BAD);
    assert_eq!(said("Output: no\nSignal: 9\nProcess Group PGID: 7"), None);
    assert_eq!(said("Command moved to background (PID: 7). Output hidden."), None);
    assert_eq!(said("Exit Code: 1"), None);
    assert_eq!(outcome("gemini/AfterTool-write_file", &[]), GOOD);
    let error = ("/tool_response/error", json!({ "message": "no such file" }));
    assert_eq!(outcome("gemini/AfterTool-write_file", &[error]), BAD);
}
