//! Commands whose writes cannot be predicted: reserved files are compared before and after them.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use ravenry::domain::hook::HookAnswer;
use serde_json::{Value, json};

use crate::support::environment::{TestEnvironment, date, put};
use crate::support::hook_call::{Call, session_of};
use crate::support::running::two;

/// Alice has reserved `src/`, in which there is a file.
fn scene() -> TestEnvironment {
    let env = two();
    put(&env.work().join("src/lib.rs"), "fn main() {}\n");
    put(&env.work().join("src/old.rs"), "old\n");
    put(&env.work().join("free.rs"), "free\n");
    env.ok(&["reserve", "src/", "--as", "Alice"]);
    env
}

fn before(env: &TestEnvironment, command: &str) -> Call {
    Call::bash(env, "PreToolUse", &session_of("Bob"), command)
}

fn after(env: &TestEnvironment, command: &str) -> Call {
    Call::bash(env, "PostToolUse", &session_of("Bob"), command)
}

/// The notes that are kept until a command ends.
fn notes(env: &TestEnvironment) -> Vec<PathBuf> {
    let entries = fs::read_dir(env.mesh().join("hooks")).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "before")).collect()
}

/// The notices that Alice got, in one text.
fn told(env: &TestEnvironment) -> String {
    let messages = env.ok(&["read", "--as", "Alice"])["messages"].as_array().unwrap().clone();
    assert!(messages.iter().all(|message| message["from"] == "ravenry"), "{messages:?}");
    messages.iter().map(|message| message["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n\n")
}

#[track_caller]
fn assert_told(env: &TestEnvironment, text: &str, paths: &[&str], command: &str) {
    let list: Vec<String> = paths.iter().map(|path| format!("`{path}` (reserved by Alice)")).collect();
    let list = format!("changed while your command ran: {}. If that", list.join(", "));
    assert!(text.contains(&list), "{text}");
    let list: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
    let expected = format!(
        "Reserved by you, and changed while a command of Bob ran: {}\nThe command: “{command}”",
        list.join(", ")
    );
    assert_eq!(told(env), expected);
}

#[test]
fn a_change_is_told_to_the_agent_and_to_the_holder() {
    for command in ["make", "./script", "cargo fmt && make -C src"] {
        let env = scene();
        assert_eq!(before(&env, command).answer(&env), HookAnswer::Silence, "{command}: it is let through");
        assert_eq!(notes(&env).len(), 1);
        fs::write(env.work().join("src/lib.rs"), "fn main() { todo!() }\n").unwrap();
        fs::write(env.work().join("free.rs"), "freed\n").unwrap();
        let text = after(&env, command).context(&env);
        assert_told(&env, &text, &["src/lib.rs"], command);
        assert!(notes(&env).is_empty(), "it is used up");
        assert_eq!(after(&env, command).answer(&env), HookAnswer::Silence, "told once");
    }
}

/// The formats of all harnesses; Gemini CLI and Copilot CLI have no ids for their calls.
#[test]
fn in_every_harness() {
    let calls = [
        ("codex/PreToolUse-Bash", "codex/PostToolUse-Bash", "/tool_input/command", "/tool_input/command"),
        (
            "gemini/BeforeTool-run_shell_command",
            "gemini/AfterTool-run_shell_command",
            "/tool_input/command",
            "/tool_input/command",
        ),
        ("copilot/preToolUse-bash", "copilot/postToolUse-bash", "/toolArgs/command", "/toolArgs/command"),
        (
            "opencode/tool.execute.before-bash",
            "opencode/tool.execute.after-bash",
            "/output/args/command",
            "/input/args/command",
        ),
        ("pi/tool_call-bash", "pi/tool_result-bash", "/event/input/command", "/event/input/command"),
    ];
    for (before, after, place, place_after) in calls {
        let env = scene();
        let bobs =
            |fixture: &str, place: &str| Call::new(&env, fixture, &session_of("Bob")).with(place, "make");
        assert_eq!(bobs(before, place).answer(&env), HookAnswer::Silence);
        fs::write(env.work().join("src/lib.rs"), "fn main() { todo!() }\n").unwrap();
        let text = bobs(after, place_after).context(&env);
        assert_told(&env, &text, &["src/lib.rs"], "make");
        assert!(notes(&env).is_empty(), "{before}");
    }
}

#[test]
fn so_is_what_was_made_and_what_is_gone() {
    let env = scene();
    before(&env, "make").answer(&env);
    put(&env.work().join("src/deep/new.rs"), "new\n");
    fs::remove_file(env.work().join("src/old.rs")).unwrap();
    let text = after(&env, "make").context(&env);
    assert_told(&env, &text, &["src/deep/new.rs", "src/old.rs"], "make");
}

#[test]
fn nothing_changed_nothing_is_said() {
    let env = scene();
    before(&env, "make").answer(&env);
    fs::write(env.work().join("free.rs"), "freed\n").unwrap();
    assert_eq!(fs::read_to_string(env.work().join("src/lib.rs")).unwrap(), "fn main() {}\n");
    assert_eq!(after(&env, "make").answer(&env), HookAnswer::Silence);
    assert_eq!(told(&env), "");
    assert!(notes(&env).is_empty());
}

/// The holder's own changes are not blamed on others.
#[test]
fn what_the_holder_may_have_done_itself_is_not_told() {
    let acts: [fn(&TestEnvironment); 3] = [
        |env| drop(env.ok(&["whoami", "--as", "Alice"])),
        |env| {
            assert_eq!(Call::edit(env, &session_of("Alice"), "src/lib.rs").answer(env), HookAnswer::Silence);
        },
        |env| {
            let call = Call::new(env, "claude/PostToolUse-Edit", &session_of("Alice"));
            assert_eq!(call.answer(env), HookAnswer::Silence);
        },
    ];
    for (number, act) in acts.into_iter().enumerate() {
        let env = scene();
        before(&env, "make").answer(&env);
        act(&env);
        fs::write(env.work().join("src/lib.rs"), "mine\n").unwrap();
        assert_eq!(after(&env, "make").answer(&env), HookAnswer::Silence, "{number}");
        assert_eq!(told(&env), "", "{number}");
    }
}

/// Agents of pi-messenger do not call us, but record when they were last active.
#[test]
fn the_same_holds_for_strangers() {
    for (is_busy, last) in [(true, "2099-11-14T23:57:56.103Z"), (false, "2026-11-14T23:57:56.103Z")] {
        let env = two();
        put(&env.work().join("src/lib.rs"), "fn main() {}\n");
        let reservation = json!({ "pattern": "src/", "reason": "x", "since": "2026-11-14T23:57:56.077Z" });
        let registration = json!({
            "name": "RedIce", "pid": env.pi_host(), "sessionId": "of RedIce", "cwd": env.work(), "model": "m",
            "startedAt": "2026-11-14T23:57:56.070Z", "activity": { "lastActivityAt": last },
            "reservations": [reservation],
        });
        put(&env.mesh().join("registry/RedIce.json"), &registration.to_string());
        before(&env, "make").answer(&env);
        assert_eq!(notes(&env).len(), 1);
        fs::write(env.work().join("src/lib.rs"), "changed\n").unwrap();
        let answer = after(&env, "make").answer(&env);
        assert_eq!(answer == HookAnswer::Silence, is_busy, "{last}: {answer:?}");
    }
}

/// Activity of one holder does not excuse changes to what another one holds.
#[test]
fn another_holders_presence_excuses_nobody() {
    let env = scene();
    env.join("Carol");
    env.ok(&["reserve", "lib/", "--as", "Carol"]);
    before(&env, "make").answer(&env);
    env.ok(&["whoami", "--as", "Carol"]);
    put(&env.work().join("lib/x"), "x");
    fs::write(env.work().join("src/lib.rs"), "changed\n").unwrap();
    let text = after(&env, "make").context(&env);
    assert_told(&env, &text, &["src/lib.rs"], "make");
}

#[test]
fn what_claude_code_saw_itself_is_believed() {
    let env = scene();
    // A duration of 0, so that Alice, who has just reserved, was not active meanwhile.
    let diff = |files: Value| {
        let call = after(&env, "./build").with("/duration_ms", 0);
        call.with("/tool_response/bashEditDiff", json!({ "changedFiles": files }))
    };
    let path = |path: &str| env.work().join(path);
    // This needs no note.
    let text = diff(json!([path("src/lib.rs"), path("free.rs")])).context(&env);
    insta::assert_snapshot!(
        text,
        @r#"Reserved by others, and changed while your command ran: `src/lib.rs` (reserved by Alice). If that was your command, undo it or tell them: msg send Alice "…""#
    );
    insta::assert_snapshot!(told(&env), @"
    Reserved by you, and changed while a command of Bob ran: `src/lib.rs`
    The command: “./build”
    ");
    before(&env, "./build").answer(&env);
    fs::write(path("src/lib.rs"), "somebody's\n").unwrap();
    assert_eq!(diff(json!([path("free.rs")])).answer(&env), HookAnswer::Silence, "it was not this command");
    assert_eq!(told(&env), "");
    assert!(notes(&env).is_empty(), "the note is removed all the same");
}

#[test]
fn what_is_understood_leaves_nothing_behind() {
    let env = scene();
    for command in ["ls -l src", "echo hi > out.txt", "cat src/lib.rs | grep fn", "git status", "true"] {
        assert_eq!(before(&env, command).answer(&env), HookAnswer::Silence, "{command}");
        assert!(notes(&env).is_empty(), "{command}");
    }
    env.ok(&["release", "--as", "Alice"]);
    before(&env, "make").answer(&env);
    assert!(notes(&env).is_empty(), "nothing is reserved");
    env.ok(&["reserve", "src/", "--as", "Bob"]);
    before(&env, "make").answer(&env);
    assert!(notes(&env).is_empty(), "but by Bob himself");
}

/// Two commands at once have one note each.
#[test]
fn notes_are_told_apart_and_end_with_the_session() {
    let env = scene();
    for command in ["make one", "make two"] {
        before(&env, command).answer(&env);
    }
    Call::bash(&env, "PreToolUse", "another session", "make").answer(&env);
    assert_eq!(notes(&env).len(), 3);
    fs::write(env.work().join("src/lib.rs"), "changed\n").unwrap();
    assert_told(&env, &after(&env, "make two").context(&env), &["src/lib.rs"], "make two");
    assert_eq!(notes(&env).len(), 2);
    Call::new(&env, "claude/SessionEnd", &session_of("Bob")).with("/reason", "clear").answer(&env);
    assert_eq!(notes(&env).len(), 1, "the other session goes on");
}

/// A command that fails may have changed files too. If the harness accepts no context then, the report comes by mail.
#[test]
fn a_command_that_fails_is_no_exception() {
    let env = scene();
    before(&env, "make").answer(&env);
    fs::write(env.work().join("src/lib.rs"), "half\n").unwrap();
    let failed = Call::bash(&env, "PostToolUseFailure", &session_of("Bob"), "make");
    assert_told(&env, &failed.context(&env), &["src/lib.rs"], "make");
    assert!(notes(&env).is_empty());
    let copilots = |fixture: &str| {
        let call = Call::new(&env, fixture, &session_of("Bob"));
        call.with("/toolName", "bash").with("/toolArgs", json!({ "command": "make" }))
    };
    copilots("copilot/preToolUse-bash").answer(&env);
    fs::write(env.work().join("src/lib.rs"), "another half\n").unwrap();
    assert_eq!(copilots("copilot/postToolUseFailure-apply_patch").answer(&env), HookAnswer::Silence);
    assert!(notes(&env).is_empty());
    let text = Call::new(&env, "claude/PostToolUse-Bash", &session_of("Bob")).context(&env);
    assert_told(&env, &text, &["src/lib.rs"], "make");
}

#[test]
fn with_thousands_of_files_the_note_is_bounded() {
    let env = scene();
    for number in 0..5_000 {
        put(&env.work().join(format!("src/{}/{number}", number % 50)), "");
    }
    assert_eq!(before(&env, "make").answer(&env), HookAnswer::Silence);
    let note: Value = serde_json::from_slice(&fs::read(&notes(&env)[0]).unwrap()).unwrap();
    assert_eq!(note["partial"], true);
    let seen = note["files"].as_object().unwrap().len();
    assert!(seen <= 2_000, "{seen} files");
    // Now only files are reserved that were not seen before, and Alice was last active an hour ago.
    let is_unseen = |dir: &usize| {
        let dir = env.work().join(format!("src/{dir}/")).display().to_string();
        !note["files"].as_object().unwrap().keys().any(|path| path.starts_with(&dir))
    };
    let unseen = (0..50).find(is_unseen).expect("2,000 are not all");
    env.ok(&["release", "--as", "Alice"]);
    env.ok(&["reserve", &format!("src/{unseen}/"), "--as", "Alice"]);
    date(&env.mesh().join("presence/Alice"), SystemTime::now() - Duration::from_secs(3600));
    let answer = after(&env, "make").answer(&env);
    assert_eq!(answer, HookAnswer::Silence, "what was not seen before is not called new");
    assert!(notes(&env).is_empty());
    assert!(!env.mesh().join("trouble.jsonl").exists());
}
