//! Tests of decoding for cases that no captured payload covers.

use super::super::decode;
use super::EVENTS;
use crate::domain::Harness;
use crate::domain::hook::{HookEvent, HookMoment, SessionEnd, ToolUse};
use crate::harness::{claude, codex, copilot, gemini, opencode, pi, supported};

#[track_caller]
fn event(harness: Harness, event: &str, input: &str) -> HookEvent {
    decode(harness, event, input.as_bytes()).unwrap()
}

#[track_caller]
fn tool(harness: Harness, name: &str, input: &str) -> ToolUse {
    match event(harness, name, input).moment {
        HookMoment::BeforeTool(tool) | HookMoment::AfterTool(tool) | HookMoment::AskingLeave(tool) => tool,
        moment => panic!("{name} is {moment:?}"),
    }
}

#[track_caller]
fn check_edits(harness: Harness, event: &str, input: &str, expected: &[&str]) {
    let tool = tool(harness, event, input);
    assert_eq!((tool.edits, tool.command), (expected.iter().map(|path| path.to_string()).collect(), None));
}

#[track_caller]
fn check_command(harness: Harness, event: &str, input: &str, expected: Option<&str>) {
    let tool = tool(harness, event, input);
    assert_eq!((tool.edits, tool.command.as_deref()), (Vec::new(), expected));
}

const PATCH: &str =
    r"*** Begin Patch\r\n*** Update File: a.rs\r\n*** Move to: b.rs\r\n@@\r\n-x\r\n+y\r\n*** End Patch";

#[test]
fn the_argument_decides_what_event_it_is() {
    let input = r#"{"hook_event_name":"PreToolUse","session_id":"s","prompt":"hi"}"#;
    assert_eq!(event(claude::ID, "Stop", input).moment, HookMoment::Stopping);
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
fn tools_of_claude_code() {
    let edits = |input: &str, expected: &[&str]| check_edits(claude::ID, "PreToolUse", input, expected);
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
    check_command(claude::ID, "PreToolUse", r#"{"tool_name":"Agent","tool_input":{"command":"ls"}}"#, None);
}

#[test]
fn files_that_a_command_changed() {
    let changed = |response: &str| {
        let input = format!(r#"{{"tool_name":"Bash","tool_response":{response}}}"#);
        tool(claude::ID, "PostToolUse", &input).changed
    };
    assert_eq!(changed(r#"{"bashEditDiff":{"changedFiles":["a","b"]}}"#).unwrap(), ["a", "b"]);
    assert_eq!(changed(r#"{"bashEditDiff":{"changedFiles":[]}}"#), Some(Vec::new()));
    assert_eq!(changed(r#"{"bashEditDiff":{"changedFiles":"a"}}"#), None);
    assert_eq!(changed(r#"{"bashEditDiff":null}"#), None);
    assert_eq!(changed(r#""text""#), None);
}

#[test]
fn tools_of_codex() {
    let patch = format!(r#"{{"tool_name":"apply_patch","tool_input":{{"command":"{PATCH}"}}}}"#);
    check_edits(codex::ID, "PreToolUse", &patch, &["a.rs", "b.rs"]);
    let patch =
        format!(r#"{{"tool_name":"apply_patch","tool_input":{{"command":["apply_patch","{PATCH}"]}}}}"#);
    check_edits(codex::ID, "PreToolUse", &patch, &["a.rs", "b.rs"]);
    let shell = |command: &str, expected| {
        let input = format!(r#"{{"tool_name":"Bash","tool_input":{{"command":{command}}}}}"#);
        check_command(codex::ID, "PreToolUse", &input, expected);
    };
    shell(r#""ls a b""#, Some("ls a b"));
    shell(r#"["bash","-lc","ls 'a b'"]"#, Some("ls 'a b'"));
    shell(r#"["ls","a b"]"#, Some("ls 'a b'"));
    shell("{}", None);
    let subagent = event(codex::ID, "PreToolUse", r#"{"agent_id":"a","model":"gpt-5.5"}"#);
    assert!(subagent.in_subagent);
    assert_eq!(subagent.model.as_deref(), Some("gpt-5.5"));
}

#[test]
fn tools_of_gemini() {
    check_edits(gemini::ID, "BeforeTool", r#"{"tool_name":"read_file","tool_input":{"file_path":"a"}}"#, &[]);
    let cwd = |input: &str| {
        let input = format!(r#"{{"cwd":"/p","tool_name":"run_shell_command","tool_input":{input}}}"#);
        check_command(gemini::ID, "BeforeTool", &input, Some("ls"));
        event(gemini::ID, "BeforeTool", &input).cwd.unwrap()
    };
    assert_eq!(cwd(r#"{"command":"ls"}"#), "/p");
    assert_eq!(cwd(r#"{"command":"ls","directory":"a b"}"#), "/p/a b");
    assert_eq!(cwd(r#"{"command":"ls","dir_path":"/q"}"#), "/q");
    assert_eq!(cwd(r#"{"command":"ls","dir_path":7}"#), "/p");
}

#[test]
fn tools_of_opencode() {
    let before = |tool: &str, args: &str| {
        format!(r#"{{"cwd":"/p","input":{{"tool":"{tool}","sessionID":"s"}},"output":{{"args":{args}}}}}"#)
    };
    check_edits(opencode::ID, "tool.execute.before", &before("multiedit", r#"{"filePath":"a"}"#), &["a"]);
    check_edits(opencode::ID, "tool.execute.before", &before("read", r#"{"filePath":"a"}"#), &[]);
    let patch = before("patch", &format!(r#"{{"patchText":"{PATCH}"}}"#));
    check_edits(opencode::ID, "tool.execute.before", &patch, &["a.rs", "b.rs"]);
    let bash = before("bash", r#"{"command":"ls","workdir":"sub"}"#);
    check_command(opencode::ID, "tool.execute.before", &bash, Some("ls"));
    assert_eq!(event(opencode::ID, "tool.execute.before", &bash).cwd.as_deref(), Some("/p/sub"));
    // After the tool the arguments are in another field.
    assert!(
        tool(opencode::ID, "tool.execute.after", &before("edit", r#"{"filePath":"a"}"#)).edits.is_empty()
    );
}

#[test]
fn subagents_of_opencode() {
    let created = event(
        opencode::ID,
        "session.created",
        r#"{"type":"session.created","properties":{"info":{"id":"s","parentID":"p","directory":"/d"}}}"#,
    );
    assert_eq!(created.session.unwrap().as_str(), "s");
    assert_eq!(created.parent.unwrap().as_str(), "p");
    assert!(created.in_subagent);
    assert_eq!(created.cwd.as_deref(), Some("/d"));
    let told = event(opencode::ID, "chat.message", r#"{"parentSessionID":"p","cwd":"/c","model":"m"}"#);
    assert_eq!((told.in_subagent, told.cwd.as_deref(), told.model.as_deref()), (true, Some("/c"), Some("m")));
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
fn tools_of_pi() {
    let call = |tool: &str| {
        format!(
            r#"{{"event":{{"toolName":"{tool}","input":{{"path":"a"}}}},"ctx":{{"sessionId":"s","cwd":"/p"}}}}"#
        )
    };
    check_edits(pi::ID, "tool_call", &call("write"), &["a"]);
    check_edits(pi::ID, "tool_call", &call("read"), &[]);
    assert_eq!(event(pi::ID, "input", &call("write")).moment, HookMoment::Other);
    assert_eq!(event(pi::ID, "agent_end", &call("write")).moment, HookMoment::Other);
}

#[test]
fn tools_of_copilot() {
    let edits = |tool: &str, args: &str, expected: &[&str]| {
        let camel = format!(r#"{{"toolName":"{tool}","toolArgs":{args}}}"#);
        check_edits(copilot::ID, "preToolUse", &camel, expected);
        let pascal = format!(r#"{{"tool_name":"{tool}","tool_input":{args}}}"#);
        check_edits(copilot::ID, "PreToolUse", &pascal, expected);
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
        check_command(copilot::ID, "preToolUse", &input, Some("ls"));
    }
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
