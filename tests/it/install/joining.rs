//! From `install` to sessions that join: each command says what the next step is.

use super::*;
use crate::support::terminal::Terminal;
use insta::assert_snapshot;

fn next(env: &TestEnvironment) -> Vec<String> {
    let next = env.ok(&[])["next"].as_array().unwrap().clone();
    next.iter().map(|it| it.as_str().unwrap().to_string()).collect()
}

const SET: &str = "msg config set autoRegister true";

#[test]
fn doctor_warns_until_sessions_join() {
    let env = TestEnvironment::new();
    assert_snapshot!(env.doctor_says("joining"), @"");
    assert_snapshot!(env.doctor_says("installed"), @"
    warn: in no harness
    fix: `msg setup` installs into every harness found, and lets sessions join
    ");
    install(&env, "claude");
    install(&env, "codex");
    assert_snapshot!(env.doctor_says("joining"), @"
    warn: installed in claude, codex, but sessions do not join by themselves
    fix: `msg config set autoRegister true`
    ");
    assert_snapshot!(env.doctor_says("installed"), @"ok: in claude, codex");
    env.ok(&["config", "set", "autoRegister", "true"]);
    assert_snapshot!(env.doctor_says("joining"), @"");
    env.ok(&["config", "unset", "autoRegister"]);
    env.ok(&["config", "set", "autoRegisterPaths", "~/work"]);
    assert_snapshot!(env.doctor_says("joining"), @"");
}

#[test]
fn msg_alone_knows_what_is_installed() {
    let env = TestEnvironment::new();
    assert_eq!(next(&env)[0], "msg setup");
    install(&env, "gemini");
    assert_eq!(next(&env)[0], SET);
    env.ok(&["config", "set", "autoRegister", "true"]);
    assert_eq!(next(&env)[0], "msg join");
}

#[test]
fn install_ends_with_the_next_step_or_takes_it() {
    let env = TestEnvironment::new();
    let is_on = || env.ok(&["config", "get", "autoRegister"])["values"]["autoRegister"]["value"].clone();
    assert_snapshot!(env.redact(env.run(&["install", "claude"])), @"
    claude: `[DIR]/home/.claude/settings.json` is new.
    claude: `[DIR]/home/.claude.json` is new.
    Restart running sessions to pick this up.
    Next: `msg config set autoRegister true` lets sessions join by themselves; they do not yet.
    ");
    assert_eq!(env.ok(&["install", "claude"])["autoRegister"], false);
    assert_eq!(is_on(), false);
    assert_snapshot!(env.redact(env.run(&["install", "tmux"])), @"
    tmux: `[DIR]/home/.tmux.conf` is new.
    `tmux source-file`, with that path, loads it into a running tmux.
    ");
    let dry = env.run(&["install", "claude", "--dry-run", "--join"]).expect_code(0).stdout;
    assert!(!dry.contains("autoRegister"), "{dry}");
    assert_eq!(is_on(), false);
    assert_snapshot!(env.redact(env.run(&["install", "claude", "--join"])), @"
    claude is installed already.
    Sessions now join by themselves.
    ");
    assert_eq!(is_on(), true);
    assert_eq!(env.ok(&["install", "claude"])["autoRegister"], true);
    assert_snapshot!(env.redact(env.run(&["install", "claude"])), @"claude is installed already.");
}

#[test]
fn on_a_terminal_it_asks() {
    for (typed, expected) in [("n\n", false), ("\n", true), ("yes\n", true)] {
        let env = TestEnvironment::new();
        let mut terminal = Terminal::open(&env);
        let said = terminal.show_while_typing("msg install claude", typed);
        assert!(said.contains("Let sessions join by themselves"), "{said}");
        let found = env.ok(&["config", "get", "autoRegister"])["values"]["autoRegister"]["value"].clone();
        assert_eq!(found, expected, "{typed:?}: {said}");
    }
}

#[test]
fn without_a_name_it_lists_them() {
    let env = TestEnvironment::new();
    std::fs::create_dir(at(&env, ".gemini")).unwrap();
    install(&env, "claude");
    let path = "/nowhere";
    let listed =
        env.run_with(&["install", "--json"], &[("PATH", path)]).expect_code(0).json()["harnesses"].clone();
    let row = |name: &str| listed.as_array().unwrap().iter().find(|it| it["name"] == name).unwrap().clone();
    assert_eq!(listed.as_array().unwrap().len(), HARNESSES.len());
    assert_eq!(row("claude"), serde_json::json!({ "name": "claude", "present": true, "installed": true }));
    assert_eq!(row("gemini"), serde_json::json!({ "name": "gemini", "present": true, "installed": false }));
    assert_eq!(row("pi"), serde_json::json!({ "name": "pi", "present": false, "installed": false }));
    assert_snapshot!(env.run_with(&["install"], &[("PATH", path)]), @"
    claude    installed
    codex     not found
    gemini    there, not installed
    opencode  not found
    pi        not found
    copilot   not found
    kimi      not found
    qwen      not found
    `msg install NAME` installs into one, `msg install all` into all that are found.
    ");
}

/// A project's setting applies there only; `--join` is about the user's own setting.
#[test]
fn a_project_does_not_decide_for_the_user() {
    let user = |env: &TestEnvironment| {
        fs::read_to_string(at(env, ".config/ravenry/config.json")).unwrap_or_default().contains("true")
    };
    let env = TestEnvironment::new();
    put(&env.work().join(".ravenry/config.json"), "{\"autoRegister\": true}");
    assert_eq!(env.ok(&["install", "claude"])["autoRegister"], false);
    let done = env.ok(&["install", "claude", "--join"]);
    assert_eq!((&done["autoRegister"], &done["overriddenBy"]), (&true.into(), &Value::Null));
    assert!(user(&env));
    put(&env.work().join(".ravenry/config.json"), "{\"autoRegister\": false}");
    let done = env.ok(&["install", "claude", "--join"]);
    assert_eq!(done["autoRegister"], true);
    let told = done["overriddenBy"].as_str().unwrap();
    assert!(told.ends_with(".ravenry/config.json"), "{told}");
    assert_snapshot!(env.redact(env.run(&["install", "claude"])), @"
    claude is installed already.
    In this folder sessions do not join by themselves: [DIR]/work/.ravenry/config.json sets autoRegister otherwise.
    ");
}

#[test]
fn a_configuration_that_cannot_be_changed_stops_join_before_anything_is() {
    let env = TestEnvironment::new();
    give(&env, ".config/ravenry/config.json", "{");
    let before = tree(&env.home());
    assert_eq!(env.fails(4, &["install", "claude", "--join"]), "bad_config");
    assert_eq!(tree(&env.home()), before);
    // Without `--join`, installing is not refused.
    assert_eq!(env.ok(&["install", "claude"])["autoRegister"], false);
}

#[test]
fn join_is_about_sessions_of_a_harness() {
    let env = TestEnvironment::new();
    let before = tree(&env.home());
    assert_eq!(env.fails(2, &["install", "tmux", "--join"]), "usage");
    assert_eq!(env.fails(2, &["install", "--join"]), "usage");
    assert_eq!(tree(&env.home()), before);
}
