//! Tests of what is left behind: graves, sessions, temporary files and the log of failed hooks.

use std::fs;

use insta::assert_snapshot;
use jiff::SignedDuration;
use ravenry::sys::{clock, test_switches};

use crate::support::environment::{TestEnvironment, put};

use super::{Findings, at, doctor, repair};

/// Runs `doctor --repair` this many days from now.
fn repair_in(env: &TestEnvironment, days: i64) -> Findings {
    let then = clock::now() + SignedDuration::from_hours(24 * days);
    Findings::of(env.run_with(&["doctor", "--repair", "--json"], &[(test_switches::NOW, &then.to_string())]))
}

#[test]
fn graves_and_sessions_are_kept_for_a_month_and_mail_for_ever() {
    let env = TestEnvironment::new();
    for name in ["Alice", "Bob"] {
        let host = env.join(name);
        if name == "Bob" {
            env.drop_mail(name, "1794700676113-abcdef");
        }
        env.ok(&["leave", "--as", name]);
        env.kill(host);
    }
    let told = |days| {
        let findings = repair_in(&env, days);
        format!("{}\n{}", findings.text(&env, "graves"), findings.text(&env, "sessions"))
    };
    assert_snapshot!(told(29), @"
    ok: 2 graves, with one unread message
    ok: 2 remembered
    ");
    assert_snapshot!(told(31), @"
    ok: 2 graves, with one unread message; closed one old and empty grave
    ok: 1 remembered, 1 forgotten
    ");
    assert_snapshot!(told(31), @"
    ok: one grave, with one unread message
    ok: 1 remembered
    ");
    env.ok(&["config", "set", "graveDays", "1"]);
    repair_in(&env, 2);
    assert_eq!(env.mail().len(), 1, "mail stays");
    let back = env.host().to_string();
    env.ok(&["join", "--pid", &back, "--session", "session of Bob"]);
    assert_eq!(env.mail(), ["inbox/Bob/1794700676113-abcdef.json"]);
}

/// A real temporary file, from a `msg` that was killed while it wrote.
#[test]
fn a_temporary_file_of_a_process_that_is_gone() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let strays = || fs::read_dir(at(&env, "tmp")).unwrap().count();
    for step in 1.. {
        let crash = step.to_string();
        let ended = env.run_with(&["set-status", "x", "--as", "Alice"], &[(test_switches::CRASH_AT, &crash)]);
        assert_eq!(ended.signal, Some(9), "it was never killed while it wrote: {ended}");
        if strays() > 0 {
            break;
        }
    }
    assert_snapshot!(doctor(&env).text(&env, "temporary files"), @"
    warn: one file of dead processes
    fix: the next `msg join` removes them
    ");
    assert_eq!(strays(), 1, "looking removes nothing");
    put(&at(&env, "tmp/notes.txt"), "whose is this?");
    let findings = repair(&env);
    assert_snapshot!(findings.text(&env, "temporary files"), @"
    ok: removed one file of dead processes
    warn: one file of processes that this machine cannot check
    fix: remove them from `tmp/` if they are old
    ");
    assert_eq!(strays(), 1);
    assert!(at(&env, "tmp/notes.txt").exists(), "what nobody can tell of stays");
}

/// Calls a hook with invalid input, this many hours from now.
fn failing_hook(env: &TestEnvironment, hours: i64, event: &str) {
    let then = clock::now() + SignedDuration::from_hours(hours);
    let ended =
        env.run_with(&["hook", "claude", event], &[(test_switches::NOW, &then.to_string())]).expect_code(0);
    assert_eq!(ended.stdout, "");
}

#[test]
fn hooks_that_failed_are_told_of_until_they_are_forgotten() {
    let env = TestEnvironment::new();
    env.join("Alice");
    doctor(&env).expect("hooks", "ok", "no call failed");
    failing_hook(&env, -2, "PreToolUse");
    let findings = doctor(&env);
    findings.expect("hooks", "warn", "one call failed 2h ago: claude PreToolUse: ");
    assert_snapshot!(findings.fix("hooks"), @"once fixed, `msg doctor --repair` clears this");
    failing_hook(&env, -1, "Stop\u{1b}[31m");
    let line = fs::read_to_string(at(&env, "trouble.jsonl")).unwrap();
    let (_, error) = line.lines().last().unwrap().split_once("\"error\":\"").unwrap();
    let told = format!("2 calls failed, the last one 1h ago: claude Stop\\u{{1b}}[31m: {}", &error[..10]);
    doctor(&env).expect("hooks", "warn", &told);
    let quiet = env.run(&["doctor", "-q"]).expect_code(0);
    assert!(quiet.stdout.contains("2 calls failed"), "{quiet}");
    let findings = repair(&env);
    findings.expect("hooks", "warn", &told);
    assert_snapshot!(findings.fix("hooks"), @"cleared");
    assert_eq!(repair(&env).named("hooks"), [("ok", "no call failed")]);
    failing_hook(&env, 0, "");
    doctor(&env).expect("hooks", "warn", " ago: claude: ");
}

/// Whatever is in the log, its readable lines are reported.
#[test]
fn a_log_of_failed_hooks_that_is_torn() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let log = at(&env, "trouble.jsonl");
    put(&log, "oops\n\n{\"ts\": 7}\n\u{0}");
    doctor(&env).expect("hooks", "ok", "no call failed");
    failing_hook(&env, 0, "PreToolUse");
    doctor(&env).expect("hooks", "warn", "one call failed");
    let whole = fs::read_to_string(&log).unwrap();
    put(&log, &whole[..whole.len() - 10]);
    failing_hook(&env, 0, "Stop");
    doctor(&env).expect("hooks", "warn", " ago: claude Stop: ");
    // A long log is rotated; `--repair` removes both files.
    put(&log, &whole.repeat(200_000 / whole.len()));
    failing_hook(&env, 0, "Stop");
    assert!(fs::metadata(&log).unwrap().len() < 1_000);
    assert!(at(&env, "trouble.old.jsonl").exists());
    repair(&env).expect("hooks", "warn", "one call failed");
    assert!(!log.exists() && !at(&env, "trouble.old.jsonl").exists());
}
