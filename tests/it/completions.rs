//! Tests of completions, which ask for what is in the mesh, with real shells.

#[path = "completions/shells.rs"]
mod shells;
#[path = "completions/traces.rs"]
mod traces;
#[path = "completions/values.rs"]
mod values;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::environment::{TestEnvironment, end, put};

/// What bash offers at the end of a line that consists of these words. A word with a blank is quoted before.
fn offered(env: &TestEnvironment, line: &[&str]) -> Vec<String> {
    offered_in(env, &env.work(), line)
}

fn offered_in(env: &TestEnvironment, dir: &Path, line: &[&str]) -> Vec<String> {
    bash(env, dir, &line.join(" "))
}

/// The variables of a test's `msg`, with the directory of the program first in `PATH`.
fn variables(env: &TestEnvironment) -> Vec<(String, String)> {
    let msg = env.msg();
    let program = Path::new(msg.get_program()).parent().unwrap().display().to_string();
    let known = msg.get_envs();
    let known =
        known.filter_map(|(name, value)| Some((name.to_str()?.to_string(), value?.to_str()?.to_string())));
    let with_program = |(name, value): (String, String)| match name.as_str() {
        "PATH" => (name, format!("{program}:{value}")),
        _ => (name, value),
    };
    known.map(with_program).collect()
}

/// What bash inserts at the end of the line.
fn bash(env: &TestEnvironment, dir: &Path, line: &str) -> Vec<String> {
    const SCRIPT: &str = "source <(msg completions bash); COMP_WORDBREAKS=$' \\t\\n\"\\'@><=;|&(:'; \
        COMP_LINE=$1; COMP_POINT=${#COMP_LINE}; _msg msg; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut shell = Command::new("bash");
    shell.args(["--norc", "--noprofile", "-c", SCRIPT, "bash", line]);
    shell.env_clear().envs(variables(env)).current_dir(dir);
    let ended = end(&mut shell).expect_code(0);
    assert_eq!(ended.stderr, "", "{line}");
    ended.stdout.lines().filter(|line| !line.is_empty()).map(str::to_string).collect()
}

/// What `msg` answers zsh and fish: a value and what is said about it, by the first word of the answer.
fn answer(env: &TestEnvironment, words: &[&str]) -> (String, Vec<(String, String)>) {
    let ended = env.run(&[&["completions", "--answer", "fish", "msg"], words].concat()).expect_code(0);
    assert_eq!(ended.stderr, "", "{words:?}");
    let mut lines = ended.stdout.lines().map(str::to_string);
    let head = lines.next().unwrap_or_default();
    let pair = |line: String| match line.split_once('\t') {
        Some((value, about)) => (value.to_string(), about.to_string()),
        None => (line, String::new()),
    };
    (head, lines.map(pair).collect())
}

fn values_of(env: &TestEnvironment, words: &[&str]) -> Vec<String> {
    answer(env, words).1.into_iter().map(|(value, _)| value).collect()
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
        &["A=1", "msg", "brief", "A"],
        &["msg", "release", "src/auth/", "--from", "A"],
        &["msg", "delegate", "'the login'", "--to", "A"],
        &["msg", "--quiet", "brief", "A"],
    ] {
        assert_eq!(offered(&env, line), ["Alice"], "{line:?}");
    }
    assert_eq!(offered(&env, &["msg", "contest", "src/a"]), ["src/auth/"]);
    assert_eq!(offered(&env, &["msg", "contest", "src/"]), [r"src/\*\*/\*.rs", "src/auth/"]);
    assert_eq!(offered(&env, &["msg", "overlaps", "dismiss", ""]), [] as [&str; 0]);
    // Bash takes a word apart at these.
    assert_eq!(offered(&env, &["msg", "send", "@a"]), ["all"]);
    assert_eq!(offered(&env, &["msg", "send", "Alice,Ro"]), ["Alice,Robin", "Alice,Rover"]);
    assert_eq!(offered(&env, &["msg", "send", "Alice", "hi", "--kind=q"]), ["question"]);
    // In quotes that are still open.
    assert_eq!(offered(&env, &["msg", "contest", "'src/**"]), ["src/**/*.rs"]);
    assert_eq!(offered(&env, &["msg", "contest", "\"src/a"]), ["src/auth/"]);
    let options = offered(&env, &["msg", "topics", "--do"]);
    assert_eq!(options, ["--domains"]);
}

#[test]
fn ids_of_runs_are_offered() {
    let env = crate::runs::with_profiles(&crate::runs::script("echo", "cat"));
    let run = env.ok(&["run", "echo", "x"])["run"]["id"].as_str().unwrap().to_string();
    for command in ["show", "log", "retry", "resume", "open", "diff", "merge", "pr", "discard"] {
        assert_eq!(offered(&env, &["msg", "runs", command, &run[..2]]), [run.as_str()], "{command}");
    }
    assert_eq!(offered(&env, &["msg", "runs", "stop", ""]), [] as [&str; 0], "it has ended");
}

/// What was completed before is on the line with its quotes.
#[test]
fn a_quoted_word_is_completed_further() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.ok(&["reserve", "src/**/*.rs", "src/**/*.md", "--as", "Alice"]);
    for typed in ["src/", "src/**/", r"src/\*\*/", r"src/\*\*/\*."] {
        let found = offered(&env, &["msg", "contest", typed]);
        assert_eq!(found, [r"src/\*\*/\*.md", r"src/\*\*/\*.rs"], "{typed}");
    }
    assert_eq!(offered(&env, &["msg", "contest", r"src/\*\*/\*.m"]), [r"src/\*\*/\*.md"]);
}

#[test]
fn values_of_options_are_no_arguments() {
    let env = TestEnvironment::new();
    for name in ["Alice", "Robin"] {
        env.join(name);
    }
    env.ok(&["reserve", "src/auth/", "--as", "Alice"]);
    for line in [
        &["msg", "--as", "Robin", "contest", "src/"][..],
        &["msg", "--as=Robin", "contest", "src/"],
        &["msg", "contest", "--as", "Robin", "src/"],
        &["msg", "contest", "--reason", "'the login'", "src/"],
        &["msg", "--color", "never", "-q", "contest", "src/"],
    ] {
        assert_eq!(offered(&env, line), ["src/auth/"], "{line:?}");
    }
    for line in [
        &["msg", "--as", "Robin", "release", "src/auth/", "--from", "A"][..],
        &["msg", "release", "src/auth/", "--from=A"],
    ] {
        assert_eq!(offered(&env, line), ["Alice"], "{line:?}");
    }
    let reason = offered(&env, &["msg", "contest", "--reason", "src/"]);
    assert!(!reason.contains(&"src/auth/".to_string()), "{reason:?}");
}

/// What is offered means the same reservation where it is typed.
#[test]
fn patterns_are_those_of_this_project_as_written_from_here() {
    let env = TestEnvironment::new();
    let (other, inner) = (env.path().join("other"), env.work().join("src/inner"));
    for dir in [&other, &inner, &env.work().join(".git")] {
        fs::create_dir_all(dir).unwrap();
    }
    for file in [inner.join("[id].tsx"), inner.join("[gone].tsx"), env.work().join(".git/HEAD")] {
        fs::write(file, "").unwrap();
    }
    for name in ["Alice", "Robin"] {
        env.join(name);
    }
    let host = env.host().to_string();
    let in_dir = |dir: &Path, args: &[&str]| end(env.msg().current_dir(dir).args(args)).expect_code(0);
    in_dir(&other, &["join", "Rover", "--pid", &host, "--session", "session of Rover"]);
    in_dir(&other, &["reserve", "src/elsewhere/", "--as", "Rover"]);
    env.ok(&["reserve", "src/inner/a.rs", "src/inner/-x", "src/auth/", "--as", "Alice"]);
    env.ok(&["reserve", "src/inner/[id].tsx", "src/inner/[gone].tsx", "--as", "Alice"]);
    fs::remove_file(inner.join("[gone].tsx")).unwrap();
    let root = fs::canonicalize(env.work()).unwrap();
    let auth = root.join("src/auth/").display().to_string();
    let values = |dir: &Path, name: &str| -> Vec<String> {
        let ended = in_dir(dir, &["completions", "--answer", "fish", "msg", "--as", name, "contest", ""]);
        ended.stdout.lines().skip(1).map(|line| line.split('\t').next().unwrap().to_string()).collect()
    };
    let here = ["src/auth/", "src/inner/-x", "src/inner/[id].tsx", "src/inner/a.rs"];
    assert_eq!(values(&env.work(), "Robin"), here);
    let found = values(&inner, "Robin");
    assert_eq!(found, ["./-x", &auth, "[id].tsx", "a.rs"]);
    assert_eq!(values(&inner, "Alice"), [] as [&str; 0], "they are her own");
    assert_eq!(values(&other, "Robin"), ["src/elsewhere/"]);
    for pattern in &found {
        in_dir(&inner, &["contest", pattern, "--as", "Robin"]);
    }
    assert_eq!(offered_in(&env, &inner, &["msg", "contest", "a"]), ["a.rs"]);
}

/// Nothing is taken from an agent of pi-messenger, nor from a person by an agent.
#[test]
fn only_what_can_be_contested_is_offered() {
    let env = TestEnvironment::new();
    for name in ["Alice", "Bob"] {
        env.join(name);
    }
    for person in ["Person", "Visitor"] {
        env.ok(&["join", person, "--pid", &env.host().to_string(), "--harness", "terminal"]);
    }
    let mut foreign: Value =
        serde_json::from_str(include_str!("../../fixtures/pi-messenger/registry-RedIce.json")).unwrap();
    foreign["pid"] = json!(env.pi_host());
    foreign["cwd"] = json!(env.work());
    put(&env.mesh().join("registry/RedIce.json"), &foreign.to_string());
    env.ok(&["reserve", "src/ui/", "--as", "Alice"]);
    env.ok(&["reserve", "docs/", "--as", "Person"]);
    let values = |name: &str| values_of(&env, &["--as", name, "contest", ""]);
    for (name, can, cannot) in [
        ("Bob", &["src/ui/"][..], &["config.yaml", "docs/", "src/auth/"][..]),
        ("Visitor", &["docs/", "src/ui/"], &["config.yaml", "src/auth/"]),
    ] {
        assert_eq!(values(name), can, "{name}");
        can.iter().for_each(|pattern| drop(env.ok(&["contest", pattern, "--as", name])));
        for pattern in cannot {
            let kind = if *pattern == "docs/" { "held_by_person" } else { "foreign_agent" };
            assert_eq!(env.fails(1, &["contest", pattern, "--as", name]), kind, "{name}: {pattern}");
        }
    }
    assert_eq!(
        offered(&env, &["msg", "contest", ""]),
        ["src/ui/"],
        "a caller that is not known counts as an agent"
    );
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
fn a_shell_must_be_named() {
    let env = TestEnvironment::new();
    assert_eq!(env.fails(2, &["completions"]), "usage");
    assert_eq!(env.fails(2, &["completions", "tcsh"]), "invalid_value");
}
