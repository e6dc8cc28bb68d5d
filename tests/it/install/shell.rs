//! The command line in the hooks, as a shell runs it: with the binary there, gone and broken, and at paths that need
//! quoting.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use super::*;

/// The payload of a harness before an edit.
fn payload(env: &TestEnvironment) -> String {
    serde_json::json!({
        "session_id": "s1", "cwd": env.work(), "hook_event_name": "PreToolUse", "tool_name": "Write",
        "tool_input": { "file_path": env.work().join("src/lib.rs"), "content": "x" },
    })
    .to_string()
}

fn run_line(env: &TestEnvironment, shell: &str, line: &str, path: &str) -> Ended {
    let mut command = Command::new(shell);
    command.env_clear().env("HOME", env.home()).env("MSG_MESH", env.mesh()).env("PATH", path);
    command.args(["-c", line]).current_dir(env.work());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A process that does not read its input may have closed it.
    child.stdin.take().unwrap().write_all(payload(env).as_bytes()).ok();
    let output = child.wait_with_output().unwrap();
    Ended {
        code: output.status.code(),
        signal: None,
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Shells that Claude Code, Gemini CLI and Copilot CLI may use.
fn shells() -> Vec<&'static str> {
    let known = ["sh", "bash", "dash", "zsh", "ksh"];
    let is_there =
        |shell: &&str| Command::new(shell).arg("-c").arg(":").status().is_ok_and(|ended| ended.success());
    known.into_iter().filter(is_there).collect()
}

#[track_caller]
fn assert_silent(env: &TestEnvironment, line: &str, path: &str, when: &str) {
    for shell in shells() {
        let ended = run_line(env, shell, line, path).expect_code(0);
        assert_eq!(ended.stdout, "", "{shell}, {when}");
        // Some shells report that a program was killed. After a success no harness reads standard error.
        let is_death = ["Segmentation fault", "Killed"].iter().any(|word| ended.stderr.contains(word));
        assert!(ended.stderr.is_empty() || is_death, "{shell}, {when}: {ended}");
    }
}

/// The command line of the hook before a tool call.
fn line_before_tool(env: &TestEnvironment) -> String {
    let lines = hook_lines(&text(env, ".claude/settings.json"));
    lines.into_iter().find(|line| line.contains(" PreToolUse ")).unwrap()
}

#[test]
fn at_any_path() {
    for name in [
        "plain",
        "with space",
        "it's",
        "\"q\" $HOME `x` ; & |",
        "ünïcode",
        "a\\b",
        "-n",
        "*?[x]",
        "new\nline",
    ] {
        let env = TestEnvironment::new();
        env.join("Bob");
        env.ok(&["reserve", "src/lib.rs", "--as", "Bob"]);
        let program = env.path().join(name).join("msg");
        copy_of_program(&program);
        run_program(&env, &program, &["install", "claude"]).expect_code(0);
        let line = line_before_tool(&env);
        for shell in shells() {
            let ended = run_line(&env, shell, &line, "/usr/bin:/bin").expect_code(0);
            assert!(ended.stdout.contains("\"deny\""), "{shell}, {name:?}: {ended}");
        }
        fs::remove_file(&program).unwrap();
        assert_silent(&env, &line, "/usr/bin:/bin", "it is gone");
        // The line is recognised, whatever the path in it is.
        uninstall(&env, "claude");
        assert!(!at(&env, ".claude").exists());
    }
}

#[test]
fn broken_in_every_way() {
    let env = TestEnvironment::new();
    let bin = env.path().join("bin");
    let program = bin.join("msg");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    copy_of_program(&program);
    run_program(&env, &program, &["install", "claude"]).expect_code(0);
    let by_path = line_before_tool(&env);
    let mut by_name = Command::new(&program);
    by_name.env_clear().env("HOME", env.home()).env("PATH", &path).args(["install", "claude"]);
    by_name.env(ravenry::sys::test_switches::ANCESTRY_END, std::process::id().to_string());
    end(&mut by_name).expect_code(0);
    let by_name = line_before_tool(&env);
    assert!(by_path.starts_with("[ -x") && by_name.starts_with("command -v"), "{by_path}\n{by_name}");
    let whole = fs::read(&program).unwrap();
    let break_it = |what: &str, content: Option<&[u8]>, mode: u32| {
        fs::remove_file(&program).ok();
        if let Some(content) = content {
            fs::write(&program, content).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
        }
        assert_silent(&env, &by_path, &path, what);
        assert_silent(&env, &by_name, &path, what);
    };
    break_it("it is gone", None, 0);
    break_it("it may not be run", Some(&whole), 0o644);
    break_it("half of it", Some(&whole[..4096]), 0o755);
    break_it("it is no program", Some(b"\x7fELF\0\0\0garbage"), 0o755);
    break_it("it fails", Some(b"#!/bin/sh\necho no >&2\nexit 3\n"), 0o755);
    break_it("it fails with words", Some(b"#!/bin/sh\necho usage: msg USER\nexit 1\n"), 0o755);
    break_it("it blocks", Some(b"#!/bin/sh\necho blocked >&2\nexit 2\n"), 0o755);
    break_it("its interpreter is gone", Some(b"#!/no/such/shell\n"), 0o755);
    break_it("it dies", Some(b"#!/bin/sh\nkill -9 $$\n"), 0o755);
}

/// Codex runs its hooks in the user's login shell.
#[test]
fn codex_may_use_any_shell() {
    for name in ["plain", "with space", "it's", "\"q\" $HOME `x` ; & |"] {
        let env = TestEnvironment::new();
        let program = env.path().join(name).join("msg");
        copy_of_program(&program);
        run_program(&env, &program, &["install", "codex"]).expect_code(0);
        let lines = hook_lines(&text(&env, ".codex/hooks.json"));
        let line = lines.iter().find(|line| line.contains(" PreToolUse ")).unwrap();
        fs::remove_file(&program).unwrap();
        put(&program, "#!/bin/sh\nread -r payload\necho \"$payload $*\"\n");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let fish = Command::new("fish").arg("-c").arg(":").status().is_ok_and(|ended| ended.success());
        for shell in shells().into_iter().chain(fish.then_some("fish")) {
            let ended = run_line(&env, shell, line, "/usr/bin:/bin").expect_code(0);
            assert!(ended.stdout.ends_with(" hook codex PreToolUse"), "{shell}: {ended}");
            assert!(ended.stdout.contains("session_id"), "{shell}: standard input is passed on: {ended}");
        }
        put(&program, "#!/bin/sh\necho usage: msg USER\nexit 1\n");
        assert_silent(&env, line, "/usr/bin:/bin", "it fails with words");
    }
}
