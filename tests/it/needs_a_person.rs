//! What a model may not do with `msg`, although its harness lets it run `msg` without asking.

use std::fs;
use std::os::unix::fs::symlink;

use ravenry::domain::hook::HookAnswer;
use ravenry::sys::test_switches::ANCESTRY_HIDDEN;
use serde_json::json;

use crate::support::environment::{Ended, TestEnvironment, end, put};
use crate::support::hook_call::{Call, session_of};
use crate::support::mcp_client::Client;
use crate::support::terminal::{Shell, harness, harness_with};

/// A mesh with Alice and Bob, and a harness in which a session has joined as Carol.
fn stage(name: &str) -> (TestEnvironment, Shell) {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    let mut shell = harness(&env, name);
    shell.msg("msg join Carol");
    (env, shell)
}

/// Runs a line that must be refused; `told` is what the person is told to type.
#[track_caller]
fn refused(shell: &mut Shell, line: &str, told: &str) {
    let ended = shell.run(&format!("{line} --json")).expect_code(1);
    assert_eq!(ended.kind(), "in_harness", "{line}: {ended}");
    let hints = ended.json()["error"]["hints"].to_string();
    assert!(hints.contains(told), "{line}: {hints}");
}

#[test]
fn evicting_a_live_agent() {
    for name in ["claude", "codex", "gemini", "opencode", "pi", "copilot", "kimi", "qwen"] {
        let (env, mut shell) = stage(name);
        refused(&mut shell, "msg evict Bob --force", "msg evict Bob --force");
        refused(&mut shell, "msg evict Bob --force --as Alice", "msg evict Bob --force");
        assert_eq!(env.names(), ["Alice", "Bob", "Carol"]);
    }
    let (env, mut shell) = stage("claude");
    // Without `--force` it removes only an agent whose state is unknown, so a model may try it.
    assert_eq!(shell.run("msg evict Bob --json").expect_code(1).kind(), "still_alive");
    env.ok(&["evict", "Bob", "--force", "--as", "Alice"]);
    assert_eq!(env.names(), ["Alice", "Carol"]);
}

#[test]
fn changing_settings() {
    let (env, mut shell) = stage("claude");
    env.ok(&["config", "set", "strict", "true"]);
    refused(&mut shell, "msg config set strict false", "msg config set strict false");
    refused(&mut shell, "msg config set strict false --as Alice", "msg config set strict false");
    refused(&mut shell, "msg config set prompt 'a b' --project", "msg config set prompt 'a b' --project");
    refused(&mut shell, "msg config unset strict", "msg config unset strict");
    assert_eq!(shell.msg("msg config get strict")["values"]["strict"]["value"], true, "looking is allowed");
    assert!(!env.work().join(".ravenry").exists());
}

const VARIABLES: [(&str, &str); 7] = [
    ("claude", "CLAUDE_CODE_SESSION_ID"),
    ("codex", "CODEX_THREAD_ID"),
    ("gemini", "GEMINI_SESSION_ID"),
    ("opencode", "OPENCODE_SESSION_ID"),
    ("pi", "PI_SESSION_ID"),
    ("copilot", "COPILOT_AGENT_SESSION_ID"),
    ("qwen", "QWEN_CODE_SESSION_ID"),
];

/// In a sandbox with its own pid namespace no harness is among the ancestors, but its variable is set.
#[test]
fn where_the_ancestors_cannot_be_seen() {
    let env = TestEnvironment::new();
    let args = ["config", "set", "strict", "false", "--json"];
    for (name, variable) in VARIABLES {
        let ended = env.run_with(&args, &[(variable, "session-1"), (ANCESTRY_HIDDEN, "1")]).expect_code(1);
        assert_eq!(ended.kind(), "in_harness", "{variable}: {ended}");
        assert_eq!(ended.json()["error"]["harness"], name);
        let hints = ended.json()["error"]["hints"].to_string();
        assert!(hints.contains(&format!("`env -u {variable} msg …`")), "{hints}");
    }
    // A person in a container.
    env.run_with(&args, &[(ANCESTRY_HIDDEN, "1")]).expect_code(0);
}

#[test]
#[cfg(target_os = "linux")]
fn in_a_sandbox_with_processes_of_its_own() {
    let env = TestEnvironment::new();
    let inside = |variables: &[(&str, &str)]| {
        let msg = env.msg();
        let mut command = std::process::Command::new("unshare");
        command.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--"]);
        command.arg(msg.get_program()).args(["config", "set", "strict", "false", "--json"]);
        command.env_clear().envs(msg.get_envs().filter_map(|(name, value)| Some((name, value?))));
        end(command.envs(variables.iter().copied()).current_dir(env.work()))
    };
    if inside(&[]).code != Some(0) {
        return crate::support::skip::skip("no pid namespace can be made");
    }
    let ended = inside(&[("CLAUDE_CODE_SESSION_ID", "session-1")]).expect_code(1);
    assert_eq!(ended.kind(), "in_harness", "{ended}");
}

/// A terminal that an agent's tool has started keeps the variable of that agent's session for good.
#[test]
fn a_person_in_a_terminal_that_an_agent_has_started() {
    let env = TestEnvironment::new();
    env.join("Bob");
    env.join("Me");
    for (_, variable) in VARIABLES {
        env.run_with(&["config", "set", "strict", "false"], &[(variable, "session-1")]).expect_code(0);
    }
    let inherited = ("CLAUDE_CODE_SESSION_ID", "session-1");
    env.run_with(&["evict", "Bob", "--force"], &[inherited]).expect_code(0);
    env.run_with(&["leave"], &[inherited, ("MSG_AGENT", "Me")]).expect_code(0);
    assert!(env.names().is_empty());
}

#[test]
fn installing_and_uninstalling() {
    let (env, mut shell) = stage("claude");
    put(&env.home().join(".claude/settings.json"), "{\"env\": {\"KEY\": \"token-1\"}}");
    let settings = || fs::read_to_string(env.home().join(".claude/settings.json")).unwrap();
    let before = settings();
    refused(&mut shell, "msg install claude", "msg install claude");
    refused(&mut shell, "msg install all --no-mcp --as Alice", "msg install all --no-mcp");
    refused(&mut shell, "msg install claude --statusline", "msg install claude --statusline");
    refused(&mut shell, "msg install pi --guide --no-mcp", "msg install pi --guide --no-mcp");
    // The diff shows lines of the settings that the model may not be allowed to read.
    let dry = shell.run("msg install claude --dry-run --json").expect_code(1);
    assert!(!dry.to_string().contains("token-1"), "{dry}");
    assert_eq!(settings(), before);
    env.ok(&["install", "claude"]);
    let with = settings();
    refused(&mut shell, "msg uninstall claude", "msg uninstall claude");
    refused(&mut shell, "msg uninstall all --project", "msg uninstall all --project");
    assert_eq!(settings(), with);
}

#[test]
fn the_guard_of_the_repository() {
    let (env, mut shell) = stage("codex");
    assert!(shell.run("git init -q .").code == Some(0));
    refused(&mut shell, "msg guard install", "msg guard install");
    let hook = env.work().join(".git/hooks/pre-commit");
    assert!(!hook.exists());
    env.ok(&["guard", "install"]);
    refused(&mut shell, "msg guard uninstall", "msg guard uninstall");
    refused(&mut shell, "msg guard uninstall --as Alice", "msg guard uninstall");
    assert!(hook.exists());
    // Git runs the check inside the harness.
    shell.msg("msg guard check");
}

#[test]
fn letting_another_agent_leave() {
    let (env, mut shell) = stage("gemini");
    refused(&mut shell, "msg leave --as Bob", "msg leave --as Bob");
    assert_eq!(env.names(), ["Alice", "Bob", "Carol"]);
    shell.msg("msg leave --as Carol");
    assert_eq!(env.names(), ["Alice", "Bob"]);
    // A session that has left has no agent, and the variable does not make it Bob.
    refused(&mut shell, "MSG_AGENT=Bob msg leave", "msg leave --as Bob");
    shell.msg("msg join Carol");
    shell.msg("msg leave");
    assert_eq!(env.names(), ["Alice", "Bob"]);
    env.ok(&["leave", "--as", "Bob"]);
    assert_eq!(env.names(), ["Alice"]);
}

#[test]
fn letting_another_agent_leave_with_a_tool() {
    let env = TestEnvironment::new();
    env.join("Bob");
    let mut msg = env.msg();
    msg.arg("mcp").env("MSG_AGENT", "Bob");
    let mut client = Client::greeted(crate::support::hook_fixture::in_shell("\"$@\"", "gemini", &msg));
    let params = json!({ "name": "agents", "arguments": { "action": "leave" } });
    let said = client.request("tools/call", params);
    assert_eq!(said["isError"], true, "{said}");
    insta::assert_snapshot!(said["content"][0]["text"].as_str().unwrap(), @"
    error (in_harness): `msg leave --as Bob` needs a person: it is refused inside gemini
    hint: ask a person to type this at a terminal: msg leave --as Bob
    ");
    assert_eq!(env.names(), ["Bob"]);
}

/// A model can call the hook itself, with any session id.
#[test]
fn letting_another_agent_leave_by_a_hook() {
    for name in ["claude", "codex", "gemini", "opencode", "pi", "copilot", "kimi", "qwen"] {
        let (env, mut shell) = stage(name);
        let end = Call::new(&env, "claude/SessionEnd", &session_of("Bob")).with("/reason", "other");
        assert_eq!(end.answer_in(&env, &mut shell), HookAnswer::Silence);
        assert_eq!(shell.run(&format!("{} --as Bob", end.line(&env))).stdout, "");
        assert_eq!(env.names(), ["Alice", "Bob", "Carol"], "{name}");
        shell.msg("msg leave");
        assert_eq!(end.answer_in(&env, &mut shell), HookAnswer::Silence);
        assert_eq!(env.names(), ["Alice", "Bob"], "{name}: a stranger may not either");
        end.answer(&env);
        assert_eq!(env.names(), ["Alice"], "{name}: the end of its own session");
    }
}

/// The hooks of a process that hosts many sessions are told apart by the session it reports to its tools.
#[test]
fn letting_another_agent_of_the_same_process_leave_by_a_hook() {
    let env = TestEnvironment::new();
    let mut shell = harness(&env, "codex");
    for (session, name) in [("t1", "Alice"), ("t2", "Bob")] {
        shell.msg(&format!("CODEX_THREAD_ID={session} msg join {name}"));
    }
    let end = Call::new(&env, "codex/SessionEnd", "t2");
    shell.run(&format!("CODEX_THREAD_ID=t1 {}", end.line(&env)));
    assert_eq!(env.names(), ["Alice", "Bob"]);
    end.answer_in(&env, &mut shell);
    assert_eq!(env.names(), ["Alice"]);
}

/// A harness started by a tool of another session, or in a terminal started by one, inherits that session's variable,
/// and so do its hooks. The variable proves nothing about them.
#[test]
#[cfg(target_os = "linux")]
fn hooks_of_a_harness_that_inherited_the_session_variable_of_another() {
    for (name, variable) in
        [("codex", "CODEX_THREAD_ID"), ("codex", "CODEX_SESSION_ID"), ("opencode", "OPENCODE_SESSION_ID")]
    {
        let env = TestEnvironment::new();
        let mut outer = harness(&env, name);
        outer.msg(&format!("{variable}=t1 msg join Alice"));
        let mut inner = harness_with(&env, name, &[(variable, "t1")]);
        for (session, name) in [("t2", "Bob"), ("t3", "Carol")] {
            inner.msg(&format!("{variable}={session} msg join {name}"));
        }
        // Its user continues that session here.
        outer.kill();
        let back = inner.msg("msg join --session t1");
        assert_eq!((&back["arrival"], &back["agent"]["name"]), (&"back".into(), &"Alice".into()));
        env.ok(&["send", "Bob", "for Bob", "--hold", "--as", "Alice"]);
        let prompt = Call::new(&env, "claude/UserPromptSubmit", "t2");
        assert!(matches!(prompt.answer_in(&env, &mut inner), HookAnswer::Context(_)), "{variable}");
        let end = Call::new(&env, "codex/SessionEnd", "t2");
        inner.run(&format!("{variable}=t3 {}", end.line(&env)));
        assert_eq!(env.names(), ["Alice", "Bob", "Carol"], "{variable}: what it tells its own tools counts");
        end.answer_in(&env, &mut inner);
        assert_eq!(env.names(), ["Alice", "Carol"], "{variable}");
    }
}

/// If it is not known what the harness was started with, a session that is not an agent of its process does not keep
/// another from leaving.
#[test]
fn the_end_of_a_session_beside_one_that_is_no_agent_here() {
    let env = TestEnvironment::new();
    let mut shell = harness(&env, "codex");
    shell.msg("CODEX_THREAD_ID=t2 msg join Bob");
    env.join("Alice");
    let end = Call::new(&env, "codex/SessionEnd", "t2");
    shell.run(&format!("CODEX_THREAD_ID='{}' {}", session_of("Alice"), end.line(&env)));
    assert_eq!(env.names(), ["Alice"]);
}

#[test]
fn reading_the_mail_of_another_agent_by_a_hook() {
    let (env, mut shell) = stage("claude");
    env.ok(&["send", "Bob", "for Bob alone", "--hold", "--as", "Alice"]);
    let fixtures = ["SessionStart", "UserPromptSubmit", "PostToolUse-Bash", "Stop"]
        .map(|event| format!("claude/{event}"));
    let before = ["codex/PreToolUse-Bash", "gemini/BeforeTool-write_file"].map(String::from);
    for fixture in fixtures.iter().chain(&before) {
        let call = Call::new(&env, fixture, &session_of("Bob"));
        assert_eq!(call.answer_in(&env, &mut shell), HookAnswer::Silence, "{fixture}");
    }
    let text = Call::new(&env, "claude/UserPromptSubmit", &session_of("Bob")).context(&env);
    assert!(text.ends_with("> for Bob alone"), "{text}");
}

#[test]
fn reading_a_file_outside_the_working_directory() {
    let (env, mut shell) = stage("claude");
    let outside = env.path().join("secret");
    put(&outside, "the secret");
    put(&env.work().join("notes.md"), "the notes");
    put(&env.work().join("sub/deep.md"), "deep");
    symlink(&outside, env.work().join("link")).unwrap();
    symlink(env.path(), env.work().join("up")).unwrap();
    symlink(env.work().join("notes.md"), env.work().join("sub/notes")).unwrap();
    let id = env.ok(&["send", "Carol", "hi", "--as", "Alice"])["sent"][0]["id"].as_str().unwrap().to_string();
    shell.msg("msg read");
    let outside = outside.display().to_string();
    for file in [outside.as_str(), "../secret", "link", "up/secret", "sub/../../secret", "~/x/../../secret"] {
        for command in ["send Carol", "broadcast", &format!("reply {id}"), "set-status"] {
            for acting_as in ["", " --as Alice"] {
                let ended = shell.run(&format!("msg {command} --file {file}{acting_as} --json"));
                assert_ne!(ended.code, Some(0), "{command} {file}: {ended}");
                let expected = if file.starts_with('~') { "invalid_value" } else { "in_harness" };
                assert_eq!(ended.kind(), expected, "{command} {file}: {ended}");
            }
        }
    }
    assert_eq!(shell.msg("msg read")["messages"], json!([]));
    for (file, text) in [("notes.md", "the notes"), ("sub/deep.md", "deep"), ("sub/notes", "the notes")] {
        shell.msg(&format!("msg send Carol --file {file}"));
        assert_eq!(shell.msg("msg read")["messages"][0]["text"], text);
    }
    let absolute = env.work().join("sub/deep.md").display().to_string();
    shell.msg(&format!("msg send Carol --file {absolute}"));
    // A sibling whose name starts the same is not beneath it.
    put(&env.path().join("work-2/file"), "x");
    let sibling: Ended = shell.run("msg send Carol --file ../work-2/file --json");
    assert_eq!(sibling.kind(), "in_harness");
    // Without a harness there is no such limit.
    env.ok(&["send", "Carol", "--file", &outside, "--as", "Alice"]);
}

/// A person need not join to remove an agent; a model that has not joined may not.
#[test]
fn a_person_who_has_not_joined_evicts() {
    let env = TestEnvironment::new();
    assert_eq!(env.fails(3, &["evict", "Bob"]), "not_joined", "there is no mesh");
    env.join("Alice");
    env.join("Bob");
    assert_eq!(env.fails(1, &["evict", "Bob"]), "still_alive");
    assert_eq!(harness(&env, "claude").run("msg evict Bob --json").expect_code(3).kind(), "not_joined");
    let evicted = env.ok(&["evict", "Bob", "--force"]);
    assert_eq!(evicted["agent"]["name"], "Bob");
    assert_eq!(env.names(), ["Alice"]);
    let told = env.run(&["whoami", "--as", "Bob", "--json"]).expect_code(3);
    assert_eq!(told.kind(), "evicted", "{told}");
}

/// The line that the person is told to type does the same: with every option, and on the same mesh.
#[test]
fn the_line_to_type_leaves_nothing_out() {
    let (env, mut shell) = stage("claude");
    assert!(shell.run("git init -q .").code == Some(0));
    refused(&mut shell, "msg install claude --join", "msg install claude --join");
    refused(&mut shell, "msg guard install --shared --dry-run", "msg guard install --shared --dry-run");
    refused(&mut shell, "msg guard uninstall --dry-run", "msg guard uninstall --dry-run");
    let mesh = format!("--mesh {}", env.mesh().display());
    refused(&mut shell, &format!("msg guard install {mesh}"), &format!("msg guard install {mesh}"));
    refused(&mut shell, &format!("msg evict Bob --force {mesh}"), &format!("msg evict Bob --force {mesh}"));
    refused(&mut shell, &format!("msg leave --as Bob {mesh}"), &format!("msg leave --as Bob {mesh}"));
    // A command that would be refused is not offered.
    insta::assert_snapshot!(env.redact(shell.run("msg evict Bob")), @"
    [exit 1]
    --- stderr
    error: Bob is alive: process [PID] runs
    hint: if it must go, ask a person to type this at a terminal: msg evict Bob --force
    ");
    insta::assert_snapshot!(env.redact(env.run(&["evict", "Bob"])), @"
    [exit 1]
    --- stderr
    error: Bob is alive: process [PID] runs
    hint: `msg evict Bob --force` takes its name, tasks and paths all the same
    ");
}

#[test]
fn a_spec_outside_the_work_tree() {
    let (env, mut shell) = stage("claude");
    let spec = "- [ ] TASK-1: the secret\n";
    let outside = env.path().join("outside.md");
    put(&outside, spec);
    put(&env.work().join("spec.md"), spec);
    put(&env.work().join("sub/notes.md"), "x");
    symlink(&outside, env.work().join("link.md")).unwrap();
    let outside = outside.display().to_string();
    for file in [outside.as_str(), "../outside.md", "link.md"] {
        for line in [
            format!("msg tasks --spec {file}"),
            format!("msg spec {file}"),
            format!("msg claim TASK-1 --spec {file}"),
            format!("msg complete TASK-1 --tick --spec {file}"),
            format!("msg join Carol --spec {file}"),
        ] {
            for acting_as in ["", " --as Alice"] {
                if line.starts_with("msg join") && !acting_as.is_empty() {
                    continue;
                }
                let ended = shell.run(&format!("{line}{acting_as} --json"));
                assert_eq!(ended.kind(), "in_harness", "{line}: {ended}");
                assert!(!ended.to_string().contains("the secret"), "{line}: {ended}");
            }
        }
    }
    assert_eq!(fs::read_to_string(env.path().join("outside.md")).unwrap(), spec);
    assert_eq!(shell.msg("msg tasks --spec spec.md")["tasks"][0]["title"], "the secret");
    // From a folder of a work tree, any file of that tree may be named.
    let ended = shell.run("cd sub && msg tasks --spec ../spec.md --json; r=$?; cd ..; (exit $r)");
    assert_eq!(ended.kind(), "in_harness", "there is no work tree yet: {ended}");
    assert!(shell.run("git init -q .").code == Some(0));
    let tasks = shell.run("cd sub && msg tasks --spec ../spec.md --json; r=$?; cd ..; (exit $r)");
    assert_eq!(tasks.expect_code(0).json()["tasks"][0]["title"], "the secret");
    // Without a harness there is no such limit.
    env.ok(&["tasks", "--spec", &outside]);
}
