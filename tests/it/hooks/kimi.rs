//! Kimi Code, whose hooks report less of a session than others: its start, its subagents and the end of its turns.

use ravenry::domain::hook::HookAnswer;

use crate::support::environment::TestEnvironment;
use crate::support::hook_call::{Call, context, receipt, send, session_of};
use crate::support::running::{post, two};
use crate::support::terminal::harness;

fn bobs(env: &TestEnvironment, fixture: &str) -> Call {
    Call::new(env, fixture, &session_of("Bob"))
}

#[test]
fn it_is_greeted_at_its_first_prompt() {
    let env = TestEnvironment::new();
    env.ok(&["config", "set", "autoRegister", "true"]);
    let mut kimi = harness(&env, "kimi");
    let [start, prompt, stop] = ["SessionStart", "UserPromptSubmit", "Stop"]
        .map(|event| Call::new(&env, &format!("kimi/{event}"), "s1"));
    assert_eq!(start.answer_in(&env, &mut kimi), HookAnswer::Silence, "nobody would hear it");
    let text = context(prompt.answer_in(&env, &mut kimi));
    assert!(text.starts_with(&format!("You are {} ", env.names()[0])), "{text}");
    stop.answer_in(&env, &mut kimi);
    assert_eq!(prompt.answer_in(&env, &mut kimi), HookAnswer::Silence, "once is enough");
}

/// After `/clear` the end of the old session is reported after the start of the new one.
#[test]
fn the_end_of_an_earlier_session_is_not_its_end() {
    let env = TestEnvironment::new();
    env.ok(&["config", "set", "autoRegister", "true"]);
    let mut kimi = harness(&env, "kimi");
    for event in ["SessionStart", "UserPromptSubmit", "Stop"] {
        Call::new(&env, &format!("kimi/{event}"), "s1").answer_in(&env, &mut kimi);
    }
    let names = env.names();
    Call::new(&env, "kimi/SessionStart-after-clear", "s2").answer_in(&env, &mut kimi);
    Call::new(&env, "kimi/SessionEnd-by-clear", "s1").answer_in(&env, &mut kimi);
    assert_eq!(env.names(), names);
    assert_eq!(env.registration(&names[0])["sessionId"], "s2");
    Call::new(&env, "kimi/SessionEnd", "s2").answer_in(&env, &mut kimi);
    assert!(env.names().is_empty(), "that is its end");
}

/// The stop of a subagent has its parent's session.
#[test]
fn no_mail_is_given_to_a_subagent() {
    let env = two();
    for _ in 0..2 {
        bobs(&env, "kimi/SubagentStart").answer(&env);
    }
    post(&env.store(), "Bob", "for the parent");
    for _ in 0..2 {
        assert_eq!(bobs(&env, "kimi/Stop-in-subagent").answer(&env), HookAnswer::Silence);
        bobs(&env, "kimi/SubagentStop").answer(&env);
    }
    assert!(matches!(bobs(&env, "kimi/Stop").answer(&env), HookAnswer::GoOn(_)));
    // One that was interrupted does not end; the next prompt shows that.
    bobs(&env, "kimi/SubagentStart").answer(&env);
    bobs(&env, "kimi/UserPromptSubmit").answer(&env);
    post(&env.store(), "Bob", "one more thing");
    assert!(matches!(bobs(&env, "kimi/Stop").answer(&env), HookAnswer::GoOn(_)));
}

/// It does not report the end of a turn that mail has continued.
#[test]
fn a_turn_that_went_on_counts_as_ended() {
    let env = two();
    bobs(&env, "kimi/UserPromptSubmit").answer(&env);
    let wake = || env.ok(&["send", "Bob", "hello", "--as", "Alice"])["sent"][0]["wake"].clone();
    assert_eq!(wake(), "hook");
    assert!(matches!(bobs(&env, "kimi/Stop").answer(&env), HookAnswer::GoOn(_)));
    assert_eq!(wake(), "prompt", "no hook will hand it over");
}

/// Nothing can be said after a tool, and its user may interrupt what was said at a prompt.
#[test]
fn mail_stays_offered_until_a_later_hook() {
    let env = two();
    let id = send(&env, "hello");
    assert_eq!(bobs(&env, "kimi/PostToolUse-Bash").answer(&env), HookAnswer::Silence);
    assert!(bobs(&env, "kimi/UserPromptSubmit").context(&env).ends_with("> hello"));
    assert_eq!(receipt(&env, &id).0, "stored");
    bobs(&env, "kimi/PreToolUse-Read").answer(&env);
    assert_eq!(receipt(&env, &id).0, "surfaced");
}
