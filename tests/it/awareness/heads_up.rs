//! Tests of the one sentence at a prompt: it comes before the edit, once, and not where something says it already.

use std::fs;
use std::os::unix::ffi::OsStrExt;

use ravenry::domain::awareness::RepositoryId;
use ravenry::domain::awareness::topics::Topic;
use ravenry::domain::hook::HookAnswer;
use ravenry::store::{CountedTrack, RepositoryCounts};
use ravenry::sys::test_switches::{BACKGROUND, NOW};

use super::{NOON, edit, files, join, prompt, prompt_at, repository};
use crate::support::environment::{TestEnvironment, end};
use crate::support::hook_call::{Call, context, session_of};

const LOGIN: &str = "the login forgets its users, please mend it";

fn two_agents() -> TestEnvironment {
    let env = repository();
    join(&env, "Alice");
    join(&env, "Robin");
    env
}

#[test]
fn a_prompt_that_leads_to_another_agents_file_is_told_once() {
    let env = two_agents();
    assert_eq!(prompt(&env, "Robin", "look after the login"), "");
    edit(&env, "Robin", "src/auth/login.rs");
    insta::assert_snapshot!(
        prompt(&env, "Alice", LOGIN),
        @"Heads-up: Robin is in `src/auth/login.rs`; prompts about `login` usually end there (3 of 3). Possible collision: `msg send Robin …` or reserve what you need."
    );
    assert_eq!(prompt(&env, "Alice", LOGIN), "", "not again in the window");
    assert_eq!(prompt(&env, "Robin", LOGIN), "", "nor to the other one of the pair");
    assert_eq!(prompt_at(&env, "Alice", LOGIN, "2026-11-15T21:00:00Z"), "", "Robin was there 9 hours ago");
    assert_eq!(files(&env, ".predictions").len(), 1);
}

#[test]
fn prompts_that_lead_elsewhere_say_nothing() {
    let env = two_agents();
    prompt(&env, "Robin", "look after the login");
    edit(&env, "Robin", "src/auth/login.rs");
    for number in 0..50 {
        let about = ["the cache of entries", "darker theme", "describe the tour", "something new entirely"];
        let text = format!("{} number {number}", about[number % about.len()]);
        assert_eq!(prompt(&env, "Alice", &text), "", "{text}");
    }
}

#[test]
fn what_a_reservation_says_already_is_not_told() {
    let env = two_agents();
    prompt(&env, "Robin", "look after the login");
    edit(&env, "Robin", "src/auth/login.rs");
    env.run(&["reserve", "src/auth/", "--reason", "mine", "--as", "Robin"]).expect_code(0);
    assert_eq!(prompt(&env, "Alice", LOGIN), "", "Robin's reservation refuses it anyway");
    env.run(&["release", "src/auth/", "--as", "Robin"]).expect_code(0);
    env.run(&["reserve", "src/auth/", "--as", "Alice"]).expect_code(0);
    assert_eq!(prompt(&env, "Alice", LOGIN), "", "Alice has reserved it herself");
    env.run(&["release", "src/auth/", "--as", "Alice"]).expect_code(0);
    assert_ne!(prompt(&env, "Alice", LOGIN), "");
}

#[test]
fn nobody_is_told_of_an_agent_that_is_gone() {
    let env = two_agents();
    prompt(&env, "Robin", "look after the login");
    edit(&env, "Robin", "src/auth/login.rs");
    env.run(&["leave", "--as", "Robin"]).expect_code(0);
    assert_eq!(prompt(&env, "Alice", LOGIN), "");
}

#[test]
fn a_file_that_both_have_changed_is_told_as_a_fact() {
    let env = two_agents();
    for name in ["Robin", "Alice"] {
        prompt(&env, name, "tidy up");
        edit(&env, name, "src/ui/theme.rs");
    }
    insta::assert_snapshot!(
        prompt(&env, "Alice", "go on"),
        @"Heads-up: Robin has changed `src/ui/theme.rs` lately, as you have. You may collide: `msg send Robin …` or reserve what you need."
    );
    assert_eq!(prompt(&env, "Alice", "go on"), "");
}

#[test]
fn prompts_that_are_not_the_users_lead_nowhere() {
    let env = two_agents();
    prompt(&env, "Robin", "look after the login");
    edit(&env, "Robin", "src/auth/login.rs");
    for text in ["/login please", "[msg] You have mail about the login", "  [msg] login"] {
        assert_eq!(prompt(&env, "Alice", text), "", "{text}");
    }
    assert_ne!(prompt(&env, "Alice", LOGIN), "");
}

#[test]
fn it_can_be_switched_off() {
    let env = two_agents();
    prompt(&env, "Robin", "look after the login");
    edit(&env, "Robin", "src/auth/login.rs");
    for mode in ["off", "show"] {
        env.run(&["config", "set", "awareness", mode]).expect_code(0);
        assert_eq!(prompt(&env, "Alice", LOGIN), "", "{mode}");
    }
    env.run(&["config", "set", "awareness", "warn"]).expect_code(0);
    env.run(&["config", "set", "warnAt", "1"]).expect_code(0);
    assert_eq!(prompt(&env, "Alice", LOGIN), "");
    env.run(&["config", "set", "warnAt", "0.4"]).expect_code(0);
    assert_ne!(prompt(&env, "Alice", LOGIN), "");
}

/// Counts as if so many prompts had changed that file, and as many another.
fn count(env: &TestEnvironment, file: &str, prompts: usize) {
    let shared = fs::canonicalize(env.work().join(".git")).unwrap();
    let repository = RepositoryId::of(shared.as_os_str().as_bytes());
    let mesh = env.store();
    let mut counts = RepositoryCounts::default();
    for _ in 0..prompts {
        counts.count(None, &[Topic::new("palette")], &[file.as_bytes().to_vec()]);
        counts.count(None, &[], &[b"other.rs".to_vec()]);
    }
    let track = mesh.awareness().track(&repository).unwrap();
    let rest = CountedTrack { kept: Vec::new(), open: track.lines.clone() };
    mesh.awareness().lock_counting(&repository).unwrap().unwrap().replace(&track, &counts, &rest).unwrap();
}

#[test]
fn a_file_that_everyone_changes_is_not_named() {
    let env = two_agents();
    for name in ["Robin", "Alice"] {
        prompt(&env, name, "tidy up");
        edit(&env, name, "src/ui/theme.rs");
    }
    count(&env, "src/ui/theme.rs", 600);
    assert_eq!(prompt(&env, "Alice", "another palette"), "", "neither as a fact nor as a forecast");
    count(&env, "src/ui/theme.rs", 400);
    assert_ne!(prompt(&env, "Alice", "another palette"), "", "with 800 events nobody knows that yet");
}

#[test]
fn the_other_one_is_told_of_what_is_nearly_certain_and_is_not_woken() {
    let env = two_agents();
    for name in ["Robin", "Alice"] {
        prompt(&env, name, "tidy up");
        edit(&env, name, "src/ui/theme.rs");
    }
    assert_ne!(prompt(&env, "Alice", "go on"), "");
    let stop = Call::new(&env, "claude/Stop", &session_of("Robin"));
    let stopped = end(stop.command(&env).env(NOW, NOON)).expect_code(0);
    assert_eq!(stop.understand(&stopped), HookAnswer::Silence, "it is not worth a turn");
    insta::assert_snapshot!(prompt(&env, "Robin", "what next?"), @r"
    [msg, low, 0s ago]
    > Heads-up: Alice has changed `src/ui/theme.rs` lately, as you have. To agree: `msg send Alice …`, or reserve what you need.
    ");
    assert_eq!(prompt(&env, "Robin", "and then?"), "", "told once");
}

#[test]
fn the_other_one_is_not_told_of_what_was_long_ago_or_is_only_possible() {
    let env = two_agents();
    prompt(&env, "Robin", "look after the login");
    edit(&env, "Robin", "src/auth/login.rs");
    assert_ne!(prompt(&env, "Alice", LOGIN), "", "a possible collision");
    assert_eq!(prompt(&env, "Robin", "what next?"), "");
    prompt(&env, "Alice", "tidy up");
    edit(&env, "Alice", "src/ui/theme.rs");
    join(&env, "Bob");
    edit(&env, "Bob", "src/ui/theme.rs");
    assert_ne!(prompt(&env, "Bob", "go on"), "", "Alice has a notice");
    assert_eq!(prompt_at(&env, "Alice", "what next?", "2026-11-15T21:00:00Z"), "", "the window is over");
}

#[test]
fn a_new_session_is_told_who_is_in_which_file() {
    let env = two_agents();
    edit(&env, "Alice", "src/auth/login.rs");
    edit(&env, "Robin", "docs/tour.md");
    edit(&env, "Robin", "src/ui/theme.rs");
    join(&env, "Bob");
    let start = |now: &str| {
        let call = Call::new(&env, "claude/SessionStart", &session_of("Bob"));
        let ended = end(call.command(&env).env(NOW, now).env(BACKGROUND, "wait")).expect_code(0);
        let text = context(call.understand(&ended));
        text.split(". ").find(|sentence| sentence.starts_with("At work")).map(str::to_string)
    };
    insta::assert_snapshot!(
        start(NOON).unwrap(),
        @"At work in this repository: Robin is in `src/ui/theme.rs`; Alice is in `src/auth/login.rs`"
    );
    assert_eq!(start("2026-11-15T21:00:00Z"), None, "that was 9 hours ago");
    env.run(&["config", "set", "awareness", "show"]).expect_code(0);
    assert_eq!(start(NOON), None, "models are told nothing");
}
