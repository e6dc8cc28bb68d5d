//! What the adapter of Copilot CLI asks for, and what it makes of recorded outputs.

use crate::domain::runs::Usage;
use crate::harness::worker::{
    LoginState, WorkerAccess, WorkerAdapter, WorkerEnd, WorkerEvent, WorkerFailure, WorkerSession,
};
use crate::harness::worker_fixture::{SESSION, doings, login, order, replay, session, words};

use super::worker::CopilotWorker;

fn read(name: &str) -> (Vec<WorkerEvent>, WorkerEnd) {
    replay(&CopilotWorker, "copilot-1.0.102", name)
}

fn failure(name: &str) -> WorkerFailure {
    read(name).1.failure.unwrap()
}

#[test]
fn an_edit_is_followed_from_start_to_end() {
    let (events, end) = read("edit");
    assert!(events.contains(&WorkerEvent::Session(session())));
    assert!(events.contains(&WorkerEvent::Model("fake-model".into())));
    assert_eq!(doings(&events), ["edits src/lib.rs", "runs echo hi > made"]);
    let usage = Usage {
        input: Some(300),
        output: Some(30),
        cache_read: Some(0),
        cache_write: Some(0),
        turns: Some(3),
    };
    assert_eq!(end, WorkerEnd { result: Some("Finished.".into()), usage, ..WorkerEnd::default() });
}

#[test]
fn a_question_that_nobody_answers_is_a_refusal_and_a_hook_is_not() {
    assert_eq!(read("denied").1.denied.as_deref(), Some("runs echo hi > made"));
    assert_eq!(read("hook-refused").1.denied, None);
    assert_eq!(read("reads").1.denied, None);
}

#[test]
fn failures_have_their_kinds() {
    assert!(matches!(failure("no-answer"), WorkerFailure::NoAnswer(_)));
    assert!(matches!(failure("unauthorized"), WorkerFailure::NotLoggedIn(_)));
    assert!(matches!(failure("rate-limited"), WorkerFailure::Limited { .. }));
    assert!(read("rate-limited").0.contains(&WorkerEvent::Limited(None)));
    assert!(matches!(failure("not-logged-in"), WorkerFailure::NotLoggedIn(_)));
    assert!(matches!(failure("refused-flag"), WorkerFailure::RefusedFlag(_)));
}

#[test]
fn everything_that_is_ordered_is_in_the_command_line() {
    let session = session();
    let call = CopilotWorker.call(&order("-x", &session)).unwrap();
    let start = [
        "--output-format",
        "json",
        "--no-color",
        "--no-ask-user",
        "--usage-output-file",
        "/run/copilot-usage.json",
    ];
    assert_eq!(words(&call)[..6], start);
    let chosen = format!("--session-id={SESSION}");
    assert_eq!(
        words(&call)[6..],
        [
            "--available-tools=view,grep,glob",
            "--deny-tool=write",
            "--deny-tool=shell",
            &chosen,
            "--prompt=-x"
        ]
    );
    let mut wanted = order("go on", &session);
    wanted.access = WorkerAccess::Edits;
    wanted.instructions = Some("Be brief.");
    wanted.model = Some("gpt-5.4");
    let call = CopilotWorker.call(&wanted).unwrap();
    assert_eq!(words(&call).last(), Some(&"--prompt=Be brief.\n\nTask: go on"));
    // A session that is continued has its instructions.
    wanted.session = WorkerSession::Resumed(&session);
    let call = CopilotWorker.call(&wanted).unwrap();
    let resumed = format!("--resume={SESSION}");
    assert_eq!(
        words(&call)[6..],
        ["--allow-tool=write", "--allow-tool=shell", &resumed, "--model", "gpt-5.4", "--prompt=go on"]
    );
}

#[test]
fn a_login_is_seen_in_variables_and_files() {
    assert_eq!(login(&CopilotWorker, "", &[]), LoginState::LoggedOut);
    assert_eq!(login(&CopilotWorker, "GH_TOKEN", &[]), LoginState::LoggedIn);
    assert_eq!(login(&CopilotWorker, "COPILOT_PROVIDER_BASE_URL", &[]), LoginState::Unknown);
    assert_eq!(
        login(&CopilotWorker, "", &[(".copilot/config.json", r#"{"loggedInUsers":[]}"#)]),
        LoginState::LoggedIn
    );
    assert_eq!(
        login(&CopilotWorker, "", &[(".config/gh/hosts.yml", "github.com:\n    user: x\n")]),
        LoginState::Unknown
    );
}

#[test]
fn at_a_terminal_the_task_is_typed_and_nothing_of_a_call_without_one_is_left() {
    let session = session();
    let mut wanted = order("go on", &session);
    wanted.access = WorkerAccess::Edits;
    wanted.instructions = Some("Be brief.");
    wanted.model = Some("gpt-5.4");
    let call = CopilotWorker.call_at_terminal(&wanted).unwrap();
    let chosen = format!("--session-id={SESSION}");
    assert_eq!(words(&call), ["--allow-tool=write", "--allow-tool=shell", &chosen, "--model", "gpt-5.4"]);
    assert_eq!(call.prompt, "Be brief.\n\nTask: go on");
}
