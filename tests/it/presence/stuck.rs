//! A stuck agent is reported once, to those who work on the same spec.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use super::{age, told};
use crate::support::environment::{TestEnvironment, put, put_old};
use crate::support::hook_call::{Call, session_of};
use crate::support::hook_fixture::ended;
use crate::tasks::fixture::{claim, mail, three};

const LONG: Duration = Duration::from_secs(20 * 60);
const TEXT: &str = "Alice seems to be stuck: it has been quiet for 20min and still holds `TASK-01`, `src/`. It is still \
                    running and keeps what it holds. Ask: msg send Alice \"…\"";

/// Alice, Bob and Carol share a spec, Dave has another; Alice has a task and a path, and has been quiet for long.
fn stage() -> TestEnvironment {
    let env = three();
    put(&env.work().join("other.md"), "- [ ] TASK-01: x\n");
    env.join("Dave");
    env.ok(&["spec", "other.md", "--as", "Dave"]);
    claim(&env, "Alice", &["TASK-01", "--reserve", "src/"]);
    age(&env, "Alice", LONG);
    env
}

fn all_mail(env: &TestEnvironment) -> [Vec<String>; 3] {
    ["Bob", "Carol", "Dave"].map(|name| mail(env, name))
}

const NONE: [Vec<String>; 3] = [Vec::new(), Vec::new(), Vec::new()];

fn once() -> [Vec<String>; 3] {
    [vec![TEXT.to_string()], vec![TEXT.to_string()], Vec::new()]
}

#[test]
fn of_sixteen_who_look_at_once_one_tells() {
    let env = stage();
    let looks =
        [&["agents"][..], &["whois", "Alice"], &["tasks", "--spec", "spec.md"], &["agents", "--json"]];
    let children: Vec<_> = (0..16)
        .map(|number| {
            let mut command = env.msg();
            command.args(looks[number % looks.len()]).stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    children.into_iter().for_each(|child| drop(ended(child).expect_code(0)));
    assert_eq!(all_mail(&env), once());
    assert_eq!(told(&env, "stuck"), ["Alice TASK-01, src/ -"]);
    env.ok(&["agents"]);
    env.ok(&["tasks", "--as", "Bob"]);
    assert_eq!(all_mail(&env), NONE, "once is enough");
    assert_eq!(told(&env, "stuck").len(), 1);
}

#[test]
fn who_was_active_in_between_is_told_of_again() {
    let env = stage();
    env.ok(&["agents"]);
    assert_eq!(all_mail(&env), once());
    env.ok(&["inbox", "--as", "Alice"]);
    env.ok(&["agents"]);
    assert_eq!(all_mail(&env), NONE, "it is active");
    age(&env, "Alice", LONG);
    env.ok(&["agents"]);
    assert_eq!(all_mail(&env), once());
    assert_eq!(told(&env, "stuck").len(), 2);
}

#[test]
fn while_somebody_has_the_lock_nobody_waits_and_the_next_tells() {
    let env = stage();
    let mesh = env.store();
    let held = mesh.lock().unwrap();
    env.ok(&["agents"]);
    assert_eq!(told(&env, "stuck"), [""; 0]);
    drop(held);
    env.ok(&["agents"]);
    assert_eq!(all_mail(&env), once());
}

#[test]
fn hooks_notice_it_in_passing_and_not_before_a_tool() {
    let env = stage();
    let looked = env.mesh().join("presence/.looked");
    fs::remove_file(&looked).ok();
    Call::edit(&env, &session_of("Bob"), "free.rs").answer(&env);
    Call::new(&env, "claude/PostToolUse-Bash", &session_of("Bob")).answer(&env);
    assert_eq!(told(&env, "stuck"), [""; 0]);
    Call::new(&env, "claude/UserPromptSubmit", &session_of("Bob")).answer(&env);
    assert_eq!(told(&env, "stuck").len(), 1);
    env.ok(&["inbox", "--as", "Alice"]);
    age(&env, "Alice", LONG);
    Call::new(&env, "claude/UserPromptSubmit", &session_of("Carol")).answer(&env);
    assert_eq!(told(&env, "stuck").len(), 1, "somebody looked a moment ago");
    put_old(&looked, "");
    Call::new(&env, "claude/UserPromptSubmit", &session_of("Carol")).answer(&env);
    assert_eq!(told(&env, "stuck").len(), 2);
}

#[test]
fn who_holds_nothing_is_no_news() {
    let env = three();
    age(&env, "Alice", LONG);
    env.ok(&["agents"]);
    assert_eq!(mail(&env, "Bob"), [""; 0]);
    assert_eq!(told(&env, "stuck"), [""; 0]);
}

#[test]
fn without_a_spec_in_common_only_the_feed_is_told() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    env.ok(&["reserve", "src/", "--as", "Alice"]);
    age(&env, "Alice", LONG);
    env.ok(&["agents"]);
    assert_eq!(mail(&env, "Bob"), [""; 0]);
    assert_eq!(told(&env, "stuck"), ["Alice src/ -"]);
}
