//! Changes that are staged under the lock: a command that succeeds has committed each of them.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::unistd::geteuid;
use ravenry::sys::test_switches::{COUNT, CRASH_AT, NOW};
use serde_json::Value;

use super::{LATER, make_unwritable, with_task};
use crate::crashes::copy;
use crate::lock_order::half_renamed;
use crate::registry::{NOBODY, give_to};
use crate::support::environment::{Ended, TestEnvironment, end, files_in};
use crate::support::terminal::harness;

/// Counts the changes that commands commit and those that they forget.
struct ChangeCounter<'e> {
    env: &'e TestEnvironment,
}

impl ChangeCounter<'_> {
    fn exists(&self, kind: &str) -> bool {
        self.env.path().join(format!("count.change-{kind}")).exists()
    }

    /// The value of the variable that makes a command count.
    fn path(&self) -> String {
        self.env.path().join("count").to_str().unwrap().to_string()
    }

    /// Runs something that must commit a change and forget none.
    #[track_caller]
    fn watch(&self, what: &str, run: impl FnOnce()) {
        fs::remove_file(self.env.path().join("count.change-committed")).ok();
        run();
        assert!(self.exists("committed"), "{what} changes something");
        assert!(!self.exists("forgotten"), "{what} forgot a change");
    }

    #[track_caller]
    fn run(&self, args: &[&str]) {
        self.watch(&args.join(" "), || {
            self.env.run_with(args, &[(COUNT, &self.path())]).expect_code(0);
        });
    }

    /// Runs it when former names and reservations have expired.
    #[track_caller]
    fn run_later(&self, args: &[&str]) {
        let variables = [(COUNT, self.path()), (NOW, LATER.to_string())];
        let mut command = self.env.msg();
        let command = command.args(args).envs(variables);
        self.watch(&args.join(" "), || {
            end(command).expect_code(0);
        });
    }
}

/// The owner and the session of each claim.
fn claims(env: &TestEnvironment) -> Vec<(String, String)> {
    let claims = env.store().tasks().claims().unwrap();
    claims.iter().map(|claim| (claim.agent, claim.session)).collect()
}

/// Every command that changes registrations or claims: a change that is staged and not committed would be lost.
#[test]
fn a_command_that_succeeds_forgets_no_change() {
    let env = with_task(&["Alice", "Bob", "Carol"]);
    let session = env.registration("Alice")["sessionId"].as_str().unwrap().to_string();
    let host = env.host().to_string();
    env.fails(1, &["claim", "TASK-1", "--as", "Bob"]);
    let counter = ChangeCounter { env: &env };
    for args in [
        ["set-status", "busy", "--as", "Bob"].as_slice(),
        &["spec", "spec.md", "--as", "Bob"],
        &["reserve", "lib/", "--ttl", "1h", "--as", "Alice"],
        &["contest", "lib/", "--as", "Carol"],
        &["release", "lib/", "--as", "Carol"],
        &["release", "lib/", "--as", "Alice"],
        &["handoff", "TASK-1", "Bob", "--as", "Alice"],
        &["unclaim", "TASK-1", "--as", "Bob"],
        &["claim", "TASK-1", "--reserve", "src/", "--as", "Alice"],
        &["claim", "TASK-1", "--reserve", "lib/", "--as", "Alice"],
        &["rename", "Ann", "--as", "Alice"],
        &["join", "--pid", &host, "--session", &session, "--model", "other"],
        &["complete", "TASK-1", "--as", "Ann"],
        &["reopen", "TASK-1", "--reason", "no", "--as", "Bob"],
        &["claim", "TASK-1", "--as", "Ann"],
        &["complete", "TASK-1", "--as", "Ann"],
        &["claim", "TASK-2", "--as", "Ann"],
        &["leave", "--as", "Ann"],
        &["join", "--pid", &host, "--session", &session],
        &["claim", "OTHER", "--adhoc", "--as", "Carol"],
        &["evict", "Carol", "--force", "--as", "Bob"],
    ] {
        counter.run(args);
    }
    assert_eq!(claims(&env), [], "whoever is evicted has no task");
    // After an error a change is forgotten, and only then.
    env.ok(&["claim", "TASK-2", "--reserve", "src/", "--as", "Ann"]);
    make_unwritable(&env, "Ann");
    let complete = ["complete", "TASK-2", "--as", "Ann"];
    env.run_with(&complete, &[(COUNT, &counter.path())]).expect_code(4);
    assert!(counter.exists("forgotten"));
}

#[test]
fn whoever_waits_for_a_path_is_told_without_forgetting_a_change() {
    let env = with_task(&["Alice", "Bob"]);
    let counter = ChangeCounter { env: &env };
    let waits = || env.registration("Bob").get("waitsFor").cloned();
    let reserve = ["reserve", "src/x", "--as", "Bob"];
    counter.watch("a refusal", || {
        env.run_with(&reserve, &[(COUNT, &counter.path())]).expect_code(1);
    });
    assert!(waits().is_some());
    counter.run(&["unclaim", "TASK-1", "--as", "Alice"]);
    assert_eq!(waits(), None, "Bob was told");
}

/// `whoami` itself changes nothing.
const WHOAMI: [&str; 3] = ["whoami", "--as", "Ann"];

#[test]
fn a_rename_that_was_cut_short_is_finished_without_forgetting_a_change() {
    let env = with_task(&["Alice"]);
    let file = env.mesh().join("claims.json");
    let before = fs::read(&file).unwrap();
    half_renamed(&env, "Alice", "Ann");
    fs::write(&file, before).unwrap();
    ChangeCounter { env: &env }.run(&WHOAMI);
    assert_eq!(claims(&env)[0].0, "Ann");
    assert!(!env.mesh().join("registry/Alice.json").exists());
}

#[test]
fn a_departure_that_was_cut_short_is_undone_without_forgetting_a_change() {
    let env = with_task(&["Ann"]);
    let restores = || {
        let text = fs::read(env.mesh().join("registry/Ann.json")).unwrap_or_default();
        serde_json::from_slice(&text).ok().and_then(|agent: Value| agent.get("restores").cloned())
    };
    let before = env.path().join("before");
    copy(&env.mesh(), &before);
    for step in 1.. {
        let ended = env.run_with(&["leave", "--as", "Ann"], &[(CRASH_AT, &step.to_string())]);
        assert_eq!(ended.signal, Some(9), "it is killed before it is done");
        if restores().is_some() {
            break;
        }
        fs::remove_dir_all(env.mesh()).unwrap();
        copy(&before, &env.mesh());
    }
    ChangeCounter { env: &env }.run(&WHOAMI);
    assert_eq!(restores(), None);
    assert_eq!(env.names(), ["Ann"]);
}

#[test]
fn a_session_gets_its_new_id_without_forgetting_a_change() {
    let env = TestEnvironment::new();
    let mut shell = harness(&env, "claude");
    shell.msg("CLAUDE_CODE_SESSION_ID=s1 msg join Carol");
    shell.msg("CLAUDE_CODE_SESSION_ID=s1 msg claim TASK --adhoc");
    let counter = ChangeCounter { env: &env };
    counter.watch("a new session id", || {
        shell.msg(&format!("{COUNT}={} CLAUDE_CODE_SESSION_ID=s2 msg whoami", counter.path()));
    });
    assert_eq!(env.registration("Carol")["sessionId"], "s2");
    assert_eq!(claims(&env), [("Carol".to_string(), "s2".to_string())]);
}

#[test]
fn a_former_name_is_cleared_without_forgetting_a_change() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.ok(&["rename", "Ann", "--as", "Alice"]);
    assert!(env.registration("Ann").get("formerly").is_some());
    let host = env.host().to_string();
    ChangeCounter { env: &env }.run_later(&["join", "Alice", "--pid", &host, "--session", "another"]);
    assert_eq!(env.registration("Ann").get("formerly"), None);
}

/// By whoever buries the dead, by whoever releases something, and by whoever reserves something.
#[test]
fn reservations_expire_without_forgetting_a_change() {
    for args in
        [["doctor", "--repair"].as_slice(), &["release", "--as", "Bob"], &["reserve", "b", "--as", "Bob"]]
    {
        let env = TestEnvironment::new();
        env.join("Alice");
        env.join("Bob");
        env.ok(&["reserve", "a", "--ttl", "1h", "--as", "Alice"]);
        ChangeCounter { env: &env }.run_later(args);
        assert_eq!(env.registration("Alice").get("reservations"), None, "{args:?}");
    }
}

/// Runs the command at [`LATER`], as an ordinary user if root runs the tests: root can read everything.
fn run_unprivileged(env: &TestEnvironment, args: &[&str]) -> Ended {
    let given = env.msg();
    let mut command = Command::new(given.get_program());
    if geteuid().is_root() {
        // The binary may be where only its owner has access. Another process copies it: if this one had it open for
        // writing while another test forks, it could not be executed.
        let copy = env.path().join("msg");
        assert!(Command::new("cp").arg(given.get_program()).arg(&copy).status().unwrap().success());
        give_to(env.path(), NOBODY);
        command = Command::new(copy);
        command.uid(NOBODY).gid(NOBODY);
    }
    let variables = given.get_envs().filter_map(|(name, value)| Some((name, value?)));
    command.env_clear().envs(variables).env(NOW, LATER).current_dir(env.work()).stdin(Stdio::null());
    end(command.args(args))
}

/// Alice has a reservation that expires, and Bob is there. Returns the file with the record of Alice's session.
fn with_expiring_reservation() -> (TestEnvironment, PathBuf) {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    env.ok(&["reserve", "a", "--ttl", "1h", "--as", "Alice"]);
    let is_hers = |path: &PathBuf| fs::read_to_string(path).unwrap().contains("session of Alice");
    let record = files_in(&env.mesh().join("sessions")).into_iter().find(is_hers).unwrap();
    (env, record)
}

/// A way to make a file unreadable, and its name.
type Damage = (&'static str, fn(&Path));

/// A session record only contributes keys of later versions. If it can't be read, it is replaced: otherwise nobody
/// could reserve anything as long as Alice has an expired reservation.
#[test]
fn a_session_record_that_can_not_be_read_stops_neither_its_agent_nor_others() {
    let damage: [Damage; 3] = [
        ("not allowed", |path| fs::set_permissions(path, Permissions::from_mode(0o000)).unwrap()),
        ("damaged", |path| fs::write(path, "{\"sessionId\":").unwrap()),
        ("a link", |path| {
            fs::remove_file(path).unwrap();
            symlink("/nowhere", path).unwrap();
        }),
    ];
    for (what, damage) in damage {
        for args in [["set-status", "here", "--as", "Alice"], ["reserve", "b", "--as", "Bob"]] {
            let (env, record) = with_expiring_reservation();
            damage(&record);
            run_unprivileged(&env, &args).expect_code(0);
            assert_eq!(env.registration("Alice").get("reservations"), None, "{what}, {args:?}");
            assert!(record.symlink_metadata().unwrap().is_file(), "{what}, {args:?}");
            let now: Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
            assert_eq!(now["registration"], env.registration("Alice"), "{what}, {args:?}");
        }
    }
}

/// A file can't replace a directory, so the commit fails after the registration. It does so once: after that, Alice has
/// nothing that expired.
#[test]
fn a_directory_in_place_of_a_session_record_stops_others_once() {
    let (env, record) = with_expiring_reservation();
    fs::remove_file(&record).unwrap();
    fs::create_dir(&record).unwrap();
    let reserve = || env.run_with(&["reserve", "b", "--as", "Bob", "--json"], &[(NOW, LATER)]);
    assert_eq!(reserve().expect_code(4).kind(), "io");
    assert_eq!(env.registration("Alice").get("reservations"), None);
    assert_eq!(env.registration("Bob").get("reservations"), None);
    reserve().expect_code(0);
}
