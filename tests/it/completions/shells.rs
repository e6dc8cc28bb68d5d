//! What is typed in real shells, with the tab key.

use std::io::Write;
use std::process::{Command, Stdio};

use super::variables;
use crate::support::environment::{TestEnvironment, end};
use crate::support::skip::skip;

/// A pattern that a shell must not run, and a path without surprises.
const EVIL: &str = "src/$(touch made)`touch made`;touch made";

fn stage() -> TestEnvironment {
    let env = TestEnvironment::new();
    for name in ["Alice", "Robin"] {
        env.join(name);
    }
    env.ok(&["reserve", EVIL, "docs/auth/", "--as", "Alice"]);
    env
}

fn is_missing(program: &str) -> bool {
    let is_missing = Command::new(program).arg("--version").stdout(Stdio::null()).status().is_err();
    if is_missing {
        skip(&format!("{program} is missing"));
    }
    is_missing
}

/// Types keys into an interactive shell on a terminal; returns what was on the screen.
fn type_in(env: &TestEnvironment, shell: &str, keys: &str) -> String {
    let mut command = Command::new("script");
    command.args(["-qec", shell, "/dev/null"]).env_clear().envs(variables(env));
    command.env("TERM", "xterm").env("SHELL", "/bin/sh").env("PS1", "> ").current_dir(env.work());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(keys.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(input);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What was completed is what is meant, and was run by no shell.
#[track_caller]
fn check_contests(env: &TestEnvironment, screen: &str) {
    let contests = env.ok(&["reservations"]).to_string();
    let feed = env.ok(&["feed", "--json"]).to_string();
    for pattern in ["docs/auth/", "src/$(touch made)"] {
        assert!(
            feed.contains("\"type\":\"contest\"") && feed.contains(pattern),
            "{screen}\n{feed}\n{contests}"
        );
    }
    assert!(!env.work().join("made").exists(), "{screen}");
}

const CONTESTS: &str = "msg contest do\t --as Robin\nmsg contest src/\t --as Robin\nexit\n";

#[test]
fn in_bash() {
    if is_missing("script") {
        return;
    }
    let env = stage();
    let keys = format!("source <(msg completions bash)\n{CONTESTS}");
    let screen = type_in(&env, "bash --norc --noprofile -i", &keys);
    check_contests(&env, &screen);
}

#[test]
fn in_zsh() {
    if is_missing("script") || is_missing("zsh") {
        return;
    }
    let env = stage();
    let keys = format!("autoload -U compinit; compinit -u -D; source <(msg completions zsh)\n{CONTESTS}");
    let screen = type_in(&env, "zsh -f -i", &keys);
    check_contests(&env, &screen);
}

#[test]
fn in_fish() {
    if is_missing("fish") {
        return;
    }
    let env = stage();
    let offered = |line: &str| -> Vec<String> {
        let mut shell = Command::new("fish");
        shell.args(["--no-config", "-c", "msg completions fish | source; complete -C $argv[1]", line]);
        shell.env_clear().envs(variables(&env)).current_dir(env.work());
        let ended = end(&mut shell).expect_code(0);
        assert_eq!(ended.stderr, "", "{line}");
        ended.stdout.lines().map(|line| line.split('\t').next().unwrap().to_string()).collect()
    };
    assert_eq!(offered("msg topics Ro"), ["Robin"]);
    assert_eq!(offered("msg --as Robin contest do"), ["docs/auth/"]);
    assert_eq!(offered("msg --as Robin contest src/"), [EVIL]);
    assert_eq!(offered("msg send @al"), ["@all"]);
    assert_eq!(offered("msg send Robin,Al"), ["Robin,Alice"]);
    assert_eq!(offered("msg topics --do"), ["--domains"]);
    assert_eq!(offered("msg send Robin hi --kind=qu"), ["--kind=question"]);
    assert_eq!(offered("msg config set nameTheme sp"), ["space"]);
    assert!(offered("msg ").contains(&"knowledge".to_string()));
    assert!(!env.work().join("made").exists());
}
