//! What the adapter of Claude Code asks for, and what it makes of recorded outputs.

use crate::domain::runs::{Cost, MicroUsd, Usage};
use crate::harness::worker::{
    LoginState, WorkerAccess, WorkerAdapter, WorkerEnd, WorkerEvent, WorkerFailure, WorkerSession,
};
use crate::harness::worker_fixture::{SESSION, doings, home, login, order, replay, session, words};
use crate::sys::environment::Home;

use super::worker::ClaudeWorker;

const VERSION: &str = "claude-2.1.325";

fn read(name: &str) -> (Vec<WorkerEvent>, WorkerEnd) {
    replay(&ClaudeWorker, VERSION, name)
}

fn failure(name: &str) -> WorkerFailure {
    read(name).1.failure.unwrap()
}

#[test]
fn an_edit_is_followed_from_start_to_end() {
    let (events, end) = read("edit");
    assert_eq!(events[0], WorkerEvent::Session(session()));
    assert_eq!(events[1], WorkerEvent::Model("claude-sonnet-4-5".into()));
    assert_eq!(doings(&events), ["reads src/lib.rs", "edits src/lib.rs", "runs echo hi > made"]);
    let usage = Usage {
        input: Some(400),
        output: Some(40),
        cache_read: Some(0),
        cache_write: Some(0),
        turns: Some(4),
    };
    let cost = Cost::Reported(MicroUsd::from_micros(1_800));
    let expected = WorkerEnd { result: Some("Finished.".into()), usage, cost, ..WorkerEnd::default() };
    assert_eq!(end, expected);
    assert_eq!(events.last(), Some(&WorkerEvent::Used(usage, cost)));
}

#[test]
fn a_question_that_nobody_answers_is_a_refusal() {
    let (events, end) = read("denied");
    let words = "runs python3 -c 'open(\"made\",\"w\")'".to_string();
    assert!(events.contains(&WorkerEvent::Denied(words.clone())));
    assert_eq!((end.denied, end.result), (Some(words), Some("I may not.".into())));
    assert_eq!(end.failure, None);
}

#[test]
fn a_refusal_by_a_hook_is_not_for_want_of_an_answer() {
    let (events, end) = read("hook-refused");
    assert!(!events.iter().any(|event| matches!(event, WorkerEvent::Denied(_))));
    assert_eq!(end.denied, None);
}

#[test]
fn failures_have_their_kinds() {
    let (events, end) = read("limited");
    let until = Some("2026-11-17T18:41:39Z".parse().unwrap());
    assert!(events.contains(&WorkerEvent::Limited(until)));
    let text = "You've hit your limit · resets 6:41pm (UTC)".to_string();
    assert_eq!(end.failure, Some(WorkerFailure::Limited { until, text }));
    assert!(matches!(failure("rate-limited"), WorkerFailure::Limited { until: None, .. }));
    assert_eq!(
        failure("not-logged-in"),
        WorkerFailure::NotLoggedIn("Not logged in · Please run /login".into())
    );
    assert_eq!(failure("refused-flag"), WorkerFailure::RefusedFlag("--no-such-flag".into()));
    assert!(matches!(failure("no-answer"), WorkerFailure::NoAnswer(_)));
    assert!(matches!(failure("connection-refused"), WorkerFailure::NoAnswer(_)));
}

/// The numbers of the last line are 0 then.
#[test]
fn a_worker_over_its_budget_still_says_what_it_used() {
    let (_, end) = read("over-budget");
    assert_eq!(end.failure, Some(WorkerFailure::OverBudget("Reached maximum budget ($0.0001)".into())));
    assert_eq!((end.usage.input, end.usage.output), (Some(100), Some(10)));
    assert_eq!(end.cost, Cost::Reported(MicroUsd::from_micros(450)));
}

#[test]
fn a_worker_that_reads_has_no_tool_that_writes() {
    let session = session();
    let call = ClaudeWorker.call(&order("look", &session)).unwrap();
    let start = ["-p", "--output-format", "stream-json", "--verbose", "--tools=Read,Glob,Grep,ToolSearch"];
    assert_eq!(words(&call)[..5], start);
    assert_eq!(
        words(&call)[5..],
        [
            "--permission-mode",
            "dontAsk",
            "--session-id",
            SESSION,
            "--setting-sources=user",
            "--add-dir=/w",
            "--settings",
            "/run/claude-settings.json",
            "--",
            "look"
        ]
    );
    assert_eq!(call.session, Some(session.clone()));

    let log = ["Bash(git log:*)".to_string()];
    let call =
        ClaudeWorker.call(&crate::harness::worker::WorkerOrder { tools: &log, ..order("look", &session) });
    let call = call.unwrap();
    assert_eq!(
        words(&call)[4..6],
        ["--tools=Read,Glob,Grep,ToolSearch,Bash", "--allowedTools=Bash(git log:*)"]
    );

    let shell = ["Bash".to_string()];
    let refused =
        ClaudeWorker.call(&crate::harness::worker::WorkerOrder { tools: &shell, ..order("look", &session) });
    assert!(refused.unwrap_err().to_string().contains("can't have the tool Bash"));
}

#[test]
fn everything_that_is_ordered_is_in_the_command_line() {
    let session = session();
    let args = ["--effort".to_string(), "low".to_string()];
    let mut wanted = order("/help \"me\"\n-x", &session);
    wanted.access = WorkerAccess::Edits;
    wanted.instructions = Some("Be brief.");
    wanted.model = Some("opus");
    wanted.budget = Some(MicroUsd::from_micros(2_500_000));
    wanted.args = &args;
    wanted.session = WorkerSession::Resumed(&session);
    let call = ClaudeWorker.call(&wanted).unwrap();
    assert_eq!(
        words(&call)[4..],
        [
            "--allowedTools=Bash",
            "--permission-mode",
            "acceptEdits",
            "--resume",
            SESSION,
            "--append-system-prompt",
            "Be brief.",
            "--model",
            "opus",
            "--max-budget-usd",
            "2.5",
            "--setting-sources=user",
            "--add-dir=/w",
            "--settings",
            "/run/claude-settings.json",
            "--effort",
            "low",
            "--",
            "Task: /help \"me\"\n-x"
        ]
    );
}

#[test]
fn it_gets_the_hooks_that_install_writes_and_one_that_asks() {
    let session = session();
    let call = ClaudeWorker.call(&order("look", &session)).unwrap();
    let settings: serde_json::Value = serde_json::from_str(&call.files[0].1).unwrap();
    let hooks = settings["hooks"].as_object().unwrap();
    assert_eq!(hooks.len(), 9);
    let command = |event: &str| hooks[event][0]["hooks"][0]["command"].as_str().unwrap().to_string();
    assert!(command("PreToolUse").contains("msg hook claude PreToolUse"));
    assert!(command("PermissionRequest").contains("msg hook claude PermissionRequest"));
    assert!(hooks.values().all(|groups| groups.as_array().unwrap().len() == 1), "no waiter: {hooks:?}");
    let has = |list: &str, rule: &str| {
        settings["permissions"][list].as_array().unwrap().iter().any(|item| item == rule)
    };
    assert!(has("allow", "Bash(msg send:*)") && has("ask", "Bash(msg run:*)"));
    assert!(!has("allow", "Bash(msg:*)") && !has("allow", "Bash(msg run:*)"));
}

#[test]
fn a_login_is_seen_in_variables_and_files() {
    let none = if cfg!(target_os = "macos") { LoginState::Unknown } else { LoginState::LoggedOut };
    assert_eq!(login(&ClaudeWorker, "", &[]), none);
    assert_eq!(login(&ClaudeWorker, "ANTHROPIC_API_KEY", &[]), LoginState::LoggedIn);
    assert_eq!(login(&ClaudeWorker, "CLAUDE_CODE_USE_BEDROCK", &[]), LoginState::Unknown);
    let helper = (".claude/settings.json", r#"{"apiKeyHelper":"x"}"#);
    assert_eq!(login(&ClaudeWorker, "", &[helper]), LoginState::Unknown);
    let account = (".claude/.credentials.json", r#"{"claudeAiOauth":{"accessToken":"x"}}"#);
    assert_eq!(login(&ClaudeWorker, "", &[account]), LoginState::LoggedIn);
}

#[test]
fn settings_of_a_project_count_only_if_the_person_trusts_it() {
    let session = session();
    let (_none, nothing) = home(&[]);
    let trusted = r#"{"projects":{"/w":{"hasTrustDialogAccepted":true},"/x":{}}}"#;
    let (_dir, trusting) = home(&[(".claude.json", trusted)]);
    let is_limited = |home: &Home, project: &str| {
        let mut wanted = order("look", &session);
        (wanted.home, wanted.project) = (home, std::path::Path::new(project));
        let call = ClaudeWorker.call(&wanted).unwrap();
        words(&call).contains(&"--setting-sources=user")
    };
    assert!(is_limited(&nothing, "/w"));
    let folders = ["/w", "/w/below", "/wider", "/x"];
    assert_eq!(folders.map(|folder| is_limited(&trusting, folder)), [false, false, true, true]);
}

#[test]
fn at_a_terminal_the_task_is_typed_and_nothing_of_a_call_without_one_is_left() {
    let session = session();
    let mut wanted = order("go on", &session);
    wanted.access = WorkerAccess::Edits;
    wanted.instructions = Some("Be brief.");
    wanted.model = Some("opus");
    let call = ClaudeWorker.call_at_terminal(&wanted).unwrap();
    assert_eq!(
        words(&call),
        [
            "--allowedTools=Bash",
            "--permission-mode",
            "acceptEdits",
            "--session-id",
            SESSION,
            "--append-system-prompt",
            "Be brief.",
            "--model",
            "opus",
            "--settings",
            "/run/claude-settings.json"
        ]
    );
    assert_eq!(call.prompt, "go on");
    assert_eq!(call.dialogs, ["whether the files in this folder are trusted"]);
    let call = ClaudeWorker.call_at_terminal(&order("/exit", &session)).unwrap();
    assert_eq!(call.prompt, "Task: /exit");
}
