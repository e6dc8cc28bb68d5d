//! An agent that was refused at a hook is told once when the path or task is free.

use ravenry::domain::hook::HookAnswer;

use crate::support::environment::{TestEnvironment, put};
use crate::support::hook_call::{Call, session_of};
use crate::support::running::{inbox, two};

/// Alice holds what Bob wants; Carol has joined too. Also returns Alice's host.
fn three() -> (TestEnvironment, u32) {
    let env = TestEnvironment::new();
    let alice = env.join("Alice");
    env.join("Bob");
    env.join("Carol");
    env.ok(&["reserve", "src/a/", "--as", "Alice"]);
    (env, alice)
}

fn bobs(env: &TestEnvironment, fixture: &str) -> Call {
    Call::new(env, fixture, &session_of("Bob"))
}

#[track_caller]
fn refused(call: &Call, env: &TestEnvironment) {
    match call.answer(env) {
        HookAnswer::Deny(reason) => {
            assert!(reason.contains("you should get a message when it is free"), "{reason}");
        }
        other => panic!("not refused: {other:?}"),
    }
}

/// Asserts that Bob is told at this call, and not again.
#[track_caller]
fn assert_told_once(env: &TestEnvironment, fixture: &str, words: &str) {
    let told = match bobs(env, fixture).answer(env) {
        HookAnswer::Context(text) | HookAnswer::GoOn(text) => text,
        other => panic!("not told: {other:?}"),
    };
    assert!(told.starts_with("[msg, ") && !told.contains("msg reply"), "{told}");
    assert_eq!(told.lines().skip(1).collect::<Vec<_>>(), [format!("> {words}")]);
    for fixture in ["claude/PostToolUse-Bash", "claude/Stop", "claude/UserPromptSubmit"] {
        assert_eq!(bobs(env, fixture).answer(env), HookAnswer::Silence, "told once");
    }
    assert!(env.registration("Bob")["waitsFor"].as_array().is_none_or(Vec::is_empty));
}

const FREE: &str = "`src/a/x` is free: Alice no longer holds it. To have it to yourself: msg reserve src/a/x";

#[test]
fn when_the_holder_releases_it() {
    for fixture in
        ["claude/PostToolUse-Bash", "claude/Stop", "gemini/AfterTool-write_file", "pi/tool_result-bash"]
    {
        let (env, _) = three();
        refused(&Call::edit(&env, &session_of("Bob"), "src/a/x"), &env);
        refused(&Call::edit(&env, &session_of("Bob"), "src/a/x"), &env);
        assert_eq!(bobs(&env, fixture).answer(&env), HookAnswer::Silence, "it is not free yet");
        env.ok(&["release", "src/a/", "--as", "Alice"]);
        assert_told_once(&env, fixture, FREE);
    }
}

/// A patch and a shell command are refused like an edit.
#[test]
fn whatever_it_was_that_was_refused() {
    let patch = "*** Begin Patch\n*** Add File: src/a/x\n+// other\n*** End Patch\n";
    let calls = |env: &TestEnvironment| {
        [
            bobs(env, "codex/PreToolUse-apply_patch").with("/tool_input/command", patch),
            Call::bash(env, "PreToolUse", &session_of("Bob"), "echo hi > src/a/x"),
        ]
    };
    for number in 0..2 {
        let (env, _) = three();
        refused(&calls(&env)[number], &env);
        env.ok(&["leave", "--as", "Alice"]);
        assert_told_once(&env, "claude/PostToolUse-Bash", FREE);
    }
}

/// Nobody buries the holder or does anything else: Bob's own hook notices.
#[test]
fn when_the_holder_is_killed() {
    for fixture in ["claude/PostToolUse-Bash", "claude/Stop"] {
        let (env, alice) = three();
        refused(&Call::edit(&env, &session_of("Bob"), "src/a/x"), &env);
        env.kill(alice);
        assert!(inbox(&env).is_empty());
        assert_told_once(&env, fixture, FREE);
        assert_eq!(Call::edit(&env, &session_of("Bob"), "src/a/x").answer(&env), HookAnswer::Silence);
    }
}

/// The same for a task.
#[test]
fn when_the_owner_of_a_task_is_killed() {
    for fixture in ["claude/PostToolUse-Bash", "claude/Stop"] {
        let (env, alice) = three();
        put(&env.work().join("spec.md"), "- [ ] TASK-1: all of it\n");
        let claim = |name: &'static str| ["claim", "TASK-1", "--spec", "spec.md", "--as", name];
        env.ok(&claim("Alice"));
        assert_eq!(env.fails(1, &claim("Bob")), "already_claimed");
        assert_eq!(bobs(&env, fixture).answer(&env), HookAnswer::Silence, "Alice lives");
        env.kill(alice);
        assert!(inbox(&env).is_empty());
        let free = "`TASK-1` is free: Alice no longer works on it. To take it: msg claim TASK-1";
        assert_told_once(&env, fixture, free);
        assert!(env.registration("Bob")["waitsForTasks"].as_array().is_none_or(Vec::is_empty));
    }
}

#[test]
fn not_while_another_holds_a_part_of_it() {
    let (env, alice) = three();
    env.ok(&["reserve", "src/b/", "--as", "Carol"]);
    std::fs::create_dir_all(env.work().join("src/a")).unwrap();
    refused(&Call::bash(&env, "PreToolUse", &session_of("Bob"), "rm -r src"), &env);
    env.kill(alice);
    for fixture in ["claude/PostToolUse-Bash", "claude/Stop", "claude/UserPromptSubmit"] {
        assert_eq!(bobs(&env, fixture).answer(&env), HookAnswer::Silence, "Carol holds src/b/");
    }
    env.ok(&["release", "--as", "Carol"]);
    let told = bobs(&env, "claude/PostToolUse-Bash").context(&env);
    assert!(told.contains("> `src` is free: "), "{told}");
    assert_eq!(bobs(&env, "claude/PostToolUse-Bash").answer(&env), HookAnswer::Silence);
}

/// A session that has not joined cannot be told, and is not promised it.
#[test]
fn not_who_has_not_joined() {
    let env = two();
    env.ok(&["reserve", "src/", "--as", "Alice"]);
    match Call::edit(&env, "a stranger", "src/x").answer(&env) {
        HookAnswer::Deny(reason) => assert!(!reason.contains("get a message"), "{reason}"),
        other => panic!("not refused: {other:?}"),
    }
    env.ok(&["release", "--as", "Alice"]);
    assert_eq!(Call::new(&env, "claude/PostToolUse-Bash", "a stranger").answer(&env), HookAnswer::Silence);
}
