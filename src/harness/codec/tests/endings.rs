//! Tests of tool outcomes: captured payloads with other endings put in.

use serde_json::{Value, json};

use super::super::decode;
use crate::domain::hook::{HookMoment, ToolOutcome};
use crate::harness::parse;

/// The outcome in the captured payload `name`, after putting these values in these places.
#[track_caller]
fn outcome(name: &str, changes: &[(&str, Value)]) -> Option<ToolOutcome> {
    let path = format!("{}/fixtures/hooks/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let mut payload: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for (place, value) in changes {
        let (above, key) = place.rsplit_once('/').unwrap();
        payload.pointer_mut(above).unwrap()[key] = value.clone();
    }
    let (folder, file) = name.split_once('/').unwrap();
    let harness = parse(folder.trim_end_matches("-pascal")).unwrap();
    let event = file.split('-').next().unwrap();
    match decode(harness, event, payload.to_string().as_bytes()).unwrap().moment {
        HookMoment::AfterTool(tool) => tool.outcome,
        other => panic!("{other:?}"),
    }
}

const GOOD: Option<ToolOutcome> = Some(ToolOutcome::Succeeded);
const BAD: Option<ToolOutcome> = Some(ToolOutcome::Failed);

#[test]
fn claude_code_has_an_event_for_failures() {
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

#[test]
fn codex_does_not_say_how_a_command_ended() {
    assert_eq!(outcome("codex/PostToolUse-Bash", &[]), None);
    assert_eq!(outcome("codex/PostToolUse-Bash", &[("/tool_response", json!("Exit code: 1"))]), None);
    assert_eq!(outcome("codex/PostToolUse-apply_patch", &[]), GOOD);
}

#[test]
fn gemini_tells_an_exit_code_unless_it_is_0() {
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

#[test]
fn opencode_tells_the_exit_code() {
    let name = "opencode/tool.execute.after-bash";
    assert_eq!(outcome(name, &[]), GOOD);
    assert_eq!(outcome(name, &[("/output/metadata/exit", json!(101))]), BAD);
    assert_eq!(outcome(name, &[("/output/metadata/exit", Value::Null)]), None);
    assert_eq!(outcome("opencode/tool.execute.after-write", &[]), GOOD);
}

#[test]
fn pi_says_why_in_the_last_line() {
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

#[test]
fn copilot_says_it_beneath_the_output() {
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

#[test]
fn kimi_says_why_in_the_last_line() {
    let (good, bad) = ("kimi/PostToolUse-Bash", "kimi/PostToolUseFailure-Bash");
    let failed = |text: &str| outcome(bad, &[("/error/message", json!(text))]);
    assert_eq!(outcome(good, &[]), GOOD);
    assert_eq!(outcome("kimi/PostToolUse-Bash-background", &[]), None);
    assert_eq!(outcome(bad, &[]), BAD);
    assert_eq!(failed("no\nCommand failed with exit code: 0."), GOOD);
    assert_eq!(failed("Command killed by timeout (60s)"), None);
    assert_eq!(outcome("kimi/PostToolUseFailure-Bash-rejected-by-user", &[]), None);
    assert_eq!(outcome("kimi/PostToolUse-Edit", &[]), GOOD);
    assert_eq!(outcome("kimi/PostToolUseFailure-Edit", &[]), BAD);
}

#[test]
fn qwen_tells_every_exit_code() {
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
