//! Commands that are too long to be analysed completely: the rest is uncertain, which is reported.

use std::fs;

use ravenry::domain::hook::HookAnswer;
use ravenry::sys::test_switches;

use super::harmless::troubles;
use crate::support::environment::{TestEnvironment, end, put};
use crate::support::hook_call::{Call, session_of};
use crate::support::running::two;

/// Alice has reserved `src/`, in which there is a file.
fn scene() -> TestEnvironment {
    let env = two();
    put(&env.work().join("src/a"), "before\n");
    env.ok(&["reserve", "src/", "--as", "Alice"]);
    env
}

fn call(env: &TestEnvironment, event: &str, command: &str) -> Call {
    Call::bash(env, event, &session_of("Bob"), command)
}

/// Removes `count` files, and then a reserved one.
fn remove(count: usize) -> String {
    let names: Vec<String> = (0..count).map(|number| format!("f{number}")).collect();
    format!("rm -f {} src/a", names.join(" "))
}

/// Patches `count` files, and then a reserved one.
fn patch(count: usize) -> String {
    let names = (0..count).map(|number| format!("f{number}")).chain(["src/a".to_string()]);
    let parts: String =
        names.map(|name| format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-x\n+y\n")).collect();
    format!("git apply <<'E'\n{parts}E")
}

#[test]
fn a_thousand_paths_are_all_decided_about() {
    let env = scene();
    for count in [100, 600, 3_900] {
        let answer = call(&env, "PreToolUse", &remove(count)).answer(&env);
        assert!(
            matches!(&answer, HookAnswer::Deny(reason) if reason.contains("by Alice")),
            "{count}: {answer:?}"
        );
    }
    assert_eq!(troubles(&env).len(), 0);
}

#[test]
fn what_is_beyond_the_limits_is_told_and_looked_at_afterwards() {
    let steps = format!("{}echo X > src/a", "true;".repeat(4_100));
    for (command, why) in [
        (patch(4_100), "more than 4000 paths"),
        (remove(25_000), "too long to be read"),
        (steps, "too long to be read"),
    ] {
        let env = scene();
        assert_eq!(call(&env, "PreToolUse", &command).answer(&env), HookAnswer::Silence, "{why}");
        let told = troubles(&env);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0]["error"].as_str().unwrap().contains(why), "{told:?}");
        fs::write(env.work().join("src/a"), "after, and longer\n").unwrap();
        let text = call(&env, "PostToolUse", &command).context(&env);
        assert!(text.contains("`src/a` (reserved by Alice)"), "{text}");
        env.configure("{\"strict\": true}");
        // How long it takes on a busy machine is not what is looked at.
        let mut strict = call(&env, "PreToolUse", &command).command(&env);
        let ended = end(strict.env(test_switches::NO_HOOK_LIMIT, "1")).expect_code(0);
        assert!(ended.stdout.contains("\"deny\"") && ended.stdout.contains(why), "{ended}");
        // A command that only reads is never refused.
        assert_eq!(call(&env, "PreToolUse", "cat src/a").answer(&env), HookAnswer::Silence);
    }
}
