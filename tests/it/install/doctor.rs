//! Tests of what `doctor` reports about hooks that do not reach this binary: it moved, is gone, or is another one.

use std::fs;

use super::*;
use insta::assert_snapshot;

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
    assert_snapshot!(env.doctor_says("installed"), @"
    warn: in no harness
    fix: `msg setup` installs into every harness found, and lets sessions join
    ");
    for harness in HARNESSES {
        install(&env, harness);
    }
    env.ok(&["install", "claude", "--project"]);
    let found = doctor(&env);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].1, "in claude, codex, gemini, opencode, pi, copilot, kimi, qwen, claude --project");
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
    assert_snapshot!(env.doctor_says("installed"), @"
    warn: claude: `[DIR]/home/.claude/settings.json` was written by another version of msg, or was changed
    fix: `msg install claude`
    ");
    install(&env, "pi");
    let file = ".pi/agent/extensions/ravenry.ts";
    give(&env, file, &format!("{}// more\n", text(&env, file)));
    assert_snapshot!(env.doctor_says("installed"), @"
    warn: claude: `[DIR]/home/.claude/settings.json` was written by another version of msg, or was changed
    fix: `msg install claude`
    warn: pi: `[DIR]/home/.pi/agent/extensions/ravenry.ts` was written by another version of msg, or was changed
    fix: `msg install pi`
    ");
}

#[test]
fn hooks_that_codex_does_not_trust() {
    let env = TestEnvironment::new();
    install(&env, "codex");
    let file = ".codex/config.toml";
    let config = text(&env, file);
    give(&env, file, &config.replacen("sha256:", "sha256:0", 1));
    assert_snapshot!(env.doctor_says("installed"), @"
    warn: codex does not trust the hooks and skips them: `[DIR]/home/.codex/config.toml`
    fix: `msg install codex`
    ");
    fs::remove_file(at(&env, file)).unwrap();
    assert_snapshot!(env.doctor_says("installed"), @"
    warn: codex does not trust the hooks and skips them: `[DIR]/home/.codex/config.toml`
    fix: `msg install codex`
    ");
    install(&env, "codex");
    assert_eq!(doctor(&env).len(), 1);
}

#[test]
fn settings_that_cannot_be_read() {
    let env = TestEnvironment::new();
    give(&env, ".gemini/settings.json", "{\n  nope\n}");
    assert_snapshot!(env.doctor_says("installed"), @"
    warn: gemini: `[DIR]/home/.gemini/settings.json` can't be read: expected string for object property (line 2, column 3)
    fix: fix the file
    ");
}

/// The rule that lets `msg` out of Codex's sandbox names this program by its path, and no other.
#[test]
fn the_rule_of_codex_names_the_program_and_doctor_tells_when_it_moved() {
    let env = TestEnvironment::new();
    let [old, new] = ["old", "new"].map(|name| env.path().join(name).join("msg"));
    copy_of_program(&old);
    let link = env.path().join("bin/msg");
    fs::create_dir(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&old, &link).unwrap();
    run_program(&env, &link, &["install", "codex"]).expect_code(0);
    let rules = env.redact(text(&env, ".codex/rules/ravenry.rules"));
    let (head, rest) = rules.split_once("\nprefix_rule(\n").unwrap();
    assert_snapshot!(head, @r#"
    # Lets the agent run `msg` without asking. Put here by `msg install codex`, taken away by `msg uninstall codex`.

    host_executable(
        name = "msg",
        paths = ["[DIR]/bin/msg", "[DIR]/old/msg"],
    )
    "#);
    // What is permitted, what the user is asked about, and no rule for every command.
    let rules: Vec<&str> = rest.split("\nprefix_rule(\n").collect();
    let of = |decision: &str, word: &str| {
        let (decision, word) = (format!("decision = \"{decision}\""), format!("\"{word}\""));
        rules.iter().any(|rule| rule.contains(&decision) && rule.contains(&word))
    };
    assert!(rules.iter().all(|rule| rule.starts_with("    pattern = [\"msg\", ")), "{rest}");
    assert!(
        of("allow", "send") && of("allow", "whoami") && of("prompt", "run") && of("prompt", "merge"),
        "{rest}"
    );
    assert!(!of("allow", "run") && !of("allow", "merge") && !of("allow", "batch"), "{rest}");
    assert!(rest.contains("pattern = [\"msg\", \"runs\", [\n        \"diff\",\n"), "{rest}");
    let found = || env.findings(&run_program(&env, &link, &["doctor", "--json"]), "installed");
    assert_snapshot!(found(), @"ok: in codex");
    // Another version replaces the target of the link.
    fs::create_dir(new.parent().unwrap()).unwrap();
    fs::rename(&old, &new).unwrap();
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&new, &link).unwrap();
    assert_snapshot!(found(), @"
    warn: codex: the rule in `[DIR]/home/.codex/rules/ravenry.rules` is for `[DIR]/old/msg`, which is gone: `msg` stays in the sandbox
    fix: `msg install codex`
    ");
    run_program(&env, &link, &["install", "codex"]).expect_code(0);
    assert_snapshot!(found(), @"ok: in codex");
}

/// The model's commands run in a login shell, whose PATH comes from its profiles.
#[test]
fn a_login_shell_that_does_not_find_the_program() {
    let env = TestEnvironment::new();
    let bin = env.path().join("bin");
    copy_of_program(&bin.join("msg"));
    let msg = bin.join("msg");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let shell = |name: &str, text: &str| {
        let file = env.path().join(name);
        fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        file
    };
    let finds = shell("finds", "echo welcome; exec /bin/sh -c \"$2\"");
    let misses = shell("misses", "echo welcome; PATH=/usr/bin:/bin exec /bin/sh -c \"$2\"");
    let fails = shell("fails", "exit 1");
    let run = |shell: &std::path::Path, args: &[&str]| {
        let mut command = env.msg();
        let mut program = std::process::Command::new(&msg);
        program.env_clear().envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
        command = program;
        crate::support::environment::end(
            command.args(args).env("PATH", &path).env("SHELL", shell).current_dir(env.work()),
        )
    };
    fs::create_dir_all(env.home().join(".codex")).unwrap();
    let asked = |shell: &std::path::Path| checks(&run(shell, &["doctor", "--json"]).expect_code(0));
    let is_told =
        |shell: &std::path::Path| asked(shell).iter().any(|(_, message, _)| message.contains("login shell"));
    assert!(!is_told(&misses), "who has no hooks in Codex is not told");
    run(&finds, &["install", "codex"]).expect_code(0);
    assert!(!is_told(&finds), "{:?}", asked(&finds));
    assert!(!is_told(&fails), "nothing is known");
    assert_snapshot!(env.findings(&run(&misses, &["doctor", "--json"]), "installed"), @"
    warn: codex runs commands in a login shell, whose PATH has no `msg`: its model can't run it
    fix: put the directory of `msg` on the PATH in `~/.profile`, or in your login shell's own file
    ");
}

/// Kimi Code ignores all hooks if one entry of the list is not as it should be, whoever wrote that entry.
#[test]
fn an_entry_of_others_that_switches_our_hooks_off() {
    let env = TestEnvironment::new();
    let file = env.home().join(".kimi-code/config.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let theirs = "[[hooks]]\nevent = \"Stop\"\ncommand = \"true\"\nfail_mode = \"open\"\n";
    fs::write(&file, theirs).unwrap();
    assert_warns(&doctor(&env), "in no harness", "`msg setup`");
    install(&env, "kimi");
    assert_snapshot!(env.doctor_says("installed"), @"
    warn: kimi: Kimi Code ignores all hooks in `[DIR]/home/.kimi-code/config.toml`: `[[hooks]]` in line 1 has the unknown key `fail_mode`
    fix: correct these entries, or remove them
    ");
    let corrected = fs::read_to_string(&file).unwrap().replace("fail_mode = \"open\"\n", "");
    fs::write(&file, corrected).unwrap();
    let found = doctor(&env);
    assert_eq!((found.len(), found[0].1.as_str()), (1, "in kimi"), "{found:?}");
}
