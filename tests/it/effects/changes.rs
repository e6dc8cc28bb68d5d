//! Changes that are staged under the lock: a command that succeeds has committed each of them.

use std::fs;

use ravenry::sys::test_switches::{COUNT, CRASH_AT, NOW};
use serde_json::Value;

use super::{LATER, make_unwritable, with_task};
use crate::crashes::copy;
use crate::lock_order::half_renamed;
use crate::support::environment::{TestEnvironment, end};
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
        &["release", "lib/", "--as", "Alice"],
        &["handoff", "TASK-1", "Bob", "--as", "Alice"],
        &["unclaim", "TASK-1", "--as", "Bob"],
        &["claim", "TASK-1", "--reserve", "src/", "--as", "Alice"],
        &["claim", "TASK-1", "--reserve", "lib/", "--as", "Alice"],
        &["rename", "Ann", "--as", "Alice"],
        &["join", "--pid", &host, "--session", &session, "--model", "other"],
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
