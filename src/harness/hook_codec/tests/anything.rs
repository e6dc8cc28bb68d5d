//! Property tests: no input makes a codec panic, and no value of a wrong type is an error.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::super::decode;
use super::EVENTS;
use crate::harness::supported;

/// Keys that some codec looks at, and some that none does.
const KEYS: [&str; 46] = [
    "session_id",
    "sessionId",
    "sessionID",
    "parentSessionID",
    "agent_id",
    "cwd",
    "model",
    "modelID",
    "prompt",
    "reason",
    "tool_name",
    "toolName",
    "tool",
    "tool_use_id",
    "toolCallId",
    "callID",
    "tool_input",
    "toolArgs",
    "tool_response",
    "bashEditDiff",
    "changedFiles",
    "duration_ms",
    "input",
    "output",
    "args",
    "message",
    "parts",
    "text",
    "synthetic",
    "type",
    "properties",
    "info",
    "id",
    "parentID",
    "directory",
    "event",
    "ctx",
    "file_path",
    "notebook_path",
    "filePath",
    "path",
    "command",
    "workdir",
    "patchText",
    "content",
    "something else",
];

/// Strings that some codec looks at.
const TEXTS: [&str; 12] = [
    "Write",
    "Bash",
    "apply_patch",
    "bash",
    "edit",
    "write_file",
    "run_shell_command",
    "str_replace_editor",
    "session.created",
    "{\"path\":[]}",
    "*** Add File: a",
    "text",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        proptest::sample::select(&TEXTS[..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![vec(inner.clone(), 0..4).prop_map(Value::from), object(inner).prop_map(Value::from)]
    })
}

fn object(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    let keys = proptest::sample::select(&KEYS[..]);
    btree_map(keys, value, 0..12)
        .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_string(), value)).collect())
}

proptest! {
    #[test]
    fn bytes(bytes in vec(any::<u8>(), 0..200)) {
        for harness in supported() {
            for event in EVENTS {
                drop(decode(harness, event, &bytes));
            }
        }
    }

    /// Inputs that are almost JSON.
    #[test]
    fn almost_json(text in r#"[{}\[\]:,"\\a-fu0-9 .eé-]{0,60}"#) {
        for harness in supported() {
            for event in EVENTS {
                drop(decode(harness, event, format!("{{\"prompt\":\"{text}\"}}").as_bytes()));
                drop(decode(harness, event, text.as_bytes()));
            }
        }
    }

    #[test]
    fn objects(object in object(value())) {
        let input = serde_json::to_vec(&object).unwrap();
        for harness in supported() {
            for event in EVENTS {
                let decoded = decode(harness, event, &input);
                prop_assert!(decoded.is_ok(), "{harness} {event}: {decoded:?}");
            }
        }
    }
}
