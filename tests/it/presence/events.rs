//! Tests of what hooks write to the feed: collected edits, commits that were made, and tests with their result where
//! it is known.

use std::fs;
use std::process::{Command, Stdio};

use ravenry::sys::test_switches;
use serde_json::{Value, json};

use super::{agent, told};
use crate::support::environment::{TestEnvironment, end, put};
use crate::support::hook_call::{Call, session_of};
use crate::support::hook_fixture::ended;

fn alice() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.join("Alice");
    env
}

fn edit(env: &TestEnvironment, file: &str) -> Call {
    Call::new(env, "claude/PostToolUse-Edit", &session_of("Alice"))
        .with("/tool_input/file_path", json!(env.work().join(file)))
}

/// A time that many seconds after noon.
fn noon(seconds: &str) -> String {
    format!("2026-11-15T12:00:{seconds}Z")
}

#[test]
fn edits_of_one_path_within_five_seconds_are_one_event() {
    let env = alice();
    let edit_at = |file: &str, seconds: &str| {
        end(edit(&env, file).command(&env).env(test_switches::NOW, noon(seconds))).expect_code(0);
    };
    for seconds in ["00", "01.5", "04.9"] {
        edit_at("src/a.rs", seconds);
    }
    assert_eq!(told(&env, "edit"), ["Alice src/a.rs -"]);
    edit_at("src/b.rs", "04.9");
    edit_at("src/a.rs", "05");
    edit_at("src/b.rs", "06");
    assert_eq!(told(&env, "edit"), ["Alice src/a.rs -", "Alice src/b.rs -", "Alice src/a.rs -"]);
    assert_eq!(agent(&env, "Alice")["toolCalls"], 6);
}

#[test]
fn of_many_edits_at_once_one_is_told() {
    let env = alice();
    let children: Vec<_> = (0..16)
        .map(|number| {
            let mut command = edit(&env, &format!("src/f{}.rs", number % 2)).command(&env);
            command
                .env(test_switches::NOW, noon("00"))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    children.into_iter().for_each(|child| drop(ended(child).expect_code(0)));
    let mut edits = told(&env, "edit");
    edits.sort();
    assert_eq!(edits, ["Alice src/f0.rs -", "Alice src/f1.rs -"]);
}

#[test]
fn an_edit_that_failed_is_none_and_what_a_command_changed_is_one() {
    let env = alice();
    let failed = Call::new(&env, "claude/PostToolUseFailure-Bash", &session_of("Alice"))
        .with("/tool_name", "Edit")
        .with("/tool_input", json!({ "file_path": env.work().join("src/a.rs") }));
    failed.answer(&env);
    assert_eq!(told(&env, "edit"), [""; 0]);
    let changed = Call::new(&env, "claude/PostToolUse-Bash", &session_of("Alice"))
        .with("/tool_response/bashEditDiff/changedFiles", json!([env.work().join("out.txt")]));
    changed.answer(&env);
    assert_eq!(told(&env, "edit"), ["Alice out.txt -"]);
    assert_eq!(agent(&env, "Alice")["filesModified"], json!(["out.txt"]));
}

/// One captured edit of each harness.
#[test]
fn every_harness_tells_of_its_edits() {
    for (fixture, shown) in [
        ("claude/PostToolUse-Write", "src/new.rs"),
        ("claude/PostToolUse-NotebookEdit", "n.ipynb"),
        ("codex/PostToolUse-apply_patch", "src/other.rs"),
        ("codex/codemode/PostToolUse-apply_patch", "src/other.rs"),
        ("copilot/postToolUse-create", "src/new.rs"),
        ("copilot-pascal/PostToolUse-Write", "src/new.rs"),
        ("gemini/AfterTool-write_file", "src/new.rs"),
        ("opencode/tool.execute.after-apply_patch", "src/other.rs"),
        ("opencode/tool.execute.after-write", "src/new.rs"),
        ("pi/tool_result-edit", "notes.txt"),
        ("pi/tool_result-write", "src/new.rs"),
    ] {
        let env = alice();
        let call = Call::new(&env, fixture, &session_of("Alice"));
        // Absolute paths are in the folder of the captured session.
        let moved = call.input().replace("/home/dev/project", env.work().to_str().unwrap());
        let mut command = call.command(&env);
        let input = env.path().join("moved");
        fs::write(&input, moved).unwrap();
        end(command.stdin(fs::File::open(&input).unwrap())).expect_code(0);
        assert_eq!(told(&env, "edit"), [format!("Alice {shown} -")], "{fixture}");
    }
}

/// A JSON pointer into a payload, and the value there if the command failed.
type Failure = (&'static str, &'static str);

/// The captured shell calls, the position of the command in each, and how each reports a failure.
const SHELLS: [(&str, &str, Option<Failure>); 7] = [
    ("claude/PostToolUse-Bash", "/tool_input/command", None),
    ("codex/PostToolUse-Bash", "/tool_input/command", None),
    (
        "copilot/postToolUse-bash",
        "/toolArgs/command",
        Some(("/toolResult/textResultForLlm", "no\n<shellId: 0 completed with exit code 101>")),
    ),
    (
        "copilot-pascal/PostToolUse-Bash",
        "/tool_input/command",
        Some(("/tool_result/text_result_for_llm", "no\n<shellId: 0 completed with exit code 101>")),
    ),
    (
        "gemini/AfterTool-run_shell_command",
        "/tool_input/command",
        Some(("/tool_response/llmContent", "Output: no\nExit Code: 101\nProcess Group PGID: 7")),
    ),
    ("opencode/tool.execute.after-bash", "/input/args/command", Some(("/output/metadata/exit", "101"))),
    ("pi/tool_result-bash", "/event/input/command", None),
];

#[test]
fn every_harness_tells_of_its_tests_as_much_as_it_knows() {
    for (fixture, place, failure) in SHELLS {
        let env = alice();
        let call = |command: &str| Call::new(&env, fixture, &session_of("Alice")).with(place, command);
        call("cargo test --locked").answer(&env);
        let passed = if fixture.starts_with("codex") { "-" } else { "passed" };
        assert_eq!(told(&env, "test"), [format!("Alice cargo test {passed}")], "{fixture}");
        let failed = match (fixture, failure) {
            (_, Some((at, words))) => {
                let value = words.parse::<u64>().map_or_else(|_| Value::from(words), Value::from);
                Some(call("npm test").with(at, value))
            }
            ("claude/PostToolUse-Bash", None) => {
                Some(Call::bash(&env, "PostToolUseFailure", &session_of("Alice"), "npm test"))
            }
            ("pi/tool_result-bash", None) => {
                let content = json!([{ "type": "text", "text": "no\n\nCommand exited with code 1" }]);
                Some(call("npm test").with("/event/isError", true).with("/event/content", content))
            }
            _ => None,
        };
        if let Some(failed) = failed {
            failed.answer(&env);
            assert_eq!(told(&env, "test")[1..], ["Alice npm test failed"], "{fixture}");
            assert_eq!(agent(&env, "Alice")["lastToolCall"], "test: failed");
        }
        call("cargo test | tail").answer(&env);
        assert_eq!(told(&env, "test").last().unwrap(), "Alice cargo test -", "{fixture}");
        call("echo cargo test").answer(&env);
        let runs = told(&env, "test").len();
        assert_eq!(runs, 2 + usize::from(!fixture.starts_with("codex")), "{fixture}");
    }
}

/// Runs a command in the agents' folder, as their shell would.
#[track_caller]
fn shell(env: &TestEnvironment, line: &str) -> bool {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(env.work()).env_clear();
    command.env("HOME", env.home()).env("PATH", std::env::var("PATH").unwrap_or_default());
    for (name, value) in [("NAME", "J"), ("EMAIL", "j@x")] {
        command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    command.output().unwrap().status.success()
}

#[test]
fn every_harness_tells_of_commits_that_were_made() {
    for (fixture, place, _) in SHELLS {
        let env = alice();
        assert!(shell(&env, "git init -q"));
        put(&env.work().join("a"), "a");
        let call = |command: &str| {
            let ran = shell(&env, command);
            let call = Call::new(&env, fixture, &session_of("Alice")).with(place, command);
            call.answer(&env);
            ran
        };
        assert!(call("git add a && git commit -m 'fix: login'"));
        assert_eq!(told(&env, "commit"), ["Alice - fix: login"], "{fixture}");
        assert_eq!(agent(&env, "Alice")["lastToolCall"], "commit: fix: login");
        assert_eq!(agent(&env, "Alice")["activity"], "committing");
        assert!(!call("git commit -m 'fix: login'"), "there is nothing to commit");
        assert_eq!(told(&env, "commit").len(), 1, "{fixture}");
        put(&env.work().join("message"), "the second\n\nand why\n");
        assert!(call("echo b > a; git commit -qaF message; true"));
        assert_eq!(told(&env, "commit")[1..], ["Alice - the second"], "{fixture}");
        call("git commit -m 'another'; true");
        assert_eq!(told(&env, "commit").len(), 2, "that one failed: {fixture}");
    }
}

#[test]
fn without_a_log_of_git_the_outcome_decides() {
    let env = alice();
    put(&env.work().join(".git/HEAD"), "ref: refs/heads/main\n");
    let command = "git commit -m 'fix: login'";
    Call::bash(&env, "PostToolUseFailure", &session_of("Alice"), command).answer(&env);
    assert_eq!(told(&env, "commit"), [""; 0]);
    Call::new(&env, "codex/PostToolUse-Bash", &session_of("Alice"))
        .with("/tool_input/command", command)
        .answer(&env);
    assert_eq!(told(&env, "commit"), [""; 0], "nobody knows how that ended");
    Call::bash(&env, "PostToolUse", &session_of("Alice"), command).answer(&env);
    assert_eq!(told(&env, "commit"), ["Alice - fix: login"]);
}
