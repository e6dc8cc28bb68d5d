//! Payloads captured from real harnesses, in `fixtures/hooks/`: a directory per harness and format, a file per event.
//! Long texts of the harness itself were removed.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::super::decode;
use crate::domain::Harness;
use crate::domain::hook::{HookEvent, HookMoment, PermissionMode, ToolUse};
use crate::harness::{opencode, parse, supported};

/// A directory has the name of its harness; one with another format of the same harness goes on after a hyphen.
#[test]
fn payloads_of_every_harness() {
    let entries = std::fs::read_dir(fixtures()).unwrap();
    let mut directories: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    directories.sort_unstable();
    for directory in &directories {
        check(directory, parse(directory.split('-').next().unwrap()).unwrap());
    }
    for harness in supported() {
        assert!(directories.iter().any(|directory| directory == harness.name()), "{harness}");
    }
}

/// An OpenCode event decodes the same by its own name as by `event`.
#[test]
fn events_of_opencode_by_their_own_names() {
    for name in ["session.created", "session.idle", "session.status", "file.edited"] {
        let path = fixtures().join(format!("opencode/event-{name}.json"));
        let input = std::fs::read(path).unwrap();
        let event = |event| decode(opencode::ID, event, &input).unwrap();
        assert_eq!(event("event"), event(name));
    }
}

/// Decodes all payloads of a harness and compares them with the snapshot.
#[track_caller]
fn check(directory: &str, harness: Harness) {
    let top = fixtures().join(directory);
    let mut text = String::new();
    for path in files(&top) {
        let name = path.strip_prefix(&top).unwrap().with_extension("");
        let stem = name.file_name().unwrap().to_str().unwrap();
        let event = stem.split('-').next().unwrap();
        let decoded = decode(harness, event, &std::fs::read(&path).unwrap()).unwrap();
        writeln!(text, "{}: {event}\n{}", name.display(), shown(&decoded)).unwrap();
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("hook-{directory}"), text));
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hooks")
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// An event in a few lines, without empty fields.
fn shown(event: &HookEvent) -> String {
    let HookEvent {
        session,
        parent,
        in_subagent,
        subagent: _,
        turn,
        is_silent,
        last_words,
        permissions,
        cwd,
        model,
        tokens,
        moment,
    } = event;
    let mut text = String::new();
    let mut line = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            writeln!(text, "  {key}: {value}").unwrap();
        }
    };
    let (moment, tool) = match moment {
        HookMoment::BeforeTool(tool) => ("BeforeTool".to_string(), Some(tool)),
        HookMoment::AfterTool(tool) => ("AfterTool".to_string(), Some(tool)),
        other => (format!("{other:?}"), None),
    };
    line("moment", Some(moment));
    if let Some(tool_use) = tool {
        let ToolUse { tool, call, edits, reads, command, changed, duration_ms, outcome, .. } = tool_use;
        let ToolUse { output, arguments, is_users_decision, was_interrupted, .. } = tool_use;
        line("tool", Some(tool.clone()));
        line("call", call.clone());
        line("edits", (!edits.is_empty()).then(|| edits.join(" | ")));
        line("reads", (!reads.is_empty()).then(|| reads.join(" | ")));
        line("command", command.clone());
        line("arguments", arguments.clone());
        line("changed", changed.as_ref().map(|changed| changed.join(" | ")));
        line("duration", duration_ms.map(|duration| format!("{duration} ms")));
        line("outcome", outcome.map(|outcome| format!("{outcome:?}")));
        line("output", output.as_ref().map(|output| output.escape_debug().to_string()));
        line("decided", is_users_decision.then(|| "yes".to_string()));
        line("interrupted", was_interrupted.then(|| "yes".to_string()));
    }
    line("session", session.as_ref().map(ToString::to_string));
    line("parent", parent.as_ref().map(ToString::to_string));
    line("turn", turn.clone());
    line("in a subagent", in_subagent.then(|| "yes".to_string()));
    line("silent", is_silent.then(|| "yes".to_string()));
    line("words", last_words.clone());
    line("unasked", (*permissions == PermissionMode::Bypasses).then(|| "yes".to_string()));
    line("cwd", cwd.clone());
    line("model", model.clone());
    line("tokens", (*tokens > 0).then(|| tokens.to_string()));
    text
}
