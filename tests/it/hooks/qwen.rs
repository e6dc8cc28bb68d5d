//! Qwen Code, which calls the hook for prompts before every request, and none when its inbox begins a turn.

use ravenry::domain::SessionId;
use ravenry::domain::hook::HookAnswer;
use ravenry::store::MailTurns;

use crate::support::environment::TestEnvironment;
use crate::support::hook_call::{Call, session_of};
use crate::support::running::{inbox, post, two};

fn bobs(env: &TestEnvironment, fixture: &str) -> Call {
    Call::new(env, fixture, &session_of("Bob"))
}

/// The mail comes by the prompt that our sentence becomes.
#[test]
fn at_a_stop_our_sentence_becomes_a_prompt_that_brings_the_mail() {
    let env = two();
    env.ok(&["config", "set", "mailTurns", "1"]);
    post(&env.store(), "Bob", "hello");
    let HookAnswer::GoOn(text) = bobs(&env, "qwen/Stop").answer(&env) else { panic!("it stops") };
    assert!(text.starts_with("[msg] You have mail"), "{text}");
    let ours = bobs(&env, "qwen/UserPromptSubmit-after-stop-block").with("/prompt", text);
    assert!(ours.context(&env).ends_with("> hello"));
    post(&env.store(), "Bob", "too much");
    let after_tool = bobs(&env, "qwen/UserPromptSubmit-after-tool");
    assert_eq!(after_tool.answer(&env), HookAnswer::Silence, "an empty prompt is none");
    assert_eq!(bobs(&env, "qwen/Stop").answer(&env), HookAnswer::Silence, "its user has said nothing");
    assert_eq!(inbox(&env).len(), 1);
}

/// The turn of a wake-up is counted once, though its mail comes at the stop.
#[test]
fn a_wake_up_without_a_prompt_brings_its_mail_at_the_stop() {
    let env = two();
    env.ok(&["config", "set", "mailTurns", "1"]);
    let (mesh, session) = (env.store(), SessionId::new(session_of("Bob")).unwrap());
    bobs(&env, "qwen/Stop").answer(&env);
    post(&mesh, "Bob", "hello");
    assert!(mesh.session_states().claim_wake(&session).unwrap());
    mesh.hooks().set_mail_turns(&session, &MailTurns { count: 1, said: "x".to_string() }).unwrap();
    assert!(matches!(bobs(&env, "qwen/Stop").answer(&env), HookAnswer::GoOn(_)));
    assert_eq!(mesh.hooks().mail_turns(&session).unwrap().count, 1);
    assert_eq!(bobs(&env, "qwen/Stop").answer(&env), HookAnswer::Silence);
}

#[test]
fn msg_alone_is_allowed_without_asking() {
    let env = two();
    let allows = |command: &str| {
        let call =
            bobs(&env, "qwen/PermissionRequest-run_shell_command").with("/tool_input/command", command);
        let ended = crate::support::environment::end(&mut call.command(&env));
        ended.expect_code(0).stdout.contains(r#""behavior":"allow""#)
    };
    assert!(allows("msg send Alice \"hello\""));
    for command in
        ["touch x", "msg send Alice $(touch x)", "msg read; touch x", "msg read > x", "msg run scout x"]
    {
        assert!(!allows(command), "{command}");
    }
}
