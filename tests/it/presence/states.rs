//! Tests of every presence, with real processes and the times of real files.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::{age, agent, change};
use crate::support::environment::{TestEnvironment, date};
use crate::support::hook_call::{Call, session_of};

const MINUTE: u64 = 60;

#[track_caller]
fn presence(env: &TestEnvironment, name: &str) -> String {
    agent(env, name)["presence"].as_str().unwrap().to_string()
}

#[test]
fn quiet_is_idle_then_away_and_for_those_who_hold_something_stuck() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    env.ok(&["reserve", "src/", "--as", "Bob"]);
    assert_eq!((presence(&env, "Alice"), presence(&env, "Bob")), ("active".into(), "active".into()));
    for (quiet, free, holder) in [
        (20, "active", "active"),
        (40, "idle", "idle"),
        (4 * MINUTE, "idle", "idle"),
        (6 * MINUTE, "away", "away"),
        (14 * MINUTE, "away", "away"),
        (16 * MINUTE, "away", "stuck"),
        (1000 * MINUTE, "away", "stuck"),
    ] {
        age(&env, "Alice", Duration::from_secs(quiet));
        age(&env, "Bob", Duration::from_secs(quiet));
        assert_eq!(
            (presence(&env, "Alice"), presence(&env, "Bob")),
            (free.into(), holder.into()),
            "{quiet} s"
        );
    }
    env.ok(&["release", "--as", "Bob"]);
    age(&env, "Bob", Duration::from_secs(16 * MINUTE));
    assert_eq!(presence(&env, "Bob"), "away", "it holds nothing any more");
}

#[test]
fn when_one_counts_as_stuck_is_configured() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.ok(&["reserve", "src/", "--as", "Alice"]);
    env.ok(&["config", "set", "stuckThreshold", "60"]);
    age(&env, "Alice", Duration::from_secs(50));
    assert_eq!(presence(&env, "Alice"), "idle");
    age(&env, "Alice", Duration::from_secs(70));
    assert_eq!(presence(&env, "Alice"), "stuck");
}

#[test]
fn a_reservation_that_has_run_out_holds_nothing() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.ok(&["reserve", "src/", "--ttl", "1m", "--as", "Alice"]);
    age(&env, "Alice", Duration::from_secs(20 * MINUTE));
    assert_eq!(presence(&env, "Alice"), "stuck");
    change(&env, "Alice", |registration| {
        registration["reservations"][0]["expiresAt"] = json!("2020-01-01T00:00:00.000Z");
    });
    assert_eq!(presence(&env, "Alice"), "away");
}

#[test]
fn who_is_dead_is_gone_and_who_lives_elsewhere_is_unknown_however_quiet() {
    let env = TestEnvironment::new();
    let host = env.join("Alice");
    env.join("Bob");
    env.ok(&["reserve", "src/", "--as", "Alice"]);
    env.ok(&["reserve", "docs/", "--as", "Bob"]);
    change(&env, "Bob", |registration| {
        registration["process"]["machineId"] = json!("another");
        registration["process"]["bootId"] = json!("another");
    });
    for name in ["Alice", "Bob"] {
        age(&env, name, Duration::from_secs(20 * MINUTE));
    }
    assert_eq!((presence(&env, "Alice"), presence(&env, "Bob")), ("stuck".into(), "unknown".into()));
    env.kill(host);
    assert_eq!(env.names(), ["Bob"]);
    assert_eq!(env.ok(&["agents", "--gone"])["agents"][0]["presence"], "gone");
    let left: Vec<_> =
        fs::read_dir(env.mesh().join("presence")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(!left.iter().any(|file| file.to_string_lossy().starts_with("Alice")), "{left:?}");
}

#[test]
fn whatever_an_agent_calls_is_a_sign_of_life() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let hook = |fixture: &str| drop(Call::new(&env, fixture, &session_of("Alice")).answer(&env));
    let calls: [(&str, &dyn Fn()); 9] = [
        ("whoami", &|| drop(env.ok(&["whoami", "--as", "Alice"]))),
        ("agents", &|| drop(env.ok(&["agents", "--as", "Alice"]))),
        ("whois", &|| drop(env.ok(&["whois", "Alice", "--as", "Alice"]))),
        ("inbox", &|| drop(env.ok(&["inbox", "--as", "Alice"]))),
        ("a session starts", &|| hook("claude/SessionStart")),
        ("a tool begins", &|| hook("claude/PreToolUse-Edit")),
        ("a tool is done", &|| hook("claude/PostToolUse-Bash")),
        ("a prompt", &|| hook("claude/UserPromptSubmit")),
        ("the end of a turn", &|| hook("claude/Stop")),
    ];
    for (what, call) in calls {
        age(&env, "Alice", Duration::from_secs(6 * MINUTE));
        call();
        assert_eq!(presence(&env, "Alice"), "active", "{what}");
    }
    age(&env, "Alice", Duration::from_secs(6 * MINUTE));
    env.ok(&["check", "x", "--as", "Alice"]);
    assert_eq!(presence(&env, "Alice"), "away", "a check of a path writes nothing");
}

/// pi-messenger's agents do not touch our files, but newer ones record when they were active.
#[test]
fn strangers_are_judged_by_what_they_write_down() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let host = env.pi_host();
    let registration = |active: Option<&str>| {
        let mut registration = json!({
            "name": "RedIce", "pid": host, "sessionId": "of RedIce", "cwd": env.work(), "model": "m",
            "startedAt": "2020-01-01T00:00:00.000Z",
            "reservations": [{ "pattern": "src/", "since": "2020-01-01T00:00:00.000Z" }],
            "session": { "toolCalls": 3, "tokens": 1234, "filesModified": ["src/auth/login.ts"] },
        });
        if let Some(active) = active {
            let activity = json!({ "lastActivityAt": active, "currentActivity": "editing auth/login.ts" });
            registration["activity"] = activity;
        }
        let path = env.mesh().join("registry/RedIce.json");
        fs::write(&path, registration.to_string()).unwrap();
        date(&path, SystemTime::now() - Duration::from_secs(3600));
    };
    registration(Some("2020-01-01T00:20:00.000Z"));
    let seen = agent(&env, "RedIce");
    assert_eq!(
        (&seen["presence"], &seen["toolCalls"], &seen["tokens"]),
        (&json!("stuck"), &json!(3), &json!(1234))
    );
    assert_eq!(seen["filesModified"], json!(["src/auth/login.ts"]));
    assert_eq!(seen["activity"], "editing auth/login.ts");
    registration(Some("2099-01-01T00:20:00.000Z"));
    let seen = agent(&env, "RedIce");
    assert_eq!((&seen["presence"], &seen["autoStatus"]), (&json!("active"), &json!("editing auth/login.ts")));
    registration(None);
    assert_eq!(presence(&env, "RedIce"), "away", "that it came long ago proves nothing");
}

#[test]
fn a_status_that_was_set_is_told_apart_from_one_that_was_not() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let status = || {
        let alice = agent(&env, "Alice");
        (alice["statusMessage"].clone(), alice["autoStatus"].clone())
    };
    assert_eq!(status(), (json!(null), json!("just arrived")));
    let edit = Call::edit(&env, &session_of("Alice"), "src/a.rs");
    edit.answer(&env);
    assert_eq!(status(), (json!(null), json!("editing src/a.rs")));
    env.ok(&["set-status", "reviewing", "--as", "Alice"]);
    assert_eq!(status(), (json!("reviewing"), json!(null)));
    env.ok(&["set-status", "--as", "Alice"]);
    age(&env, "Alice", Duration::from_secs(12 * MINUTE));
    assert_eq!(status(), (json!(null), json!("quiet for 12min")));
    Call::new(&env, "claude/Stop", &session_of("Alice")).answer(&env);
    assert_eq!(status(), (json!(null), json!(null)), "its turn is over, and it came long ago");
    env.ok(&["claim", "TASK-9", "--adhoc", "--as", "Alice"]);
    assert_eq!(status(), (json!(null), json!("on TASK-9")));
}
