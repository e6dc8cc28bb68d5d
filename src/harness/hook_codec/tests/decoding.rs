//! Tests of decoding that concern several harnesses, for cases that no captured payload covers.

use super::super::decode;
use super::super::fixture::{check_edits, event};
use super::EVENTS;
use crate::domain::Harness;
use crate::domain::hook::{HookEvent, HookMoment, SessionEnd, ToolUse};
use crate::harness::{claude, codex, copilot, gemini, opencode, pi, supported};

#[test]
fn the_argument_decides_what_event_it_is() {
    let input = r#"{"hook_event_name":"PreToolUse","session_id":"s","prompt":"hi"}"#;
    assert_eq!(event(claude::ID, "Stop", input).moment, HookMoment::Stopping);
    assert_eq!(event(claude::ID, "StopFailure", input).moment, HookMoment::TurnFailed);
    assert_eq!(
        event(claude::ID, "UserPromptSubmit", input).moment,
        HookMoment::PromptSubmitted { prompt: "hi".to_string() }
    );
    let input = r#"{"type":"session.idle","properties":{"sessionID":"s"}}"#;
    assert_eq!(event(opencode::ID, "session.created", input).moment, HookMoment::SessionStarted);
}

#[test]
fn sessions_that_others_follow() {
    use SessionEnd::{Final, ProcessContinues};
    let check = |harness, name: &str, input: &str, end| {
        assert_eq!(event(harness, name, input).moment, HookMoment::SessionEnded(end), "{harness} {input}");
    };
    for (reason, end) in
        [("clear", ProcessContinues), ("resume", ProcessContinues), ("logout", Final), ("other", Final)]
    {
        let input = format!(r#"{{"reason":"{reason}"}}"#);
        check(claude::ID, "SessionEnd", &input, end);
        check(codex::ID, "SessionEnd", &input, end);
        check(gemini::ID, "SessionEnd", &input, end);
    }
    for (reason, end) in [
        ("new", ProcessContinues),
        ("resume", ProcessContinues),
        ("fork", ProcessContinues),
        ("reload", ProcessContinues),
        ("quit", Final),
    ] {
        check(pi::ID, "session_shutdown", &format!(r#"{{"event":{{"reason":"{reason}"}}}}"#), end);
    }
    check(copilot::ID, "sessionEnd", r#"{"reason":"complete"}"#, Final);
    check(opencode::ID, "event", r#"{"type":"session.deleted","properties":{"info":{"id":"s"}}}"#, Final);
}

#[test]
fn only_what_the_user_said_is_the_prompt() {
    let input = r#"{"output":{"parts":[
        {"type":"text","text":"one"}, {"type":"text","text":"ours","synthetic":true}, 7, {"type":"text","text":7},
        {"type":"file","text":"no"}, {"type":"text","text":"two","synthetic":false}]}}"#;
    let prompt = HookMoment::PromptSubmitted { prompt: "one\ntwo".to_string() };
    assert_eq!(event(opencode::ID, "chat.message", input).moment, prompt);
    let input = r#"{"prompt":"<hook_context>ours</hook_context>\n\nhi"}"#;
    assert_eq!(
        event(gemini::ID, "BeforeAgent", input).moment,
        HookMoment::PromptSubmitted { prompt: "hi".to_string() }
    );
}

#[test]
fn sessions_that_are_none() {
    let long = "x".repeat(257);
    for id in ["7", "null", "\"\"", "\"a\\nb\"", "[\"s\"]", &format!("\"{long}\"")] {
        for (harness, input) in [
            (claude::ID, format!(r#"{{"session_id":{id}}}"#)),
            (copilot::ID, format!(r#"{{"sessionId":{id}}}"#)),
            (opencode::ID, format!(r#"{{"input":{{"sessionID":{id}}}}}"#)),
            (pi::ID, format!(r#"{{"ctx":{{"sessionId":{id}}}}}"#)),
        ] {
            assert_eq!(event(harness, "stop", &input), HookEvent::default(), "{harness} {input}");
        }
    }
}

#[test]
fn no_fields_at_all() {
    for harness in supported() {
        for name in EVENTS {
            let bare = event(harness, name, "{}");
            assert_eq!(HookEvent { moment: bare.moment.clone(), ..HookEvent::default() }, bare);
            match bare.moment {
                HookMoment::BeforeTool(tool)
                | HookMoment::AfterTool(tool)
                | HookMoment::AskingLeave(tool) => {
                    // Some harnesses have an event only for success or only for failure.
                    assert_eq!(ToolUse { outcome: None, ..tool }, ToolUse::default());
                }
                HookMoment::PromptSubmitted { prompt } => assert_eq!(prompt, ""),
                HookMoment::SessionEnded(end) => assert_eq!(end, SessionEnd::Final),
                HookMoment::SessionStarted
                | HookMoment::Stopping
                | HookMoment::TurnFailed
                | HookMoment::SubagentStarted
                | HookMoment::SubagentEnded
                | HookMoment::Other => {}
            }
        }
        assert_eq!(event(harness, "no such event", "{}").moment, HookMoment::Other);
    }
}

#[test]
fn no_object() {
    for harness in supported() {
        for input in ["", "null", "[]", "[{}]", "7", "\"text\"", "{", "{} {}"] {
            let error = decode(harness, "PreToolUse", input.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with("the payload "), "{harness} {input}: {error}");
        }
    }
}

#[test]
fn what_has_no_hooks() {
    for harness in [Harness::TERMINAL, Harness::OTHER] {
        let error = decode(harness, "PreToolUse", b"{}").unwrap_err().to_string();
        assert_eq!(error, format!("`{harness}` has no hooks"));
    }
}

/// A large file's whole content, with much to unescape, before and after the path.
#[test]
fn large_payloads() {
    let content = r#"\"line\"\n"#.repeat((1 << 20) / 10);
    let check = |harness, name: &str, input: String| check_edits(harness, name, &input, &["a"]);
    for (harness, name, tool) in [
        (claude::ID, "PreToolUse", "Write"),
        (codex::ID, "PreToolUse", "Write"),
        (gemini::ID, "BeforeTool", "write_file"),
    ] {
        let input = format!(
            r#"{{"tool_name":"{tool}","tool_input":{{"content":"{content}","file_path":"a"}},"tool_response":"{content}"}}"#
        );
        check(harness, name, input);
    }
    let args = format!(r#"{{"content":"{content}","filePath":"a"}}"#);
    check(
        opencode::ID,
        "tool.execute.before",
        format!(r#"{{"input":{{"tool":"write"}},"output":{{"args":{args},"output":"{content}"}}}}"#),
    );
    let args = format!(r#"{{"content":"{content}","path":"a"}}"#);
    check(pi::ID, "tool_call", format!(r#"{{"event":{{"toolName":"write","input":{args}}},"ctx":{{}}}}"#));
    let args = format!(r#"{{"file_text":"{content}","path":"a"}}"#);
    check(copilot::ID, "preToolUse", format!(r#"{{"toolName":"create","toolArgs":{args}}}"#));
    let deep = "[".repeat(1 << 20) + &"]".repeat(1 << 20);
    check(
        copilot::ID,
        "preToolUse",
        format!(r#"{{"x":{deep},"toolName":"edit","toolArgs":{{"path":"a"}}}}"#),
    );
}
