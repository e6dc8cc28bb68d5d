//! What `doctor` says of hooks that nobody hears: of a binary that moved, is gone, or is another.

use std::fs;

use super::*;

/// The checks of what is installed: state, message and fix.
#[track_caller]
fn checks(ended: &Ended) -> Vec<(String, String, String)> {
    let said = ended.json();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let of_name = said["checks"].as_array().unwrap().iter().filter(|check| check["name"] == "installed");
    of_name.map(|check| (word(&check["state"]), word(&check["message"]), word(&check["fix"]))).collect()
}

#[track_caller]
fn doctor(env: &TestEnvironment) -> Vec<(String, String, String)> {
    checks(&env.run(&["doctor", "--json"]).expect_code(0))
}

#[track_caller]
fn assert_warns(found: &[(String, String, String)], part: &str, fix: &str) {
    let is_it = |(state, message, mend): &(String, String, String)| {
        state == "warn" && message.contains(part) && mend.contains(fix)
    };
    assert!(found.iter().any(is_it), "no warning of `{part}`: {found:?}");
}

#[test]
fn all_is_well() {
    let env = TestEnvironment::new();
    assert_eq!(doctor(&env)[0].1, "in no harness; `msg install all` does it");
    for harness in HARNESSES {
        install(&env, harness);
    }
    env.ok(&["install", "claude", "--project"]);
    let found = doctor(&env);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].1, "in claude, codex, gemini, opencode, pi, copilot, claude --project");
}

#[test]
fn a_binary_that_moved_or_is_gone() {
    for harness in HARNESSES {
        let env = TestEnvironment::new();
        let old = env.path().join("old/msg");
        copy_of_program(&old);
        run_program(&env, &old, &["install", harness]).expect_code(0);
        let mend = format!("`msg install {harness}`");
        assert_warns(&doctor(&env), "old/msg`, which is not this program", &mend);
        fs::remove_file(&old).unwrap();
        let found = doctor(&env);
        assert_warns(&found, "old/msg`, which is gone", &mend);
        assert_warns(&found, &env.home().display().to_string(), &mend);
        install(&env, harness);
        assert_eq!(doctor(&env).len(), 1, "the fix mends it");
    }
}

#[test]
fn hooks_of_another_version() {
    let env = TestEnvironment::new();
    install(&env, "claude");
    let file = ".claude/settings.json";
    give(&env, file, &text(&env, file).replace("\"timeout\": 10", "\"timeout\": 5"));
    assert_warns(&doctor(&env), "another version", "`msg install claude`");
    install(&env, "pi");
    let file = ".pi/agent/extensions/ravenry.ts";
    give(&env, file, &format!("{}// more\n", text(&env, file)));
    assert_warns(&doctor(&env), file, "`msg install pi`");
}

#[test]
fn hooks_that_codex_does_not_trust() {
    let env = TestEnvironment::new();
    install(&env, "codex");
    let file = ".codex/config.toml";
    let config = text(&env, file);
    give(&env, file, &config.replacen("sha256:", "sha256:0", 1));
    assert_warns(&doctor(&env), "does not trust", "`msg install codex`");
    fs::remove_file(at(&env, file)).unwrap();
    assert_warns(&doctor(&env), "does not trust", "`msg install codex`");
    install(&env, "codex");
    assert_eq!(doctor(&env).len(), 1);
}

#[test]
fn settings_that_cannot_be_read() {
    let env = TestEnvironment::new();
    give(&env, ".gemini/settings.json", "{\n  nope\n}");
    let found = doctor(&env);
    assert_warns(&found, "line 2, column 3", "mend the file");
    assert_warns(&found, ".gemini/settings.json", "mend the file");
}
