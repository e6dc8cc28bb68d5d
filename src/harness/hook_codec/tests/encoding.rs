//! Tests of encoding that concern several harnesses.

use super::super::fixture::check_no_answers;
use super::super::{encode, max_answer_chars};
use super::EVENTS;
use crate::domain::Harness;
use crate::domain::hook::HookAnswer;
use crate::harness::{claude, codex, copilot, qwen, supported};

#[test]
fn some_ask_whether_their_user_must_be_asked() {
    const NESTED: &str =
        r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}"#;
    for harness in supported() {
        for event in EVENTS {
            let expected = match (harness, event) {
                (copilot::ID, "permissionRequest") => Some(r#"{"behavior":"allow"}"#),
                (claude::ID | qwen::ID, "PermissionRequest") => Some(NESTED),
                _ => None,
            };
            assert_eq!(encode(harness, event, &HookAnswer::Allow).as_deref(), expected, "{harness} {event}");
        }
    }
}

#[test]
fn what_has_no_hooks_is_told_nothing() {
    check_no_answers(Harness::TERMINAL, &[]);
    check_no_answers(Harness::OTHER, &[]);
}

#[test]
fn how_much_there_is_room_for() {
    for harness in supported() {
        let expected = match harness {
            claude::ID => 9_000,
            codex::ID => 6_000,
            _ => 8_000,
        };
        let rooms: Vec<usize> = EVENTS.iter().filter_map(|event| max_answer_chars(harness, event)).collect();
        assert!(rooms.len() >= 2 && rooms.iter().all(|room| *room == expected), "{harness}: {rooms:?}");
    }
}
