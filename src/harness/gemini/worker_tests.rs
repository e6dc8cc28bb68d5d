//! What the adapter of Gemini CLI asks for, and what it makes of recorded outputs.

use crate::domain::runs::Usage;
use crate::harness::worker::{
    LoginState, WorkerAccess, WorkerAdapter, WorkerEnd, WorkerEvent, WorkerFailure, WorkerSession,
};
use crate::harness::worker_fixture::{SESSION, doings, login, order, replay, session, words};

use super::worker::GeminiWorker;

fn read(name: &str) -> (Vec<WorkerEvent>, WorkerEnd) {
    replay(&GeminiWorker, "gemini-0.61.0", name)
}

fn failure(name: &str) -> WorkerFailure {
    read(name).1.failure.unwrap()
}

#[test]
fn an_edit_is_followed_from_start_to_end() {
    let (events, end) = read("edit");
    assert_eq!(events[..2], [WorkerEvent::Session(session()), WorkerEvent::Model("gemini-2.5-pro".into())]);
    assert_eq!(doings(&events), ["edits src/lib.rs", "runs echo hi > made"]);
    let usage = Usage { input: Some(300), output: Some(30), cache_read: Some(0), ..Usage::default() };
    assert_eq!(end, WorkerEnd { result: Some("Finished.".into()), usage, ..WorkerEnd::default() });
}

#[test]
fn what_the_policy_forbids_is_refused_and_what_a_hook_blocks_is_not() {
    assert_eq!(read("denied").1.denied.as_deref(), Some("edits src/lib.rs"));
    let (events, end) = read("reads");
    assert!(events.contains(&WorkerEvent::Denied("edits src/lib.rs".into())));
    assert_eq!(end.denied.as_deref(), Some("runs echo hi > made"));
    assert_eq!(read("hook-refused").1.denied, None);
}

#[test]
fn failures_have_their_kinds() {
    let WorkerFailure::Limited { until: Some(until), text } = failure("limited") else { panic!() };
    assert!(text.contains("quota"));
    assert!(read("limited").0.contains(&WorkerEvent::Limited(Some(until))));
    assert!(matches!(failure("no-answer"), WorkerFailure::NoAnswer(_)));
    assert!(matches!(failure("connection-refused"), WorkerFailure::NoAnswer(_)));
    assert!(matches!(failure("not-logged-in"), WorkerFailure::NotLoggedIn(_)));
    assert!(matches!(failure("refused-flag"), WorkerFailure::RefusedFlag(_)));
}

#[test]
fn everything_that_is_ordered_is_in_the_command_line() {
    let session = session();
    let call = GeminiWorker.call(&order("/help", &session)).unwrap();
    let start = ["-o", "stream-json", "--skip-trust", "--approval-mode"];
    assert_eq!(words(&call)[..4], start);
    let policy = ["--policy", "/run/gemini-policy.toml"];
    assert_eq!(
        words(&call)[4..],
        ["default", policy[0], policy[1], "--session-id", SESSION, "--prompt=Task: /help"]
    );
    assert!(
        call.files[0].1.contains("\"run_shell_command\"") && call.files[0].1.contains("decision = \"deny\"")
    );

    let mut wanted = order("go on", &session);
    wanted.access = WorkerAccess::Edits;
    wanted.instructions = Some("Be brief.");
    wanted.model = Some("gemini-2.5-pro");
    wanted.session = WorkerSession::Resumed(&session);
    let call = GeminiWorker.call(&wanted).unwrap();
    let end = ["--resume", SESSION, "--model", "gemini-2.5-pro", "--prompt=go on"];
    assert_eq!(words(&call)[4..7], ["auto_edit", policy[0], policy[1]]);
    assert_eq!(words(&call)[7..], end);
    assert!(call.files[0].1.contains("decision = \"allow\"\npriority = 1\n"));
}

#[test]
fn a_login_is_seen_in_variables_and_files() {
    assert_eq!(login(&GeminiWorker, "", &[]), LoginState::LoggedOut);
    assert_eq!(login(&GeminiWorker, "GEMINI_API_KEY", &[]), LoginState::LoggedIn);
    assert_eq!(login(&GeminiWorker, "GOOGLE_GENAI_USE_VERTEXAI", &[]), LoginState::Unknown);
    assert_eq!(
        login(&GeminiWorker, "", &[(".gemini/oauth_creds.json", r#"{"access_token":"x"}"#)]),
        LoginState::LoggedIn
    );
    assert_eq!(
        login(
            &GeminiWorker,
            "",
            &[(".gemini/settings.json", r#"{"security":{"auth":{"selectedType":"x"}}}"#)]
        ),
        LoginState::Unknown
    );
}

#[test]
fn at_a_terminal_the_task_is_typed_and_nothing_of_a_call_without_one_is_left() {
    let session = session();
    let mut wanted = order("go on", &session);
    wanted.access = WorkerAccess::Edits;
    wanted.instructions = Some("Be brief.");
    wanted.model = Some("gemini-2.5-pro");
    let call = GeminiWorker.call_at_terminal(&wanted).unwrap();
    assert_eq!(
        words(&call),
        [
            "--approval-mode",
            "auto_edit",
            "--policy",
            "/run/gemini-policy.toml",
            "--session-id",
            SESSION,
            "--model",
            "gemini-2.5-pro"
        ]
    );
    assert_eq!(call.prompt, "Be brief.\n\nTask: go on");
}
