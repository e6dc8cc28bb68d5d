//! Notices about tasks: to agents that were refused, idle agents, and the agent that a task is handed to.

use std::fs;
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;
use serde_json::json;

use super::fixture::{assert_state, claim, key, mail, refused, run_at, three};
use crate::support::environment::{TestEnvironment, date, put};
use crate::support::mcp_client::Client;

/// Reads the agent's inbox. Returns the texts, one per line and sorted.
#[track_caller]
fn told(env: &TestEnvironment, name: &str) -> String {
    let mut texts = mail(env, name);
    texts.sort();
    env.redact(texts.join("\n"))
}

#[test]
fn who_was_refused_is_told_once() {
    let env = three();
    claim(&env, "Alice", &["TASK-01"]);
    assert_eq!(refused(&env, "Bob", &["TASK-01"]), "already_claimed");
    assert_eq!(refused(&env, "Bob", &["TASK-01"]), "already_claimed");
    env.ok(&["unclaim", "--as", "Alice"]);
    assert_snapshot!(
        told(&env, "Bob"),
        @"`TASK-01` is free: Alice no longer works on it. To take it: msg claim TASK-01"
    );
    claim(&env, "Alice", &["TASK-01"]);
    env.ok(&["unclaim", "--as", "Alice"]);
    assert!(mail(&env, "Bob").is_empty() && mail(&env, "Carol").is_empty(), "only who was refused, and once");
    claim(&env, "Alice", &["TASK-01"]);
    refused(&env, "Bob", &["TASK-01"]);
    env.ok(&["complete", "TASK-01", "--as", "Alice"]);
    assert_snapshot!(told(&env, "Bob"), @"`TASK-01` is done: Alice completed it.");
}

#[test]
fn who_was_refused_is_told_of_leaving_and_of_death() {
    let env = three();
    let dan = env.join("Dan");
    env.ok(&["spec", "spec.md", "--as", "Dan"]);
    claim(&env, "Alice", &["TASK-01"]);
    claim(&env, "Dan", &["TASK-02"]);
    refused(&env, "Bob", &["TASK-01"]);
    refused(&env, "Bob", &["TASK-02"]);
    env.ok(&["leave", "--as", "Alice"]);
    assert_snapshot!(
        told(&env, "Bob"),
        @"`TASK-01` is free: Alice no longer works on it. To take it: msg claim TASK-01"
    );
    env.kill(dan);
    env.ok(&["agents"]);
    assert_snapshot!(
        told(&env, "Bob"),
        @"`TASK-02` is free: Dan no longer works on it. To take it: msg claim TASK-02"
    );
}

#[test]
fn who_gets_what_it_was_refused_waits_no_longer() {
    let env = three();
    claim(&env, "Alice", &["TASK-01"]);
    refused(&env, "Bob", &["TASK-01"]);
    env.ok(&["handoff", "TASK-01", "Bob", "--notes", "the tests\nare missing", "--as", "Alice"]);
    assert_snapshot!(told(&env, "Bob"), @"
    Alice hands `TASK-01` to you; it is yours now. To give it back: msg unclaim
    Notes by Alice: “the tests are missing”
    ");
    env.ok(&["complete", "TASK-01", "--as", "Bob"]);
    assert_eq!(mail(&env, "Bob"), Vec::<String>::new(), "of one's own doing nobody needs to be told");
}

#[test]
fn the_heir_is_told_however_long_the_notes_are() {
    let env = three();
    let notes = format!("{} the end", "word ".repeat(3000));
    claim(&env, "Alice", &["TASK-01"]);
    env.ok(&["handoff", "TASK-01", "Bob", "--notes", &notes, "--as", "Alice"]);
    let told = mail(&env, "Bob");
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0], format!("Notes on `TASK-01`:\n{notes}"), "in full, from Alice");
    assert!(told[1].contains("Alice hands `TASK-01` to you") && told[1].chars().count() < 500, "{told:?}");
    let mut client = Client::of(&env, "claude");
    let name = client.name();
    client.ok("task", json!({ "action": "claim", "id": "TASK-02", "spec": key(&env, "spec.md") }));
    let notes = "x".repeat(9 * 1024 * 1024);
    let handoff = json!({ "action": "handoff", "id": "TASK-02", "to": "Carol", "notes": notes });
    assert_eq!(client.fails("task", handoff), "too_large");
    assert_state(&env, &format!("TASK-02 claimed {name}"));
    assert_eq!(mail(&env, "Carol"), Vec::<String>::new());
}

#[test]
fn who_hands_over_to_an_agent_without_an_inbox_is_told() {
    let env = three();
    let notes = format!("{} the end", "word ".repeat(3000));
    claim(&env, "Alice", &["TASK-01"]);
    std::fs::remove_dir(env.mesh().join("inbox/Bob")).unwrap();
    let said = env.run(&["handoff", "TASK-01", "Bob", "--notes", &notes, "--as", "Alice"]);
    assert_snapshot!(env.redact(said), @"
    TASK-01 is Bob's now.
    --- stderr
    note: the notes could not be sent to Bob: Bob has no inbox
    note: could not tell Bob: Bob has no inbox
    ");
}

#[test]
fn who_took_what_it_was_refused_waits_no_longer() {
    let env = three();
    let dan = env.join("Dan");
    env.ok(&["claim", "TASK-01", "--spec", "spec.md", "--as", "Dan"]);
    refused(&env, "Bob", &["TASK-01"]);
    env.kill(dan);
    claim(&env, "Bob", &["TASK-01"]);
    mail(&env, "Bob");
    env.ok(&["unclaim", "--as", "Bob"]);
    claim(&env, "Bob", &["TASK-01"]);
    env.ok(&["complete", "TASK-01", "--as", "Bob"]);
    assert_eq!(mail(&env, "Bob"), Vec::<String>::new());
}

/// Neither those who wait for the same task, nor those who wait for a path.
#[test]
fn one_who_cannot_be_told_keeps_nobody_from_being_told() {
    let env = three();
    env.join("Dan");
    claim(&env, "Alice", &["TASK-01", "--reserve", "lib/"]);
    refused(&env, "Bob", &["TASK-01"]);
    refused(&env, "Carol", &["TASK-01"]);
    env.fails(1, &["reserve", "lib/", "--as", "Dan"]);
    let inbox = env.mesh().join("inbox/Bob");
    fs::remove_dir_all(&inbox).unwrap();
    put(&inbox, "");
    let ended = env.run(&["unclaim", "--as", "Alice"]).expect_code(0);
    assert!(ended.stderr.contains("could not tell Bob what is free"), "{ended}");
    assert_snapshot!(
        told(&env, "Carol"),
        @"`TASK-01` is free: Alice no longer works on it. To take it: msg claim TASK-01"
    );
    assert_snapshot!(
        told(&env, "Dan"),
        @"`lib/` is free: Alice no longer holds it. To have it to yourself: msg reserve lib/"
    );
}

#[test]
fn who_has_no_inbox_is_told_once_it_has_one() {
    let env = three();
    claim(&env, "Alice", &["TASK-01"]);
    refused(&env, "Bob", &["TASK-01"]);
    let inbox = env.mesh().join("inbox/Bob");
    fs::remove_dir_all(&inbox).unwrap();
    env.ok(&["unclaim", "--as", "Alice"]);
    assert!(!inbox.exists());
    fs::create_dir(&inbox).unwrap();
    env.ok(&["agents"]);
    assert_snapshot!(
        told(&env, "Bob"),
        @"`TASK-01` is free: Alice no longer works on it. To take it: msg claim TASK-01"
    );
}

#[test]
fn who_comes_back_still_waits() {
    let env = three();
    let dan = env.join("Dan");
    env.ok(&["spec", "spec.md", "--as", "Dan"]);
    claim(&env, "Bob", &["TASK-02", "--reserve", "lib/"]);
    refused(&env, "Dan", &["TASK-02"]);
    env.fails(1, &["reserve", "lib/", "--as", "Dan"]);
    env.kill(dan);
    env.names();
    env.join("Dan");
    env.ok(&["unclaim", "--as", "Bob"]);
    assert_snapshot!(told(&env, "Dan"), @"
    `TASK-02` is free: Bob no longer works on it. To take it: msg claim TASK-02
    `lib/` is free: Bob no longer holds it. To have it to yourself: msg reserve lib/
    ");
}

/// The new owner is not told that the paths it got are free.
#[test]
fn an_heir_waits_no_longer_for_what_it_is_given() {
    let env = three();
    claim(&env, "Alice", &["TASK-02", "--reserve", "lib/"]);
    env.ok(&["reserve", "docs/", "--as", "Alice"]);
    env.fails(1, &["reserve", "lib/", "docs/", "--as", "Bob"]);
    env.ok(&["handoff", "TASK-02", "Bob", "--as", "Alice"]);
    env.names();
    assert_snapshot!(
        told(&env, "Bob"),
        @"Alice hands `TASK-02` to you; it is yours now. To give it back: msg unclaim"
    );
    env.ok(&["release", "docs/", "--as", "Alice"]);
    assert_snapshot!(
        told(&env, "Bob"),
        @"`docs/` is free: Alice no longer holds it. To have it to yourself: msg reserve docs/"
    );
}

/// Nobody buries the holder, and nobody else does anything: the reader finds out.
#[test]
fn who_reads_is_told_of_a_death_that_nobody_saw() {
    let env = three();
    let dan = env.join("Dan");
    env.ok(&["claim", "TASK-01", "--spec", "spec.md", "--reserve", "lib/", "--as", "Dan"]);
    refused(&env, "Bob", &["TASK-01"]);
    env.fails(1, &["reserve", "lib/x", "--as", "Bob"]);
    assert_eq!(mail(&env, "Bob"), Vec::<String>::new(), "Dan lives");
    env.kill(dan);
    assert_snapshot!(told(&env, "Bob"), @"
    `TASK-01` is free: Dan no longer works on it. To take it: msg claim TASK-01
    `lib/x` is free: Dan no longer holds it. To have it to yourself: msg reserve lib/x
    ");
    assert_eq!(mail(&env, "Bob"), Vec::<String>::new(), "told once");
}

/// Agents with another spec, with a task, or active just now are left alone.
#[test]
fn who_is_idle_with_the_same_spec_is_told_what_can_be_begun() {
    let env = three();
    for name in ["Busy", "Other", "Active"] {
        env.join(name);
        env.ok(&["spec", "spec.md", "--as", name]);
    }
    put(&env.work().join("other.md"), "- [ ] X-1: x\n");
    env.ok(&["spec", "other.md", "--as", "Other"]);
    claim(&env, "Alice", &["TASK-01"]);
    claim(&env, "Bob", &["TASK-02"]);
    claim(&env, "Busy", &["TASK-05"]);
    let active = SystemTime::UNIX_EPOCH + Duration::from_secs(4_070_908_800);
    date(&env.mesh().join("presence/Active"), active);
    let at = "2099-01-01T00:00:00.000Z";
    let names = ["Bob", "Carol", "Busy", "Other", "Active"];
    run_at(&env, at, &["complete", "TASK-01", "--as", "Alice"]).expect_code(0);
    let unread = |name: &str| env.ok(&["inbox", "--as", name])["messages"].as_array().unwrap().len();
    assert_eq!(names.map(unread), [0; 5], "nothing was unblocked");
    date(&env.mesh().join("presence/Active"), active);
    date(&env.mesh().join("presence/Alice"), active);
    run_at(&env, at, &["complete", "TASK-02", "--as", "Bob"]).expect_code(0);
    assert_eq!(names.map(unread), [0, 1, 0, 0, 0]);
    assert_snapshot!(
        told(&env, "Carol"),
        @"`TASK-03` is ready: Bob completed what it depends on. To take it: msg claim --next"
    );
}

/// A command in a notice can be pasted into a shell as it is.
#[test]
fn commands_that_are_told_are_written_for_a_shell() {
    let env = three();
    // What could break out of its quotes is not written into a command.
    for (task, word) in [("fix it now", "'fix it now'"), ("fix it, O'Neil", "TASK"), ("a`b", "TASK")] {
        claim(&env, "Alice", &[task, "--adhoc"]);
        assert_eq!(refused(&env, "Bob", &[task, "--adhoc"]), "already_claimed");
        env.ok(&["unclaim", "--as", "Alice"]);
        let told = mail(&env, "Bob");
        assert!(told[0].ends_with(&format!("To take it: msg claim {word}")), "{told:?}");
    }
}

#[test]
fn a_hint_of_a_handoff_is_written_for_a_shell() {
    let env = three();
    claim(&env, "Alice", &["TASK-01", "--reserve", "src/x.rs"]);
    env.ok(&["reserve", "src/**", "--as", "Alice"]);
    assert_snapshot!(env.redact(env.run(&["handoff", "TASK-01", "Bob", "--as", "Alice"])), @"
    [exit 1]
    --- stderr
    error: `src/x.rs` goes with `TASK-01`, but you hold `src/**` independently of it
    hint: run `msg release 'src/**'` first: a path can have only one holder
    ");
}
