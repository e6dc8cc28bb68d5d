//! `msg mode`: what agents may do in a repository.

use std::fs;
use std::path::Path;
use std::process::Command;

use ravenry::domain::hook::HookAnswer;
use serde_json::{Value, json};

use super::{detached, script, shown, wait_for_state, with_profiles};
use crate::support::environment::{TestEnvironment, end};
use crate::support::hook_call::Call;
use crate::support::hook_fixture::in_shell;

fn git(dir: &Path, args: &[&str]) {
    let mut git = Command::new("git");
    git.arg("-C").arg(dir).args(["-c", "user.name=J", "-c", "user.email=j@example.org"]).args(args);
    let output = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A repository in the working directory, with a linked work tree beside it.
fn with_repository() -> (TestEnvironment, std::path::PathBuf) {
    let reads = format!("{}readonly = true\n", script("reads", "cat"));
    let env = with_profiles(&[reads, script("writes", "cat")].concat());
    git(&env.work(), &["init", "-q"]);
    fs::write(env.work().join("a.txt"), "a\n").unwrap();
    git(&env.work(), &["add", "."]);
    git(&env.work(), &["commit", "-q", "-m", "one"]);
    let linked = env.path().join("linked");
    git(&env.work(), &["worktree", "add", "-q", linked.to_str().unwrap()]);
    (env, linked)
}

fn edit(env: &TestEnvironment, path: &Path) -> HookAnswer {
    let call = Call::new(env, "claude/PreToolUse-Edit", "s").with("/tool_input/file_path", json!(path));
    call.answer(env)
}

#[track_caller]
fn refused(answer: HookAnswer) -> String {
    match answer {
        HookAnswer::Deny(text) => text,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn it_is_kept_per_repository() {
    let (env, linked) = with_repository();
    assert_eq!(env.ok(&["mode"]), json!({"ok": true, "mode": "build", "since": null}));
    assert_eq!(env.ok(&["mode", "plan"])["mode"], "plan");
    fs::create_dir(linked.join("deep")).unwrap();
    let mode = |dir: &Path| end(env.msg().args(["mode", "-q"]).current_dir(dir)).expect_code(0).stdout;
    assert_eq!(mode(&linked.join("deep")), "plan\n");
    assert_eq!(mode(&env.home()), "build\n", "another folder");
    assert_eq!(env.ok(&["mode", "build"])["since"], Value::Null);
    assert_eq!(mode(&linked), "build\n");
    assert_eq!(env.fails(2, &["mode", "party"]), "invalid_value");
}

#[test]
fn a_folder_without_a_repository_has_one_too() {
    let env = TestEnvironment::new();
    env.ok(&["mode", "review"]);
    fs::create_dir_all(env.work().join("deep")).unwrap();
    assert!(refused(edit(&env, &env.work().join("deep/new.txt"))).contains("`review`"));
    assert_eq!(edit(&env, &env.home().join("notes.txt")), HookAnswer::Silence);
}

#[test]
fn only_a_person_sets_it() {
    let (env, _) = with_repository();
    for args in [&["mode", "plan", "--json"][..], &["mode", "build", "--as", "Robin", "--json"]] {
        let mut msg = env.msg();
        msg.args(args);
        let ended = end(&mut in_shell("\"$@\"", "claude", &msg)).expect_code(1);
        assert_eq!(ended.kind(), "in_harness", "{ended}");
    }
    let mut msg = env.msg();
    let shown = end(&mut in_shell("\"$@\"", "claude", msg.args(["mode", "--json"]))).expect_code(0);
    assert_eq!(shown.json()["mode"], "build");
}

#[test]
fn no_agent_edits_in_any_work_tree() {
    let (env, linked) = with_repository();
    let inside = [env.work().join("a.txt"), linked.join("a.txt"), linked.join("new/file.txt")];
    for path in &inside {
        assert_eq!(edit(&env, path), HookAnswer::Silence, "no mode is set");
    }
    assert!(!env.mesh().join("modes").exists());
    for mode in ["plan", "review", "admin"] {
        env.ok(&["mode", mode]);
        for path in &inside {
            let text = refused(edit(&env, path));
            assert!(
                text.contains(&format!("in mode `{mode}`")) && text.contains("`msg mode build`"),
                "{text}"
            );
        }
        let writes = Call::bash(&env, "PreToolUse", "s", "echo x > a.txt").answer(&env);
        assert!(refused(writes).contains("`a.txt`"));
        let switches = Call::bash(&env, "PreToolUse", "s", "git switch other").answer(&env);
        refused(switches);
        for command in ["cargo test", "git log", "echo x > /tmp/elsewhere"] {
            assert_eq!(
                Call::bash(&env, "PreToolUse", "s", command).answer(&env),
                HookAnswer::Silence,
                "{command}"
            );
        }
    }
    env.ok(&["mode", "build"]);
    assert_eq!(edit(&env, &inside[0]), HookAnswer::Silence);
}

#[test]
fn in_admin_agents_change_settings_and_profiles_and_nothing_else() {
    let (env, _) = with_repository();
    let set = || {
        let mut msg = env.msg();
        msg.args(["config", "set", "stuckThreshold", "60", "--project", "--json"]);
        end(&mut in_shell("\"$@\"", "claude", &msg))
    };
    assert_eq!(set().expect_code(1).kind(), "in_harness");
    env.ok(&["mode", "admin"]);
    set().expect_code(0);
    let mut msg = env.msg();
    msg.args(["config", "set", "strict", "true", "--json"]);
    assert_eq!(end(&mut in_shell("\"$@\"", "claude", &msg)).expect_code(1).kind(), "in_harness");
    for name in ["workers.toml", "config.json"] {
        assert_eq!(edit(&env, &env.work().join(".ravenry").join(name)), HookAnswer::Silence);
    }
    refused(edit(&env, &env.work().join("workers.toml")));
    env.ok(&["mode", "review"]);
    refused(edit(&env, &env.work().join(".ravenry/workers.toml")));
}

#[test]
fn a_worker_of_any_kind_is_no_person() {
    let tries = "msg mode plan --json; env -u MSG_RUN msg mode plan --json; \
                 env -u MSG_RUN setsid msg config set strict true --json; msg workers trust --json; true";
    let env = with_profiles(&script("tries", tries));
    let ended = env.run_with(&["run", "tries", "x", "--json"], &[("PATH", &super::path_with_msg())]);
    let result = ended.expect_code(0).json()["run"]["result"].to_string();
    assert_eq!(result.matches("in_harness").count(), 4, "{result}");
    assert_eq!(env.ok(&["mode"])["mode"], "build");
}

#[test]
fn runs_pass_the_gate_of_the_mode() {
    let (env, linked) = with_repository();
    let gate = |profile: &str, dir: &Path| {
        let ended = end(env.msg().args(["run", profile, "x", "--json"]).current_dir(dir));
        let answer = ended.json();
        (answer["error"]["gate"].clone(), answer["error"]["mode"].clone())
    };
    let open = (Value::Null, Value::Null);
    for (mode, reads, writes) in [
        ("build", open.clone(), open.clone()),
        ("plan", (json!("mode"), json!("plan")), (json!("mode"), json!("plan"))),
        ("review", open.clone(), (json!("mode"), json!("review"))),
        ("admin", open, (json!("mode"), json!("admin"))),
    ] {
        env.ok(&["mode", mode]);
        assert_eq!(gate("reads", &env.work()), reads, "{mode}");
        assert_eq!(gate("writes", &linked), writes, "{mode}");
    }
}

#[test]
fn a_damaged_record_is_told_and_allows_nothing() {
    let (env, _) = with_repository();
    env.ok(&["mode", "review"]);
    let record = fs::read_dir(env.mesh().join("modes")).unwrap().next().unwrap().unwrap().path();
    let newer = r#"{"mode":"of-a-newer-version","since":"2026-01-01T00:00:00Z","directory":"x"}"#;
    for damaged in ["{", newer] {
        fs::write(&record, damaged).unwrap();
        let ended = env.run(&["mode", "--json"]).expect_code(0);
        assert_eq!(ended.json()["mode"], "plan");
        assert!(ended.stderr.contains("the mode can't be read"), "{ended}");
        let text = refused(edit(&env, &env.work().join("a.txt")));
        assert!(text.contains("can't be read") && text.contains("msg mode build"), "{text}");
        let run = env.run(&["run", "reads", "x", "--json"]).json();
        assert_eq!(run["error"]["gate"], "mode", "{run}");
    }
    let doctor = env.run(&["doctor"]).stdout;
    assert!(doctor.contains("the mode of the repository or the record of the run can't be read"), "{doctor}");
    env.ok(&["mode", "build"]);
    assert_eq!(edit(&env, &env.work().join("a.txt")), HookAnswer::Silence);
}

#[test]
fn a_folder_keeps_its_mode_when_it_becomes_a_repository() {
    let env = with_profiles("");
    let folder = env.home().join("folder");
    fs::create_dir(&folder).unwrap();
    let mode =
        |args: &[&str]| end(env.msg().args(args).args(["-q"]).current_dir(&folder)).expect_code(0).stdout;
    mode(&["mode", "plan"]);
    refused(edit(&env, &folder.join("a.txt")));
    git(&folder, &["init", "-q"]);
    assert_eq!(mode(&["mode"]), "plan\n");
    refused(edit(&env, &folder.join("a.txt")));
    mode(&["mode", "build"]);
    assert_eq!(mode(&["mode"]), "build\n");
    assert_eq!(edit(&env, &folder.join("a.txt")), HookAnswer::Silence);
}

#[test]
fn no_agent_writes_modes_or_runs_itself() {
    let env = with_profiles("");
    env.join("Robin");
    for path in ["modes/x", "runs/abc/answer-1.json"] {
        let text = refused(edit(&env, &env.mesh().join(path)));
        assert!(text.contains("only `msg` writes there"), "{text}");
    }
}

#[test]
fn a_run_that_waited_for_its_slot_is_not_started_in_another_mode() {
    let hold = script("hold", "read x < \"$HOME/go\"; echo over");
    let env = with_profiles(&[hold, script("writes", "cat > made.txt")].concat());
    nix::unistd::mkfifo(&env.home().join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    env.ok(&["config", "set", "slots", "1"]);
    let first = detached(&env, "hold", "x");
    wait_for_state(&env, &first, "running");
    let second = detached(&env, "writes", "x");
    assert_eq!(shown(&env, &second)["state"], "queued");
    env.ok(&["mode", "plan"]);
    fs::write(env.home().join("go"), "go\n").unwrap();
    let run = wait_for_state(&env, &second, "stopped");
    assert!(run["reason"].as_str().unwrap().contains("in mode `plan`"), "{run}");
    assert!(!env.work().join("made.txt").exists());
    wait_for_state(&env, &first, "done");
}
