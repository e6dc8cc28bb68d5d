//! What pi-messenger wrote is read and extended, and pi-messenger can still read it; and a spec is the same however it
//! is spelled.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::crowd::{entries, ledger};
use super::fixture::mail;
use crate::support::environment::{TestEnvironment, end, put};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/pi-messenger/");
const SPEC: &str =
    "- [ ] TASK-01: log in\n- [ ] TASK-02: log out (needs TASK-01)\n- [ ] TASK-03: more (needs TASK-01)\n";
/// The session in the fixtures, and their spec.
const SESSION: &str = "0195b6aa-7c3e-7d51-9d0c-1f6a2b3c4d5e";
const THEIR_SPEC: &str = "/home/dev/proj/spec.md";

/// A file of pi-messenger's, with our spec in place of theirs, and that process.
fn fixture(name: &str, spec: &str, pid: u32) -> String {
    let text = fs::read_to_string(format!("{FIXTURES}{name}")).unwrap();
    let mut text = text.replace(THEIR_SPEC, spec);
    for theirs in ["16024", "16764"] {
        text = text.replace(&format!("\"pid\": {theirs}"), &format!("\"pid\": {pid}"));
    }
    text
}

/// Alice and Bob, who have the spec, in a mesh that a pi-messenger agent was in before them.
fn scene() -> (TestEnvironment, String) {
    let env = TestEnvironment::new();
    put(&env.work().join("spec.md"), SPEC);
    for name in ["Alice", "Bob"] {
        env.join(name);
        env.ok(&["spec", "spec.md", "--as", name]);
    }
    let spec = fs::canonicalize(env.work()).unwrap().join("spec.md").to_str().unwrap().to_string();
    (env, spec)
}

/// The same with pi-messenger's RedIce in it, who names the spec through a link.
struct Linked {
    env: TestEnvironment,
    spec: String,
    theirs: String,
    pid: u32,
}

fn linked() -> Linked {
    let (env, spec) = scene();
    let pid = env.pi_host();
    let link = env.path().join("link");
    symlink(env.work(), &link).unwrap();
    let theirs = link.join("spec.md").to_str().unwrap().to_string();
    // It was active just now: reports about stuck agents belong to another test.
    let registration = fixture("registry-RedIce.json", &theirs, pid);
    let registration = registration.replace("2026-11-14T23:57:56.103Z", "2099-11-14T23:57:56.103Z");
    put(&env.mesh().join("registry/RedIce.json"), &registration);
    Linked { env, spec, theirs, pid }
}

/// Asserts that pi-messenger can read them: `entry.agent`, `entry.sessionId`, `entry.pid`, `entry.claimedAt`; and for
/// completions `entry.completedBy` and `entry.completedAt`. It parses the times as dates.
#[track_caller]
fn assert_readable_for_pi(mesh: &Path) {
    let is_time = |value: &Value| {
        let text = value.as_str().unwrap();
        text.len() == "2026-11-14T23:57:56.081Z".len() && text.parse::<jiff::Timestamp>().is_ok()
    };
    for (spec, task, entry) in entries(&ledger(mesh, "claims.json")) {
        assert!(spec.starts_with('/') && entry["agent"].is_string(), "{spec} {task}: {entry}");
        assert!(entry["sessionId"].is_string() && entry["pid"].is_u64(), "{spec} {task}: {entry}");
        assert!(is_time(&entry["claimedAt"]), "{spec} {task}: {entry}");
        assert!(matches!(entry["reason"], Value::Null | Value::String(_)), "{spec} {task}: {entry}");
    }
    for (spec, task, entry) in entries(&ledger(mesh, "completions.json")) {
        assert!(spec.starts_with('/') && entry["completedBy"].is_string(), "{spec} {task}: {entry}");
        assert!(is_time(&entry["completedAt"]), "{spec} {task}: {entry}");
        assert!(matches!(entry["notes"], Value::Null | Value::String(_)), "{spec} {task}: {entry}");
    }
}

fn states(env: &TestEnvironment, args: &[&str]) -> Vec<(String, Value)> {
    let listing = env.ok(&[&["tasks", "--as", "Alice"], args].concat());
    let rows = listing["tasks"].as_array().unwrap().iter();
    rows.map(|row| (row["state"].as_str().unwrap().to_string(), row["agent"].clone())).collect()
}

#[test]
fn their_files_are_read_and_extended() {
    for (claims, completions, registration, name) in [
        ("claims-after-complete.json", "completions.json", "registry-RedIce.json", "RedIce"),
        ("v050-claims.json", "v050-completions.json", "v050-registry-IronZenith.json", "IronZenith"),
    ] {
        let (env, spec) = scene();
        let pid = env.pi_host();
        put(&env.mesh().join(format!("registry/{name}.json")), &fixture(registration, &spec, pid));
        put(&env.mesh().join("claims.json"), &fixture(claims, &spec, pid));
        put(&env.mesh().join("completions.json"), &fixture(completions, &spec, pid));
        let (theirs, done) = (ledger(&env.mesh(), "claims.json"), ledger(&env.mesh(), "completions.json"));
        assert_eq!(states(&env, &[])[0], ("done".to_string(), json!(name)));

        // TASK-01 is done, so what depends on it is ready; v0.14's agent works on TASK-02.
        let taken =
            env.ok(&["claim", "--next", "--reason", "mine", "--as", "Alice"])["claim"]["task"].clone();
        let expected = if name == "RedIce" { "TASK-03" } else { "TASK-02" };
        assert_eq!(taken, expected);
        assert_readable_for_pi(&env.mesh());
        let claims = ledger(&env.mesh(), "claims.json");
        if name == "RedIce" {
            assert_eq!(claims[&spec]["TASK-02"], theirs[&spec]["TASK-02"], "as it was");
            assert_eq!(env.fails(1, &["claim", "TASK-02", "--as", "Bob"]), "already_claimed");
            assert_eq!(env.fails(1, &["complete", "TASK-02", "--as", "Bob"]), "not_yours");
        }
        env.ok(&["complete", expected, "--notes", "done", "--as", "Alice"]);
        assert_readable_for_pi(&env.mesh());
        let after = ledger(&env.mesh(), "completions.json");
        assert_eq!(after[&spec]["TASK-01"], done[&spec]["TASK-01"], "as it was");
        assert_eq!(after[&spec][expected]["completedBy"], "Alice");
        assert_eq!(env.fails(1, &["claim", "TASK-01", "--as", "Bob"]), "already_completed");
    }
}

#[test]
fn their_claim_lives_as_long_as_they_do() {
    let (env, spec) = scene();
    let pid = env.pi_host();
    let registration = env.mesh().join("registry/RedIce.json");
    put(&registration, &fixture("registry-RedIce.json", &spec, pid));
    put(&env.mesh().join("claims.json"), &fixture("claims.json", &spec, pid));
    assert_eq!(states(&env, &[])[0], ("claimed".to_string(), json!("RedIce")));
    assert_eq!(env.fails(1, &["claim", "TASK-01", "--as", "Alice"]), "already_claimed");
    assert_eq!(env.fails(1, &["claim", "--next", "--as", "Alice"]), "nothing_ready");
    env.ok(&["claim", "other", "--adhoc", "--as", "Alice"]);
    env.ok(&["unclaim", "--as", "Alice"]);
    assert_eq!(ledger(&env.mesh(), "claims.json")[&spec]["TASK-01"]["agent"], "RedIce", "still there");

    // Another session under the name: the claim has no owner, as pi-messenger judges it.
    let text = fs::read_to_string(&registration).unwrap();
    put(&registration, &text.replace(SESSION, "another session"));
    assert_eq!(states(&env, &[])[0].0, "open");
    put(&registration, &text);
    assert_eq!(states(&env, &[])[0].0, "claimed");

    env.kill(pid);
    assert_eq!(states(&env, &[])[0], ("open".to_string(), Value::Null), "gone from the listing at once");
    let claimed = env.ok(&["claim", "--next", "--as", "Bob"]);
    assert_eq!(claimed["claim"]["task"], "TASK-01");
    assert_eq!(ledger(&env.mesh(), "claims.json")[&spec]["TASK-01"]["agent"], "Bob");
    assert_readable_for_pi(&env.mesh());
}

/// pi-messenger keys a spec by the path it was given, without resolving links.
#[test]
fn another_spelling_is_the_same_spec() {
    let Linked { env, spec, theirs, pid } = linked();
    put(&env.mesh().join("claims.json"), &fixture("claims-after-complete.json", &theirs, pid));
    put(&env.mesh().join("completions.json"), &fixture("completions.json", &theirs, pid));
    let seen = ["done", "claimed", "open"];
    for args in [&[][..], &["--spec", &spec], &["--spec", &theirs], &["--spec", "../link/spec.md"]] {
        let states = states(&env, args);
        assert_eq!(states.iter().map(|(state, _)| state.as_str()).collect::<Vec<_>>(), seen, "{args:?}");
    }
    assert_eq!(env.fails(1, &["claim", "TASK-01", "--as", "Alice"]), "already_completed");
    assert_eq!(env.fails(1, &["claim", "TASK-02", "--as", "Alice"]), "already_claimed");
    let claimed = env.ok(&["claim", "TASK-03", "--spec", &theirs, "--as", "Alice"]);
    assert_eq!(claimed["claim"]["spec"], spec.as_str(), "ours is the one key");
    assert_eq!(env.fails(1, &["claim", "TASK-03", "--as", "Bob"]), "already_claimed");
    env.ok(&["complete", "TASK-03", "--spec", &theirs, "--as", "Alice"]);

    // A task claimed under their spelling is free under ours once its owner is gone, and is completed once.
    env.kill(pid);
    env.ok(&["claim", "--next", "--as", "Bob"]);
    assert_eq!(env.fails(1, &["claim", "TASK-02", "--spec", &theirs, "--as", "Alice"]), "already_claimed");
    env.ok(&["complete", "TASK-02", "--as", "Bob"]);
    assert_eq!(env.fails(1, &["claim", "--next", "--spec", &theirs, "--as", "Alice"]), "all_done");
    let done = entries(&ledger(&env.mesh(), "completions.json"));
    assert_eq!(done.len(), 3, "{done:?}");
    assert_eq!(entries(&ledger(&env.mesh(), "claims.json")), []);
}

/// An agent that was refused a task of theirs is told when they are done with it, and not before; and their completions
/// end our claims.
#[test]
fn another_spelling_is_the_same_task() {
    let Linked { env, spec, theirs, pid } = linked();
    put(&env.mesh().join("claims.json"), &fixture("claims.json", &theirs, pid));
    assert_eq!(env.fails(1, &["claim", "TASK-01", "--as", "Bob"]), "already_claimed");
    env.ok(&["claim", "other", "--adhoc", "--as", "Alice"]);
    env.ok(&["unclaim", "--as", "Alice"]);
    assert!(mail(&env, "Bob").is_empty(), "RedIce is at it");
    // pi-messenger tells nobody: the next command of ours does.
    put(&env.mesh().join("claims.json"), "{}");
    env.ok(&["agents"]);
    assert_snapshot!(
        mail(&env, "Bob").join("\n"),
        @"`TASK-01` is free: RedIce no longer works on it. To take it: msg claim TASK-01"
    );

    put(&env.mesh().join("claims.json"), &fixture("claims.json", &theirs, pid));
    assert_eq!(env.fails(1, &["claim", "TASK-01", "--as", "Bob"]), "already_claimed");
    put(&env.mesh().join("claims.json"), "{}");
    put(&env.mesh().join("completions.json"), &fixture("completions.json", &theirs, pid));
    env.ok(&["agents"]);
    assert_snapshot!(mail(&env, "Bob").join("\n"), @"`TASK-01` is done: RedIce completed it.");

    env.ok(&["claim", "TASK-02", "--as", "Alice"]);
    let done = fs::read_to_string(env.mesh().join("completions.json")).unwrap();
    put(&env.mesh().join("completions.json"), &done.replace("TASK-01", "TASK-02"));
    let next = env.ok(&["claim", "TASK-01", "--as", "Alice"]);
    assert_eq!(next["claim"]["spec"], spec.as_str(), "what is done is no longer hers");
}

#[test]
fn the_spec_of_a_linked_work_tree_is_that_of_the_main_one() {
    let env = TestEnvironment::new();
    let main = env.path().join("main");
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.env_clear().env("HOME", env.home()).env("PATH", std::env::var("PATH").unwrap());
        command.args(["-c", "user.name=x", "-c", "user.email=x@example.org"]).args(args);
        assert!(command.current_dir(&main).status().unwrap().success(), "git {args:?}");
    };
    put(&main.join("docs/spec.md"), SPEC);
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "first"]);
    git(&["worktree", "add", "-q", "-b", "topic", "../linked"]);
    let linked = env.path().join("linked");
    let run = |dir: &Path, name: &str, args: &[&str]| {
        end(env.msg().current_dir(dir).args(args).args(["--as", name, "--json"]))
    };
    for (name, dir) in [("Alice", &main), ("Bob", &linked)] {
        env.join(name);
        run(dir, name, &["spec", "docs/spec.md"]).expect_code(0);
    }
    let key = fs::canonicalize(&main).unwrap().join("docs/spec.md").to_str().unwrap().to_string();
    let claim = run(&linked, "Bob", &["claim", "--next"]).expect_code(0).json();
    assert_eq!(claim["claim"]["spec"], key.as_str());
    assert_eq!(run(&main, "Alice", &["claim", "TASK-01"]).kind(), "already_claimed");
    assert_eq!(run(&main, "Alice", &["claim", "--next"]).kind(), "nothing_ready");
    run(&linked, "Bob", &["complete", "TASK-01"]).expect_code(0);
    assert_eq!(run(&main, "Alice", &["claim", "TASK-01"]).kind(), "already_completed");
    let next = run(&main, "Alice", &["claim", "--next"]).expect_code(0).json();
    assert_eq!(next["claim"]["task"], "TASK-02");
    let next = run(&linked, "Bob", &["claim", "--next"]).expect_code(0).json();
    assert_eq!(next["claim"]["task"], "TASK-03");
    let specs: Vec<String> =
        entries(&ledger(&env.mesh(), "claims.json")).into_iter().map(|(spec, ..)| spec).collect();
    assert_eq!(specs, [key.as_str(), key.as_str()]);
    // Without a spec, the folder acts as one.
    for (name, dir) in [("Carol", &main), ("Dave", &linked)] {
        env.join(name);
        let ended = run(dir, name, &["claim", "cleanup", "--adhoc"]);
        assert_eq!(ended.code, Some(i32::from(name == "Dave")), "{ended}");
    }
}
