//! What `msg` knows about one harness is in that harness's folder: no other file of `src` names it.

use std::fs;
use std::path::Path;

use ravenry::harness;

use super::graph::rust_files;

/// Files that may name a harness, and why.
const ALLOWED: [(&str, &str); 12] = [
    ("domain/process_traits.rs", "pi-messenger's agents don't say that they run in pi"),
    ("sys/process/mod.rs", "a test of that"),
    ("store/setup/config_files.rs", "pi-messenger's settings are in pi's directory"),
    ("store/location.rs", "pi-messenger's mesh is in pi's directory"),
    ("store/feed/project_feed.rs", "pi-messenger's feed is in pi's directory"),
    ("ops/error.rs", "what only pi-messenger can change is changed in pi"),
    ("ops/selftest/hooks.rs", "plays a session of a harness"),
    ("faces/cli/commands/demo.rs", "plays sessions of two harnesses"),
    ("faces/cli/commands/demo/kept_project.rs", "plays sessions of two harnesses"),
    ("faces/cli/commands/demo/machines/story.rs", "plays sessions of two harnesses"),
    ("faces/cli/export_page/tests.rs", "a made-up list of agents"),
    ("faces/tui/tests/mod.rs", "a made-up list of agents"),
];

/// The harness that a line names, if any. A short name counts only as a word of its own in lower case: `pi` is also a
/// part of other words, and `PI` is what tests call payloads of pi-messenger.
fn named(line: &str, names: &[&'static str]) -> Option<&'static str> {
    // pi-messenger is a program of its own, and a peer.
    let line = line.replace("pi-messenger", "").replace("perl -pi", "perl");
    let lower = line.to_lowercase();
    let is_word = |text: &str| text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let is_alone = |at: usize, name: &str| {
        let before = line[..at].chars().next_back().map(String::from).unwrap_or_default();
        !is_word(&before) && !is_word(&line[at + name.len()..])
    };
    let is_named = |name: &&&'static str| match name.len() > 3 {
        true => lower.contains(**name),
        false => line.match_indices(**name).any(|(at, _)| is_alone(at, name)),
    };
    names.iter().find(is_named).copied()
}

/// The first line of each file that names a harness.
fn files_with_names() -> Vec<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let names: Vec<&str> = harness::supported().map(|harness| harness.name()).collect();
    let mut found = Vec::new();
    for path in rust_files(&src).into_iter().filter(|path| !path.starts_with(src.join("harness"))) {
        let text = fs::read_to_string(&path).unwrap();
        let line = text.lines().enumerate().find(|(_, line)| named(line, &names).is_some());
        let file = path.strip_prefix(&src).unwrap().display().to_string();
        found.extend(line.map(|(number, line)| (file, format!("{}: {}", number + 1, line.trim()))));
    }
    found
}

#[test]
fn no_file_outside_of_its_folder_names_a_harness() {
    let found = files_with_names();
    let is_allowed = |file: &str| ALLOWED.iter().any(|(allowed, _)| *allowed == file);
    let faults: Vec<_> = found.iter().filter(|(file, _)| !is_allowed(file)).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    for (allowed, reason) in ALLOWED {
        assert!(found.iter().any(|(file, _)| file == allowed), "{allowed} names none any more: {reason}");
    }
}

/// The test above would find these.
#[test]
fn every_way_to_name_a_harness_is_seen() {
    let names: Vec<&str> = harness::supported().map(|harness| harness.name()).collect();
    for line in [
        "if harness == harness::CLAUDE {",
        "struct ClaudePayload;",
        "/// Codex runs it.",
        "let home = variable(\"GEMINI_CLI_HOME\");",
        "mod opencode_permission;",
        "    agent.harness.map_or(\"pi\", Harness::name)",
        "  msg hook copilot preToolUse",
        "installing pi later",
    ] {
        assert!(named(line, &names).is_some(), "{line}");
    }
    for line in [
        "// pi-messenger takes no lock.",
        "const PI: &str = \"\";",
        "(\"perl -pi -e s/a/b/ f\", \"f\")",
        "let pid = pipe();",
        "a harness",
    ] {
        assert_eq!(named(line, &names), None, "{line}");
    }
}
