//! Who is told what: those who were refused, those who have nothing to do, and the heir.

use std::time::{Duration, SystemTime};

use super::fixture::{claim, mail, refused, run_at, three};
use crate::environment::{date, put};

#[test]
fn who_was_refused_is_told_once() {
    let env = three();
    claim(&env, "Alice", &["TASK-01"]);
    assert_eq!(refused(&env, "Bob", &["TASK-01"]), "already_claimed");
    assert_eq!(refused(&env, "Bob", &["TASK-01"]), "already_claimed");
    env.ok(&["unclaim", "--as", "Alice"]);
    let told = mail(&env, "Bob");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("`TASK-01` is free: Alice") && told[0].contains("msg claim TASK-01"),
        "{told:?}"
    );
    claim(&env, "Alice", &["TASK-01"]);
    env.ok(&["unclaim", "--as", "Alice"]);
    assert!(mail(&env, "Bob").is_empty() && mail(&env, "Carol").is_empty(), "only who was refused, and once");
    claim(&env, "Alice", &["TASK-01"]);
    refused(&env, "Bob", &["TASK-01"]);
    env.ok(&["complete", "TASK-01", "--as", "Alice"]);
    let told = mail(&env, "Bob");
    assert!(told.len() == 1 && told[0].contains("`TASK-01` is done: Alice"), "{told:?}");
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
    let told = mail(&env, "Bob");
    assert!(told.len() == 1 && told[0].contains("`TASK-01` is free"), "{told:?}");
    env.kill(dan);
    env.ok(&["agents"]);
    let told = mail(&env, "Bob");
    assert!(told.len() == 1 && told[0].contains("`TASK-02` is free"), "{told:?}");
}

#[test]
fn who_gets_what_it_was_refused_waits_no_longer() {
    let env = three();
    claim(&env, "Alice", &["TASK-01"]);
    refused(&env, "Bob", &["TASK-01"]);
    env.ok(&["handoff", "TASK-01", "Bob", "--notes", "the tests\nare missing", "--as", "Alice"]);
    let told = mail(&env, "Bob");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("Alice hands `TASK-01` to you") && told[0].ends_with("the tests\nare missing"));
    env.ok(&["complete", "TASK-01", "--as", "Bob"]);
    assert_eq!(mail(&env, "Bob"), Vec::<String>::new(), "of one's own doing nobody needs to be told");
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

/// Those with another spec, with a task, or at work just now, are left alone.
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
    let told = mail(&env, "Carol");
    assert!(told[0].contains("`TASK-03` can be begun") && told[0].contains("msg claim --next"), "{told:?}");
}

/// Whoever pastes what it is told does what it was told.
#[test]
fn commands_that_are_told_are_written_for_a_shell() {
    let env = three();
    let task = "fix it, O'Neil";
    let word = r"'fix it, O'\''Neil'";
    claim(&env, "Alice", &[task, "--adhoc"]);
    assert_eq!(refused(&env, "Bob", &[task, "--adhoc"]), "already_claimed");
    env.ok(&["unclaim", "--as", "Alice"]);
    let told = mail(&env, "Bob");
    assert!(told[0].ends_with(&format!("To take it: msg claim {word}")), "{told:?}");
    claim(&env, "Alice", &[task, "--adhoc"]);
    env.ok(&["handoff", task, "Carol", "--as", "Alice"]);
    let told = mail(&env, "Carol");
    assert!(told[0].ends_with(&format!("`msg unclaim {word}` lets go of it.")), "{told:?}");
}

#[test]
fn a_hint_of_a_handoff_is_written_for_a_shell() {
    let env = three();
    claim(&env, "Alice", &["TASK-01", "--reserve", "src/x.rs"]);
    env.ok(&["reserve", "src/**", "--as", "Alice"]);
    let refused = env.run(&["handoff", "TASK-01", "Bob", "--as", "Alice"]).expect_code(1);
    assert!(refused.stderr.contains("`msg release 'src/**'` first"), "{refused}");
}
