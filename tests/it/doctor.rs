//! Every check of `doctor`, passing and failing, and what `--repair` repairs and leaves alone.

mod leftovers;
mod tasks;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use insta::{allow_duplicates, assert_snapshot};
use ravenry::sys::flock::FileLock;
use ravenry::sys::test_switches;
use serde_json::{Value, json};

use crate::support::environment::{Ended, TestEnvironment, end, put, put_old};

/// What `doctor` found.
struct Findings {
    ended: Ended,
    checks: Vec<Value>,
}

impl Findings {
    #[track_caller]
    fn of(ended: Ended) -> Self {
        let said = ended.json();
        let checks: Vec<Value> = said["checks"].as_array().unwrap_or_else(|| panic!("{ended}")).clone();
        let failed = checks.iter().any(|check| check["state"] == "fail");
        assert_eq!(ended.code, Some(if failed { 4 } else { 0 }), "{ended}");
        assert_eq!(said["ok"], !failed);
        assert_eq!(said["error"]["kind"], if failed { json!("unhealthy_mesh") } else { Value::Null });
        Self { ended, checks }
    }

    /// The checks of that name: state and message.
    fn named(&self, name: &str) -> Vec<(&str, &str)> {
        let of_name = self.checks.iter().filter(|check| check["name"] == name);
        of_name.map(|check| (check["state"].as_str().unwrap(), check["message"].as_str().unwrap())).collect()
    }

    /// The checks of that name, as a snapshot has them.
    #[track_caller]
    fn text(&self, env: &TestEnvironment, name: &str) -> String {
        env.findings(&self.ended, name)
    }

    /// Asserts that a check of that name is in that state and its message contains `part`.
    #[track_caller]
    fn expect(&self, name: &str, state: &str, part: &str) -> &Self {
        let found = self.named(name);
        let so = found.iter().any(|(is, message)| *is == state && message.contains(part));
        assert!(so, "no check `{name}` that is {state} with `{part}`: {}", self.ended);
        self
    }

    /// The fix of the first check of that name that is not ok.
    #[track_caller]
    fn fix(&self, name: &str) -> &str {
        let bad = self.checks.iter().find(|check| check["name"] == name && check["state"] != "ok");
        bad.unwrap_or_else(|| panic!("`{name}` is well: {}", self.ended))["fix"].as_str().unwrap()
    }
}

#[track_caller]
fn doctor(env: &TestEnvironment) -> Findings {
    Findings::of(env.run(&["doctor", "--json"]))
}

#[track_caller]
fn repair(env: &TestEnvironment) -> Findings {
    Findings::of(env.run(&["doctor", "--repair", "--json"]))
}

fn at(env: &TestEnvironment, name: &str) -> PathBuf {
    env.mesh().join(name)
}

/// Asserts that a file that can't be read is a failure, with and without `--repair`, and stays as it is.
#[track_caller]
fn stays_a_failure(env: &TestEnvironment, check: &str, path: &Path, part: &str) {
    let before = fs::read(path).unwrap();
    doctor(env).expect(check, "fail", part).expect(check, "fail", &path.display().to_string());
    repair(env).expect(check, "fail", part);
    assert_eq!(fs::read(path).unwrap(), before);
}

#[test]
fn all_is_well() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let findings = doctor(&env);
    let names: Vec<&str> = findings.checks.iter().map(|check| check["name"].as_str().unwrap()).collect();
    let expected = [
        "config",
        "mesh",
        "permissions",
        "file system",
        "mesh.lock",
        "swarm.lock",
        "registry",
        "claims",
        "completions",
        "specs",
        "graves",
        "sessions",
        "temporary files",
        "quarantine",
        "hooks",
        "clock",
        "installed",
        "git",
        "inotify",
    ];
    assert_eq!(names, expected);
    for check in &findings.checks {
        let mut keys: Vec<&str> = check.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["fix", "message", "name", "state"]);
        // Three depend on the machine that the tests run on, and nothing is installed here.
        if !["file system", "git", "inotify", "installed"].contains(&check["name"].as_str().unwrap()) {
            assert_eq!((&check["state"], &check["fix"]), (&json!("ok"), &Value::Null), "{check}");
        }
    }
    findings.expect("registry", "ok", "1 agent is there").expect("sessions", "ok", "1 remembered");
    let again = repair(&env);
    assert_eq!(again.checks, findings.checks, "there is nothing to repair");
}

#[test]
fn there_is_no_mesh_yet() {
    let env = TestEnvironment::new();
    doctor(&env).expect("permissions", "ok", "nobody has joined");
    repair(&env).expect("permissions", "ok", "nobody has joined");
    assert!(!env.mesh().exists(), "looking makes none");
}

#[test]
fn a_configuration_that_cannot_be_read() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let config = env.home().join(".config/ravenry/config.json");
    put(&config, "{\n oops");
    let findings = doctor(&env);
    assert_snapshot!(findings.text(&env, "config"), @"
    fail: `[DIR]/home/.config/ravenry/config.json` can't be read: key must be a string (line 2, column 2)
    fix: fix the file, or move it away to use the defaults
    ");
    findings.expect("registry", "ok", "1 agent is there");
    put(&config, r#"{"mailTurns": "many"}"#);
    assert_snapshot!(doctor(&env).text(&env, "config"), @"
    fail: `[DIR]/home/.config/ravenry/config.json`: `mailTurns` must be a number from 0 to 1000
    fix: fix it there; `msg config list -v` shows the keys and what each is for
    ");
    put(&config, r#"{"mailTurn": 7}"#);
    assert_snapshot!(doctor(&env).text(&env, "config"), @"
    warn: `~/.config/ravenry/config.json`: there is no key `mailTurn`; did you mean `mailTurns`?
    fix: fix the file
    ");
    assert_eq!(repair(&env).text(&env, "config"), doctor(&env).text(&env, "config"));
    assert_eq!(fs::read_to_string(config).unwrap(), r#"{"mailTurn": 7}"#);
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_mesh_that_others_may_write_to_comes_with_the_command_that_mends_it() {
    for loose in [0o777, 0o757, 0o707] {
        let env = TestEnvironment::new();
        env.join("Alice");
        chmod(&env.mesh(), loose);
        let findings = doctor(&env);
        findings.expect("permissions", "fail", &format!("may be written to by other users (mode {loose:o})"));
        assert!(findings.named("registry").is_empty(), "nobody looks in");
        repair(&env).expect("permissions", "fail", "may be written to");
        assert_eq!(mode(&env.mesh()), loose, "whoever wrote to it may have left something in it");
        let command = findings.fix("permissions").split('`').nth(1).unwrap();
        assert!(command.starts_with("chmod "), "{command}");
        assert!(Command::new("sh").args(["-c", command]).status().unwrap().success());
        doctor(&env).expect("permissions", "warn", "is open to other users").expect(
            "registry",
            "ok",
            "1 agent is there",
        );
        repair(&env).expect("permissions", "ok", "now only you can open it");
        doctor(&env).expect("permissions", "ok", "only you can open it");
    }
}

#[test]
fn a_mesh_that_the_group_may_write_to_is_tightened_and_that_is_said_once() {
    let env = TestEnvironment::new();
    env.join("Alice");
    chmod(&env.mesh(), 0o775);
    let text = format!(
        "`{}` was open to other users (mode 775); now only you can open it (mode 700)",
        env.mesh().display()
    );
    let write = ["set-status", "busy", "--as", "Alice"];
    assert_eq!(env.run(&write).expect_code(0).stderr, format!("note: {text}\n"));
    assert_eq!(mode(&env.mesh()), 0o700);
    assert_eq!(env.run(&write).expect_code(0).stderr, "");
    chmod(&env.mesh(), 0o770);
    assert_snapshot!(doctor(&env).text(&env, "permissions"), @"
    warn: `[DIR]/mesh` is open to other users (mode 770)
    fix: the next command that writes to the mesh closes it, and so does `msg doctor --repair`
    ");
    assert_eq!(mode(&env.mesh()), 0o770);
    assert_snapshot!(
        repair(&env).text(&env, "permissions"),
        @"ok: `[DIR]/mesh` was open to other users (mode 770); now only you can open it (mode 700)"
    );
    assert_snapshot!(doctor(&env).text(&env, "permissions"), @"ok: only you can open it");
}

#[test]
fn a_mesh_that_is_no_directory() {
    let env = TestEnvironment::new();
    put(&env.mesh(), "");
    assert_snapshot!(doctor(&env).text(&env, "permissions"), @"
    fail: the mesh is not safe: `[DIR]/mesh` is not a directory
    fix: name another directory with `--mesh DIR` or $MSG_MESH
    ");
}

#[test]
fn the_lock_of_the_mesh() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let held = FileLock::acquire(&at(&env, "mesh.lock"), Duration::ZERO).unwrap();
    let holder = if cfg!(target_os = "linux") {
        format!("held by process {} at this moment", std::process::id())
    } else {
        "held by".to_string()
    };
    doctor(&env).expect("mesh.lock", "ok", &holder);
    drop(held);
    doctor(&env).expect("mesh.lock", "ok", "working");
    for answer in ["unsupported", "useless"] {
        let findings = Findings::of(env.run_with(&["doctor", "--json"], &[(test_switches::FLOCK, answer)]));
        findings.expect("mesh.lock", "fail", "no working `flock`");
        allow_duplicates! { assert_snapshot!(
            findings.fix("mesh.lock"),
            @"put the mesh on a local disk: `msg config set mesh DIR`, or `--mesh DIR`"
        ) };
    }
}

#[test]
fn a_swarm_lock_that_nobody_holds() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let lock = at(&env, "swarm.lock");
    let (live, dead) = (env.host(), env.host());
    env.kill(dead);
    put(&lock, &live.to_string());
    doctor(&env).expect("swarm.lock", "ok", &format!("held by process {live} at this moment"));
    repair(&env).expect("swarm.lock", "ok", &format!("held by process {live}"));
    assert!(lock.exists(), "its holder lives");
    let stale: [(&dyn Fn(), &str); 3] = [
        (&|| put(&lock, &dead.to_string()), "is gone"),
        (&|| put_old(&lock, &live.to_string()), "is younger than the lock"),
        (&|| put_old(&lock, ""), "names no process"),
    ];
    for (leave, why) in stale {
        leave();
        doctor(&env).expect("swarm.lock", "warn", why);
        assert!(lock.exists(), "looking mends nothing");
        repair(&env).expect("swarm.lock", "ok", "a stale lock was removed");
        assert!(!lock.exists());
    }
}

#[test]
fn an_agent_that_is_gone_and_not_buried() {
    let env = TestEnvironment::new();
    env.join("Bob");
    env.kill(env.join("Alice"));
    assert_snapshot!(doctor(&env).text(&env, "registry"), @"
    ok: 1 agent is there
    warn: Alice is gone and not cleaned up yet
    fix: the next `msg join` cleans it up; `msg doctor --repair` too
    ");
    assert!(at(&env, "registry/Alice.json").exists(), "looking buries nobody");
    let findings = repair(&env);
    assert_snapshot!(findings.text(&env, "registry"), @"ok: 1 agent is there; buried: Alice");
    assert_snapshot!(findings.text(&env, "graves"), @"ok: one grave, with no unread messages");
    assert!(!at(&env, "registry/Alice.json").exists());
    assert_eq!(doctor(&env).named("registry"), [("ok", "1 agent is there")]);
}

#[test]
fn pi_messengers_dead_are_left_to_it() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let dead = env.host();
    env.kill(dead);
    let text = include_str!("../../fixtures/pi-messenger/registry-RedIce.json");
    let path = at(&env, "registry/RedIce.json");
    put(&path, &text.replace("16024", &dead.to_string()));
    assert_snapshot!(doctor(&env).text(&env, "registry"), @"
    ok: 1 agent is there
    ok: RedIce of pi-messenger is gone; pi-messenger will clear it away
    ");
    assert_eq!(repair(&env).text(&env, "registry"), doctor(&env).text(&env, "registry"));
    assert!(path.exists());
}

/// Changes a registration by hand.
fn rewrite(env: &TestEnvironment, name: &str, change: impl FnOnce(&mut Value)) {
    let mut registration = env.registration(name);
    change(&mut registration);
    put(&at(env, &format!("registry/{name}.json")), &registration.to_string());
}

#[test]
fn an_agent_of_which_nobody_can_tell() {
    let env = TestEnvironment::new();
    env.kill(env.join("Alice"));
    rewrite(&env, "Alice", |registration| {
        registration["process"]["bootId"] = json!("elsewhere");
        registration["process"]["machineId"] = json!("elsewhere");
    });
    assert_snapshot!(repair(&env).text(&env, "registry"), @"
    ok: 0 agents are there
    warn: cannot check from here whether Alice is alive
    fix: if you know that it is not: `msg evict Alice`
    ");
    assert!(at(&env, "registry/Alice.json").exists(), "it keeps what it has");
}

#[test]
fn an_agent_from_the_future() {
    let env = TestEnvironment::new();
    env.join("Alice");
    rewrite(&env, "Alice", |registration| registration["startedAt"] = json!("2999-01-01T00:00:00.000Z"));
    assert_snapshot!(doctor(&env).text(&env, "registry"), @"
    ok: 1 agent is there
    warn: Alice says that it started in the future
    fix: check the clock of this machine
    ");
}

#[test]
fn a_rename_that_was_cut_short() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let old = at(&env, "registry/Alice.json");
    let before = fs::read_to_string(&old).unwrap();
    env.ok(&["rename", "Carol", "--as", "Alice"]);
    put(&old, &before);
    assert_snapshot!(doctor(&env).text(&env, "registry"), @"
    ok: 1 agent is there
    warn: the former registration Alice of a renamed agent is still there
    fix: run `msg doctor --repair`
    ");
    assert!(old.exists());
    assert_eq!(repair(&env).named("registry"), [("ok", "1 agent is there")]);
    assert!(!old.exists());
    assert_eq!(env.names(), ["Carol"]);
}

#[test]
fn a_registration_that_cannot_be_read() {
    let env = TestEnvironment::new();
    env.join("Alice");
    for (name, text, part) in [
        ("Bob", "{\"name\": \"Bob\", ", "EOF while parsing"),
        ("Bob", "", "EOF while parsing"),
        ("Bob", "null", "invalid type: null"),
        ("Bob", "{\"name\": \"Bob\", \"pid\": 0}", "missing field"),
        ("not a name", "{}", "missing field"),
    ] {
        let path = at(&env, &format!("registry/{name}.json"));
        put_old(&path, text);
        stays_a_failure(&env, "registry", &path, part);
        doctor(&env).expect("registry", "ok", "1 agent is there");
        fs::remove_file(path).unwrap();
    }
    let copy = at(&env, "registry/Bob.json");
    put_old(&copy, &env.registration("Alice").to_string());
    stays_a_failure(&env, "registry", &copy, "it says that its name is `Alice`");
}

#[test]
fn a_session_that_cannot_be_read() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let path = at(&env, "sessions/0123456789abcdef.json");
    put_old(&path, "{\"sessionId\": ");
    doctor(&env).expect("sessions", "fail", "EOF while parsing");
    assert!(path.exists(), "looking moves nothing");
    repair(&env).expect("sessions", "warn", "EOF while parsing").expect("quarantine", "warn", "session-");
    assert!(!path.exists(), "it was put aside");
    doctor(&env).expect("sessions", "ok", "1 remembered");
    // Exactly this file is moved to quarantine, whatever its name is.
    let path = at(&env, "sessions/READ_ME.json");
    put_old(&path, "{");
    repair(&env).expect("sessions", "warn", "READ_ME");
    assert!(!path.exists(), "it was put aside");
}

#[test]
fn nothing_that_is_wrong_hides_anything_else() {
    let env = TestEnvironment::new();
    env.join("Bob");
    env.kill(env.join("Alice"));
    put(&env.home().join(".config/ravenry/config.json"), "oops");
    put_old(&at(&env, "registry/Carol.json"), "{");
    put_old(&at(&env, "sessions/00.json"), "{");
    put_old(&at(&env, "claims.json"), "{");
    put_old(&at(&env, "swarm.lock"), "");
    put(&at(&env, "tmp/notes.txt"), "");
    let findings = doctor(&env);
    for name in ["config", "registry", "sessions", "claims"] {
        findings.expect(name, "fail", "");
    }
    for name in ["registry", "swarm.lock", "temporary files"] {
        findings.expect(name, "warn", "");
    }
    assert_eq!(
        findings.ended.json()["error"]["message"],
        "4 checks failed: config, registry, claims, sessions"
    );
    let quiet = end(env.msg().args(["doctor", "-q"])).expect_code(4);
    assert!(quiet.stdout.lines().all(|line| !line.starts_with("ok")), "{quiet}");
}

#[test]
fn what_failed_comes_first_and_what_is_well_is_counted() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.ok(&["install", "pi"]);
    env.ok(&["config", "set", "autoRegister", "true"]);
    let words = |args: &[&str]| env.run(&[&["doctor"], args].concat());
    let starts = |text: &str, word: &str| text.lines().filter(|line| line.starts_with(word)).count();
    let well = words(&[]).expect_code(0).stdout;
    let told = env.ok(&["doctor"])["checks"].as_array().unwrap().clone();
    let count = |state: &str| told.iter().filter(|check| check["state"] == state).count();
    assert_eq!(starts(&well, "ok"), 0, "{well}");
    let folded = format!("{} checks are fine: `msg doctor -v` lists them\n", count("ok"));
    if count("warn") == 0 {
        assert_eq!(well, format!("All {folded}"));
    } else {
        let last = format!("In all: {} warning", count("warn"));
        assert!(well.contains(&folded) && well.lines().last().unwrap().starts_with(&last), "{well}");
    }
    let all = words(&["-v"]).stdout;
    assert_eq!(starts(&all, "ok"), count("ok"));
    assert!(!all.contains("lists them") && all.lines().last().unwrap().ends_with(" fine."), "{all}");
    env.kill(env.join("Bob"));
    put_old(&at(&env, "claims.json"), "{");
    let broken = words(&[]).expect_code(4);
    assert_snapshot!(
        env.redact(broken.stdout.lines().next().unwrap()),
        @"fail  claims    `[DIR]/mesh/claims.json` can't be read: EOF while parsing an object at line 1 column 1"
    );
    let kinds: Vec<&str> = broken.stdout.lines().filter_map(|line| line.split(' ').next()).collect();
    let kinds: Vec<&&str> = kinds.iter().filter(|kind| ["fail", "warn", "ok"].contains(kind)).collect();
    assert!(kinds.is_sorted(), "failures come first, then warnings: {broken}");
    assert!(broken.stdout.lines().last().unwrap().starts_with("In all: 1 failed, "), "{broken}");
    assert_snapshot!(broken.stderr, @"error: 1 check failed: claims");
    let mended = words(&["--repair"]).expect_code(0);
    assert!(mended.stdout.contains("buried: Bob"), "what was mended is told: {mended}");
    assert!(!words(&["--repair"]).stdout.contains("buried"));
}
