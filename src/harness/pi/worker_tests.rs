//! What the adapter of pi asks for, and what it makes of recorded outputs.

use crate::domain::runs::{Cost, MicroUsd, Usage};
use crate::harness::worker::{
    LoginState, WorkerAccess, WorkerAdapter, WorkerEnd, WorkerEvent, WorkerFailure, WorkerSession,
};
use crate::harness::worker_fixture::{SESSION, doings, login, order, replay, session, words};

use super::worker::PiWorker;

fn read(name: &str) -> (Vec<WorkerEvent>, WorkerEnd) {
    replay(&PiWorker, "pi-0.87.1", name)
}

fn failure(name: &str) -> WorkerFailure {
    read(name).1.failure.unwrap()
}

#[test]
fn an_edit_is_followed_from_start_to_end() {
    let (events, end) = read("edit");
    assert_eq!(events[..2], [WorkerEvent::Session(session()), WorkerEvent::Model("fake-model".into())]);
    assert_eq!(doings(&events), ["edits src/lib.rs", "runs echo hi > made"]);
    let usage = Usage {
        input: Some(300),
        output: Some(30),
        cache_read: Some(0),
        cache_write: Some(0),
        turns: Some(3),
    };
    let cost = Cost::Reported(MicroUsd::from_micros(360));
    assert_eq!(end, WorkerEnd { result: Some("Finished.".into()), usage, cost, ..WorkerEnd::default() });
    assert_eq!(events.last(), Some(&WorkerEvent::Used(usage, cost)));
}

/// It exits with 0 then.
#[test]
fn failures_have_their_kinds() {
    assert!(matches!(failure("rate-limited"), WorkerFailure::Limited { until: None, .. }));
    assert!(read("rate-limited").0.contains(&WorkerEvent::Limited(None)));
    assert!(matches!(failure("no-answer"), WorkerFailure::NoAnswer(_)));
    assert!(matches!(failure("connection-refused"), WorkerFailure::NoAnswer(_)));
    assert!(matches!(failure("unauthorized"), WorkerFailure::NotLoggedIn(_)));
    assert!(matches!(failure("not-logged-in"), WorkerFailure::NotLoggedIn(_)));
    assert_eq!(failure("refused-flag"), WorkerFailure::RefusedFlag("--no-such-flag".into()));
    let (_, end) = read("no-answer");
    assert_eq!((end.usage, end.cost), (Usage::default(), Cost::Unknown));
}

#[test]
fn everything_that_is_ordered_is_in_the_command_line() {
    let session = session();
    let call = PiWorker.call(&order("@file", &session)).unwrap();
    assert_eq!(
        words(&call),
        [
            "--mode",
            "json",
            "-p",
            "--session-id",
            SESSION,
            "--tools",
            "read,grep,find,ls",
            "-e",
            "/run/ravenry-given.ts",
            "--",
            "Task: @file"
        ]
    );
    let mut wanted = order("-x", &session);
    wanted.access = WorkerAccess::Edits;
    wanted.instructions = Some("Be brief.");
    wanted.model = Some("a/b");
    wanted.session = WorkerSession::Resumed(&session);
    let call = PiWorker.call(&wanted).unwrap();
    assert_eq!(
        words(&call)[3..],
        [
            "--session",
            SESSION,
            "--append-system-prompt",
            "Be brief.\n",
            "--model",
            "a/b",
            "-e",
            "/run/ravenry-given.ts",
            "--",
            "-x"
        ]
    );
    let tools = ["bash".to_string()];
    let mut reading = order("look", &session);
    reading.tools = &tools;
    assert!(PiWorker.call(&reading).is_err());
}

#[test]
fn the_extension_that_is_given_knows_it() {
    let session = session();
    let call = PiWorker.call(&order("look", &session)).unwrap();
    let (path, text) = &call.files[0];
    assert!(path.ends_with("ravenry-given.ts") && text.contains("endsWith(\"/ravenry-given.ts\")"));
    assert!(text.contains("const IS_GIVEN = true") && text.contains("const MSG = \"msg\""));
    assert!(super::install::EXTENSION.contains("const IS_GIVEN = false"));
}

#[test]
fn a_login_is_seen_in_variables_and_files() {
    assert_eq!(login(&PiWorker, "", &[]), LoginState::LoggedOut);
    assert_eq!(login(&PiWorker, "OPENAI_API_KEY", &[]), LoginState::LoggedIn);
    assert_eq!(login(&PiWorker, "", &[(".pi/agent/auth.json", r#"{"anthropic":{}}"#)]), LoginState::LoggedIn);
    assert_eq!(login(&PiWorker, "", &[(".pi/agent/auth.json", "{}")]), LoginState::LoggedOut);
    assert_eq!(login(&PiWorker, "", &[(".pi/agent/models.json", "{}")]), LoginState::Unknown);
}

#[test]
fn at_a_terminal_the_task_is_typed_and_nothing_of_a_call_without_one_is_left() {
    let session = session();
    let mut wanted = order("go on", &session);
    wanted.access = WorkerAccess::Edits;
    wanted.instructions = Some("Be brief.");
    wanted.model = Some("a/b");
    let call = PiWorker.call_at_terminal(&wanted).unwrap();
    assert_eq!(
        words(&call),
        [
            "--session-id",
            SESSION,
            "--append-system-prompt",
            "Be brief.\n",
            "--model",
            "a/b",
            "-e",
            "/run/ravenry-given.ts"
        ]
    );
    assert_eq!(call.prompt, "go on");
}
