//! What a project's file says about programs counts only after a person trusted it.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Command;

use ravenry::sys::test_switches::ANCESTRY_HIDDEN;
use serde_json::{Value, json};

use super::{profile, project_file};
use crate::support::environment::{TestEnvironment, end, put};
use crate::support::terminal::{Terminal, harness};

const TEXT: &str =
    "[lint]\ncommand = ['make', 'lint']\nmodel = 'm'\n\n[worktree]\ncopy = '.env'\nsetup = 'npm ci'\n";

/// A project with a file that names programs.
fn project() -> TestEnvironment {
    let env = TestEnvironment::new();
    put(&project_file(&env), TEXT);
    env
}

#[track_caller]
fn workers_in(env: &TestEnvironment, dir: &Path) -> Value {
    end(env.msg().args(["workers", "--json"]).current_dir(dir)).expect_code(0).json()
}

#[track_caller]
fn state(answer: &Value) -> &str {
    answer["trust"]["state"].as_str().unwrap()
}

#[test]
fn what_nobody_trusted_does_not_count() {
    let env = project();
    let answer = env.ok(&["workers"]);
    assert_eq!(state(&answer), "untrusted");
    assert_eq!(answer["trust"]["keys"], json!(["lint.command", "worktree.setup"]));
    let lint = profile(&answer, "lint");
    assert_eq!((&lint["command"], &lint["untrusted"]), (&Value::Null, &json!(["command"])));
    assert_eq!((&lint["model"], &answer["worktree"]["copy"]), (&"m".into(), &json!([".env"])));
    assert_eq!(
        (&answer["worktree"]["setup"], &answer["worktree"]["untrusted"]),
        (&json!([]), &json!(["setup"]))
    );
    // Without a terminal nobody was asked, so it has to be said.
    let ended = env.run(&["workers", "trust", "--json"]).expect_code(2);
    assert_eq!(ended.kind(), "no_terminal");
    let error = &ended.json()["error"];
    assert!(error["diff"].as_str().unwrap().contains("+command = ['make', 'lint']"), "{error}");
    assert_eq!(state(&env.ok(&["workers"])), "untrusted");

    let trusted = env.ok(&["workers", "trust", "--yes"]);
    assert_eq!((state(&trusted), &trusted["changed"]), ("trusted", &true.into()));
    let lint = profile(&trusted, "lint");
    assert_eq!((&lint["command"], &lint["untrusted"]), (&json!(["make", "lint"]), &json!([])));
    assert_eq!(trusted["worktree"]["setup"], json!(["npm ci"]));
    assert_eq!(env.ok(&["workers", "trust"])["changed"], false, "nothing is left to ask");
    assert_eq!(state(&env.ok(&["workers", "trust", "--revoke"])), "untrusted");
    assert_eq!(env.ok(&["workers", "trust", "--revoke"])["changed"], false);
}

#[test]
fn one_byte_takes_the_trust_away() {
    let env = project();
    env.ok(&["workers", "trust", "--yes"]);
    put(&project_file(&env), &TEXT.replace("npm ci", "npm cj"));
    let answer = env.ok(&["workers"]);
    assert_eq!(state(&answer), "changed");
    let diff = answer["trust"]["diff"].as_str().unwrap();
    assert!(diff.contains("-setup = 'npm ci'\n+setup = 'npm cj'\n"), "{diff}");
    assert_eq!(profile(&answer, "lint")["command"], Value::Null, "none of its programs count");
    // A comment is a change, too: the whole content is compared.
    put(&project_file(&env), &format!("{TEXT}#\n"));
    assert_eq!(state(&env.ok(&["workers"])), "changed");
    put(&project_file(&env), TEXT);
    assert_eq!(state(&env.ok(&["workers"])), "trusted");
}

#[test]
fn only_this_project_is_trusted() {
    let env = project();
    env.ok(&["workers", "trust", "--yes"]);
    let other = env.path().join("other");
    put(&other.join(".ravenry/workers.toml"), TEXT);
    assert_eq!(state(&workers_in(&env, &other)), "untrusted");
    // By another path it is the same project.
    symlink(env.work(), env.path().join("link")).unwrap();
    assert_eq!(state(&workers_in(&env, &env.path().join("link"))), "trusted");
    let dir = env.home().join(".local/state/ravenry-trust");
    for entry in fs::read_dir(&dir).unwrap() {
        let metadata = entry.unwrap().metadata().unwrap();
        let mode = if metadata.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(metadata.mode() & 0o777, mode);
    }
    assert_eq!(fs::metadata(&dir).unwrap().mode() & 0o777, 0o700);
}

fn git(dir: &Path, args: &[&str]) {
    let identity = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"];
    let mut command = Command::new("git");
    command.current_dir(dir).args(identity).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let ended = command.output().unwrap();
    assert!(ended.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn all_work_trees_of_a_repository_are_one_project() {
    let env = project();
    git(&env.work(), &["init", "-q"]);
    git(&env.work(), &["add", "-A"]);
    git(&env.work(), &["commit", "-q", "-m", "x"]);
    let linked = env.path().join("linked");
    git(&env.work(), &["worktree", "add", "-q", linked.to_str().unwrap()]);
    assert_eq!(state(&workers_in(&env, &linked)), "untrusted");
    env.ok(&["workers", "trust", "--yes"]);
    assert_eq!(state(&workers_in(&env, &linked)), "trusted");
    put(&linked.join(".ravenry/workers.toml"), &format!("{TEXT}\n"));
    assert_eq!(state(&workers_in(&env, &linked)), "changed", "its own text counts");
    // A directory that only says that it belongs to the repository does not.
    let forged = env.path().join("forged");
    put(&forged.join(".ravenry/workers.toml"), TEXT);
    fs::copy(linked.join(".git"), forged.join(".git")).unwrap();
    assert_eq!(state(&workers_in(&env, &forged)), "untrusted");
}

#[test]
fn a_model_can_not_trust() {
    for name in ["claude", "codex", "gemini", "opencode", "pi", "copilot"] {
        let env = project();
        let mut shell = harness(&env, name);
        for line in ["msg workers trust --yes", "msg workers trust", "msg workers trust --revoke"] {
            let ended = shell.run(&format!("{line} --json")).expect_code(1);
            assert_eq!(ended.kind(), "in_harness", "{name}: {ended}");
            let hints = ended.json()["error"]["hints"].to_string();
            let wanted = line.trim_end_matches(" --yes");
            assert!(hints.contains(&format!("cd {} && {wanted}", env.work().display())), "{name}: {hints}");
        }
        shell.run("msg workers trust --yes --as Alice --json").expect_code(1);
        assert_eq!(state(&shell.msg("msg workers")), "untrusted", "looking is allowed");
    }
    let env = project();
    let hidden = [("CLAUDE_CODE_SESSION_ID", "s"), (ANCESTRY_HIDDEN, "1")];
    env.run_with(&["workers", "trust", "--yes"], &hidden).expect_code(1);
    assert_eq!(state(&env.ok(&["workers"])), "untrusted");
}

#[test]
fn a_person_is_shown_what_would_count() {
    let env = project();
    put(&project_file(&env), &TEXT.replace("'npm ci'", "\"\"\"npm ci\nrm -rf \u{202e}x\"\"\""));
    let mut terminal = Terminal::open(&env);
    for answer in ["n\n", "\n", "yes please\n"] {
        let shown = terminal.show_while_typing("msg workers trust --color never", answer);
        assert!(shown.contains("+command = ['make', 'lint']") && shown.contains("lint.command"), "{shown}");
        assert!(shown.contains("[y/N]") && shown.contains("nothing was changed"), "{shown}");
        assert!(!shown.contains('\u{202e}'), "{shown}");
    }
    assert_eq!(state(&env.ok(&["workers"])), "untrusted");
    let shown = terminal.show_while_typing("msg workers trust --color never", "y\n");
    assert!(shown.contains("Trusted `.ravenry/workers.toml`, until it changes."), "{shown}");
    assert_eq!(state(&env.ok(&["workers"])), "trusted");
}

#[test]
fn what_can_not_be_read_is_not_trusted() {
    let env = project();
    put(&project_file(&env), &format!("{TEXT}[p]\ncomand = ['x']\n"));
    assert_eq!(env.fails(4, &["workers", "trust", "--yes"]), "bad_config");
    put(&project_file(&env), "[p]\nmodel = 'x'\n");
    let shown = env.run(&["workers", "trust"]).expect_code(0).stdout;
    assert_eq!(shown, "`.ravenry/workers.toml` has no key that needs trust.\n");
    // Damaged records trust nothing, and that is told.
    put(&project_file(&env), TEXT);
    env.ok(&["workers", "trust", "--yes"]);
    let dir = env.home().join(".local/state/ravenry-trust");
    let is_record = |path: &std::path::PathBuf| path.extension().is_some_and(|it| it == "json");
    let record = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).find(is_record).unwrap();
    fs::write(&record, "{").unwrap();
    let ended = env.run(&["workers", "--json"]).expect_code(0);
    assert_eq!(state(&ended.json()), "untrusted");
    assert!(ended.stderr.contains("nothing counts as trusted"), "{ended}");
    assert_eq!(state(&env.ok(&["workers", "trust", "--yes"])), "trusted");
}
