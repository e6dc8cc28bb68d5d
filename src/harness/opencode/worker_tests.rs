//! What the adapter of OpenCode asks for, and what it makes of recorded outputs.

use crate::domain::runs::{Cost, MicroUsd, Usage};
use crate::harness::worker::{
    LoginState, WorkerAccess, WorkerAdapter, WorkerEnd, WorkerEvent, WorkerFailure, WorkerSession,
};
use crate::harness::worker_fixture::{SESSION, doings, login, order, replay, session, words};

use super::worker::OpenCodeWorker;

fn read(name: &str) -> (Vec<WorkerEvent>, WorkerEnd) {
    replay(&OpenCodeWorker, "opencode-1.18.33", name)
}

fn failure(name: &str) -> WorkerFailure {
    read(name).1.failure.unwrap()
}

#[test]
fn an_edit_is_followed_from_start_to_end() {
    let (events, end) = read("edit");
    assert!(matches!(&events[0], WorkerEvent::Session(id) if id.as_str().starts_with("ses_")));
    assert_eq!(doings(&events), ["reads src/lib.rs", "edits src/lib.rs", "runs echo hi > made"]);
    let usage = Usage {
        input: Some(400),
        output: Some(40),
        cache_read: Some(0),
        cache_write: Some(0),
        turns: Some(4),
    };
    let cost = Cost::Reported(MicroUsd::from_micros(480));
    assert_eq!(end, WorkerEnd { result: Some("Finished.".into()), usage, cost, ..WorkerEnd::default() });
}

#[test]
fn a_rule_that_forbids_a_call_is_a_refusal() {
    let (events, end) = read("denied");
    assert!(events.contains(&WorkerEvent::Denied("edits /outside.txt".into())));
    assert_eq!(end.denied.as_deref(), Some("edits /outside.txt"));
}

#[test]
fn failures_have_their_kinds() {
    assert!(matches!(failure("unauthorized"), WorkerFailure::NotLoggedIn(_)));
    assert!(matches!(failure("refused-flag"), WorkerFailure::RefusedFlag(_)));
    assert!(matches!(failure("unknown-model"), WorkerFailure::Other(_)));
}

#[test]
fn everything_that_is_ordered_is_in_the_command_line() {
    let session = session();
    let call = OpenCodeWorker.call(&order("do  1 \"it\"\n-x", &session)).unwrap();
    assert_eq!(words(&call), ["run", "--format", "json", "--agent", "ravenry-reads"]);
    let task = call.files.iter().find(|(path, _)| Some(path) == call.input.as_ref());
    assert_eq!(task.map(|(_, text)| text.as_str()), Some("do  1 \"it\"\n-x"), "on its standard input");
    assert_eq!(call.session, None);
    let config: serde_json::Value = serde_json::from_str(call.env[0].1.to_str().unwrap()).unwrap();
    assert_eq!(config["plugin"][0], "file:///run/ravenry-given.js");
    let rules = &config["agent"]["ravenry-reads"]["permission"];
    assert_eq!(
        (&rules["*"], &rules["bash"], &rules["edit"], &rules["read"]),
        (&"deny".into(), &"deny".into(), &"deny".into(), &"allow".into())
    );

    let mut wanted = order("go on", &session);
    wanted.access = WorkerAccess::Edits;
    wanted.instructions = Some("Be brief.");
    wanted.model = Some("a/b");
    wanted.session = WorkerSession::Resumed(&session);
    let call = OpenCodeWorker.call(&wanted).unwrap();
    assert_eq!(words(&call)[3..], ["--auto", "--session", SESSION, "--model", "a/b"]);
    let config: serde_json::Value = serde_json::from_str(call.env[0].1.to_str().unwrap()).unwrap();
    assert_eq!(config["permission"]["external_directory"], "deny");
    assert_eq!(config["instructions"][0], "/run/opencode-instructions.md");
    assert_eq!(call.files[1].1, "Be brief.");
}

/// The order of rules matters to it: the last that fits counts.
#[test]
fn the_rule_for_everything_comes_first() {
    let session = session();
    let call = OpenCodeWorker.call(&order("look", &session)).unwrap();
    let text = call.env[0].1.to_str().unwrap();
    assert!(text.find("\"*\"").unwrap() < text.find("\"bash\"").unwrap());
}

#[test]
fn a_login_is_seen_in_variables_and_files() {
    assert_eq!(login(&OpenCodeWorker, "", &[]), LoginState::Unknown);
    assert_eq!(login(&OpenCodeWorker, "OPENAI_API_KEY", &[]), LoginState::LoggedIn);
    assert_eq!(
        login(&OpenCodeWorker, "", &[(".local/share/opencode/auth.json", r#"{"anthropic":{}}"#)]),
        LoginState::LoggedIn
    );
}

#[test]
fn at_a_terminal_the_task_is_typed_and_nothing_of_a_call_without_one_is_left() {
    let session = session();
    let mut wanted = order("go on", &session);
    wanted.access = WorkerAccess::Edits;
    wanted.instructions = Some("Be brief.");
    wanted.model = Some("a/b");
    let call = OpenCodeWorker.call_at_terminal(&wanted).unwrap();
    assert_eq!(words(&call), ["--auto", "--model", "a/b"]);
    assert_eq!(call.prompt, "go on");
}
