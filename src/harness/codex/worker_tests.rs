//! What the adapter of Codex asks for, and what it makes of recorded outputs.

use jiff::civil::date;
use jiff::tz::TimeZone;

use crate::domain::runs::Usage;
use crate::harness::worker::{
    LoginState, WorkerAccess, WorkerAdapter, WorkerEnd, WorkerEvent, WorkerFailure, WorkerSession,
};
use crate::harness::worker_fixture::{SESSION, doings, login, order, replay, session, words};

use super::worker::{CodexWorker, until_in};

fn read(name: &str) -> (Vec<WorkerEvent>, WorkerEnd) {
    replay(&CodexWorker, "codex-0.166.0", name)
}

fn failure(name: &str) -> WorkerFailure {
    read(name).1.failure.unwrap()
}

#[test]
fn an_edit_is_followed_from_start_to_end() {
    let (events, end) = read("edit");
    assert!(matches!(&events[0], WorkerEvent::Session(_)));
    assert_eq!(doings(&events), ["edits src/lib.rs", "runs echo hi > made"]);
    let usage =
        Usage { input: Some(300), output: Some(30), cache_read: Some(0), cache_write: Some(0), turns: None };
    assert_eq!(end, WorkerEnd { result: Some("Finished.".into()), usage, ..WorkerEnd::default() });
}

#[test]
fn a_patch_outside_the_sandbox_is_a_refusal() {
    let (_, end) = read("denied");
    let text = "patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings";
    assert_eq!((end.denied.as_deref(), end.failure), (Some(text), None));
    assert_eq!(read("reads").1.denied, None);
}

#[test]
fn failures_have_their_kinds() {
    let (events, end) = read("limited");
    let Some(WorkerFailure::Limited { until: Some(until), .. }) = end.failure else { panic!("{end:?}") };
    assert!(events.contains(&WorkerEvent::Limited(Some(until))));
    assert!(matches!(failure("rate-limited"), WorkerFailure::Limited { until: None, .. }));
    assert!(matches!(failure("no-answer"), WorkerFailure::NoAnswer(_)));
    assert!(matches!(failure("overloaded"), WorkerFailure::NoAnswer(_)));
    assert!(matches!(failure("unauthorized"), WorkerFailure::NotLoggedIn(_)));
    assert!(matches!(failure("not-logged-in"), WorkerFailure::NotLoggedIn(_)));
    assert_eq!(failure("refused-flag"), WorkerFailure::RefusedFlag("--no-such-flag".into()));
}

#[test]
fn the_time_of_a_limit_is_local() {
    let expected = date(2026, 11, 18).at(20, 20, 0, 0).to_zoned(TimeZone::system()).unwrap().timestamp();
    assert_eq!(until_in("purchase more credits or try again at Nov 18th, 2026 8:20 PM."), Some(expected));
    assert!(until_in("try again at 8:20 AM.").is_some());
    assert_eq!(until_in("try again at noon"), None);
}

#[test]
fn everything_that_is_ordered_is_in_the_command_line() {
    let session = session();
    let call = CodexWorker.call(&order("-x \"it\"", &session)).unwrap();
    assert_eq!(
        words(&call),
        [
            "exec",
            "--sandbox",
            "read-only",
            "--cd",
            "/w",
            "--json",
            "--skip-git-repo-check",
            "--",
            "-x \"it\""
        ]
    );
    assert_eq!(call.session, None);

    let mut wanted = order("go on", &session);
    wanted.access = WorkerAccess::Edits;
    wanted.instructions = Some("Be \"brief\".\nPlease.");
    wanted.model = Some("gpt-5.5");
    wanted.session = WorkerSession::Resumed(&session);
    let call = CodexWorker.call(&wanted).unwrap();
    assert_eq!(
        words(&call),
        [
            "exec",
            "--sandbox",
            "workspace-write",
            "--cd",
            "/w",
            "resume",
            "--json",
            "--skip-git-repo-check",
            "--model",
            "gpt-5.5",
            SESSION,
            "--",
            "go on"
        ]
    );
    wanted.session = WorkerSession::New(&session);
    let call = CodexWorker.call(&wanted).unwrap();
    assert_eq!(words(&call)[7..9], ["-c", "developer_instructions=\"Be \\\"brief\\\".\\nPlease.\""]);

    let tools = ["x".to_string()];
    wanted.tools = &tools;
    assert!(CodexWorker.call(&wanted).unwrap_err().to_string().contains("leave out `tools`"));
}

#[test]
fn a_login_is_seen_in_variables_and_files() {
    assert_eq!(login(&CodexWorker, "", &[]), LoginState::LoggedOut);
    assert_eq!(login(&CodexWorker, "CODEX_API_KEY", &[]), LoginState::LoggedIn);
    assert_eq!(
        login(&CodexWorker, "", &[(".codex/auth.json", r#"{"tokens":{"access_token":"x"}}"#)]),
        LoginState::LoggedIn
    );
    assert_eq!(
        login(&CodexWorker, "", &[(".codex/auth.json", r#"{"OPENAI_API_KEY":null}"#)]),
        LoginState::LoggedOut
    );
    assert_eq!(
        login(&CodexWorker, "", &[(".codex/config.toml", "model_provider = \"x\"")]),
        LoginState::Unknown
    );
}

#[test]
fn at_a_terminal_the_task_is_typed_and_nothing_of_a_call_without_one_is_left() {
    let session = session();
    let mut wanted = order("go on", &session);
    wanted.access = WorkerAccess::Edits;
    wanted.instructions = Some("Be brief.");
    wanted.model = Some("gpt-5.5");
    let call = CodexWorker.call_at_terminal(&wanted).unwrap();
    assert_eq!(
        words(&call),
        [
            "--sandbox",
            "workspace-write",
            "--ask-for-approval",
            "on-request",
            "--cd",
            "/w",
            "-c",
            "developer_instructions=\"Be brief.\"",
            "--model",
            "gpt-5.5"
        ]
    );
    assert_eq!(call.prompt, "go on");
    wanted.session = WorkerSession::Resumed(&session);
    let call = CodexWorker.call_at_terminal(&wanted).unwrap();
    let words = words(&call);
    assert_eq!((words[0], words.last()), ("resume", Some(&SESSION)));
    assert!(!words.contains(&"-c"), "a resumed session keeps its instructions");
}
