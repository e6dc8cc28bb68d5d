//! Tests of completions that ask for what is in the mesh, with a real bash.

use std::path::Path;
use std::process::Command;

use crate::support::environment::{TestEnvironment, end};

/// What bash offers for the last of these words.
fn offered(env: &TestEnvironment, line: &[&str]) -> Vec<String> {
    let msg = env.msg();
    let program = Path::new(msg.get_program()).parent().unwrap().display().to_string();
    let variables: Vec<(String, String)> = msg
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_str()?.to_string(), value?.to_str()?.to_string())))
        .collect();
    const SCRIPT: &str = "PATH=$1:$PATH; shift; source <(msg completions bash); \
        COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _msg_live msg \"${@: -1}\" \"${@: -2:1}\" 2>/dev/null; \
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut shell = Command::new("bash");
    shell.args(["--norc", "--noprofile", "-c", SCRIPT, "bash", &program]).args(line);
    shell.env_clear().envs(variables).current_dir(env.work());
    end(&mut shell)
        .expect_code(0)
        .stdout
        .lines()
        .filter(|line| !line.is_empty())
        .map(str::to_string)
        .collect()
}

#[test]
fn names_patterns_and_ids_are_offered() {
    let env = TestEnvironment::new();
    for name in ["Alice", "Robin", "Rover"] {
        env.join(name);
    }
    env.ok(&["reserve", "src/auth/", "src/**/*.rs", "--as", "Alice"]);
    assert_eq!(offered(&env, &["msg", "topics", "Ro"]), ["Robin", "Rover"]);
    for line in [
        &["msg", "brief", "A"][..],
        &["msg", "whois", "A"],
        &["msg", "send", "A"],
        &["msg", "handoff", "TASK-01", "A"],
        &["msg", "release", "src/auth/", "--from", "A"],
        &["msg", "delegate", "the login", "--to", "A"],
        &["msg", "--quiet", "brief", "A"],
    ] {
        assert_eq!(offered(&env, line), ["Alice"], "{line:?}");
    }
    assert_eq!(offered(&env, &["msg", "contest", "src/a"]), ["src/auth/"]);
    assert_eq!(offered(&env, &["msg", "contest", "src/"]), [r"src/\*\*/\*.rs", "src/auth/"]);
    assert_eq!(offered(&env, &["msg", "overlaps", "dismiss", ""]), [] as [&str; 0]);
    let options = offered(&env, &["msg", "topics", "--do"]);
    assert_eq!(options, ["--domains"], "the rest is as before");
}

/// A pattern of a peer must not become a command of the person who completes it.
#[test]
fn what_is_offered_is_never_run() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let pattern = "src/$(touch made)`touch made`;touch made";
    env.ok(&["reserve", pattern, "--as", "Alice"]);
    let found = offered(&env, &["msg", "contest", "src/"]);
    assert_eq!(found, [r"src/\$\(touch\ made\)\`touch\ made\`\;touch\ made"]);
    assert!(!env.work().join("made").exists());
}

#[test]
fn values_without_a_mesh_and_bad_kinds() {
    let env = TestEnvironment::new();
    for kind in ["agents", "reservations", "predictions"] {
        assert_eq!(env.run(&["completions", "--values", kind]).expect_code(0).stdout, "", "{kind}");
    }
    assert_eq!(env.fails(2, &["completions", "--values", "secrets"]), "invalid_value");
    assert_eq!(env.fails(2, &["completions"]), "usage");
}
