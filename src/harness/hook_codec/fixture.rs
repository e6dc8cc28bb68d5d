//! What the tests of the codecs share: decoding of captured payloads, and checks of what becomes of an answer.

use serde_json::Value;

use super::tests::EVENTS;
use super::{decode, encode, max_answer_chars};
use crate::domain::Harness;
use crate::domain::hook::{HookAnswer, HookEvent, HookMoment, ToolOutcome, ToolUse};
use crate::harness::parse;

pub(in crate::harness) const PATCH: &str =
    r"*** Begin Patch\r\n*** Update File: a.rs\r\n*** Move to: b.rs\r\n@@\r\n-x\r\n+y\r\n*** End Patch";
pub(in crate::harness) const BLOCK: Option<&str> = Some(r#"{"decision":"block","reason":"\"R\""}"#);
pub(in crate::harness) const DENY: Option<&str> = Some(
    r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"\"R\""}}"#,
);
pub(in crate::harness) const TOP_CONTEXT: Option<&str> = Some(r#"{"additionalContext":"\"R\""}"#);
pub(in crate::harness) const SHIM_DENY: Option<&str> = Some(r#"{"deny":"\"R\""}"#);
pub(in crate::harness) const SHIM_CONTEXT: Option<&str> = Some(r#"{"context":"\"R\""}"#);
pub(in crate::harness) const SHIM_GO_ON: Option<&str> = Some(r#"{"goOn":"\"R\""}"#);
pub(in crate::harness) const GOOD: Option<ToolOutcome> = Some(ToolOutcome::Succeeded);
pub(in crate::harness) const BAD: Option<ToolOutcome> = Some(ToolOutcome::Failed);

#[track_caller]
pub(in crate::harness) fn event(harness: Harness, event: &str, input: &str) -> HookEvent {
    decode(harness, event, input.as_bytes()).unwrap()
}

#[track_caller]
pub(in crate::harness) fn tool(harness: Harness, name: &str, input: &str) -> ToolUse {
    match event(harness, name, input).moment {
        HookMoment::BeforeTool(tool) | HookMoment::AfterTool(tool) | HookMoment::AskingLeave(tool) => tool,
        moment => panic!("{name} is {moment:?}"),
    }
}

#[track_caller]
pub(in crate::harness) fn check_edits(harness: Harness, event: &str, input: &str, expected: &[&str]) {
    let tool = tool(harness, event, input);
    assert_eq!((tool.edits, tool.command), (expected.iter().map(|path| path.to_string()).collect(), None));
}

#[track_caller]
pub(in crate::harness) fn check_command(harness: Harness, event: &str, input: &str, expected: Option<&str>) {
    let tool = tool(harness, event, input);
    assert_eq!((tool.edits, tool.command.as_deref()), (Vec::new(), expected));
}

/// Checks what a denial, a context and a go-on become at an event. Silence is always silence.
#[track_caller]
pub(in crate::harness) fn check_answers(harness: Harness, event: &str, expected: [Option<&str>; 3]) {
    let answers = [
        HookAnswer::Deny("\"R\"".into()),
        HookAnswer::Context("\"R\"".into()),
        HookAnswer::GoOn("\"R\"".into()),
    ];
    let said = answers.map(|answer| encode(harness, event, &answer));
    assert_eq!(said.each_ref().map(Option::as_deref), expected, "{harness} {event}");
    assert_eq!(encode(harness, event, &HookAnswer::Silence), None);
    assert_eq!(max_answer_chars(harness, event).is_some(), expected[1].is_some() || expected[2].is_some());
}

/// Checks that all other events give no answer.
#[track_caller]
pub(in crate::harness) fn check_no_answers(harness: Harness, checked: &[&str]) {
    for event in EVENTS.iter().filter(|event| !checked.contains(event)) {
        check_answers(harness, event, [None, None, None]);
    }
}

pub(in crate::harness) fn nested_context(event: &str) -> String {
    format!(r#"{{"hookSpecificOutput":{{"hookEventName":"{event}","additionalContext":"\"R\""}}}}"#)
}

/// The outcome in the captured payload `name`, after putting these values in these places.
#[track_caller]
pub(in crate::harness) fn outcome(name: &str, changes: &[(&str, Value)]) -> Option<ToolOutcome> {
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
