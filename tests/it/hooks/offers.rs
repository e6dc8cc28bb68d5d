//! Mail given by a hook counts as surfaced when a later hook shows that the harness continued with it; until then it
//! can be given again.

use ravenry::domain::hook::HookAnswer;
use serde_json::json;

use super::harmless::troubles;
use crate::support::environment::{TestEnvironment, end, put};
use crate::support::hook_call::{Call, context, receipt, send, session_of};
use crate::support::running::{inbox, post, two};
use crate::support::terminal::harness;

fn bobs(env: &TestEnvironment, fixture: &str) -> Call {
    Call::new(env, fixture, &session_of("Bob"))
}

/// Claude Code's prompt in this turn.
fn prompt(env: &TestEnvironment, turn: &str) -> Call {
    bobs(env, "claude/UserPromptSubmit").with("/prompt_id", turn)
}

#[track_caller]
fn assert_state(env: &TestEnvironment, id: &str, state: &str) {
    assert_eq!(receipt(env, id).0, state);
}

#[test]
fn mail_of_a_prompt_that_was_taken_back_comes_with_the_next_prompt() {
    let env = two();
    let id = send(&env, "hello");
    for turn in ["one", "two", "three"] {
        assert!(prompt(&env, turn).context(&env).ends_with("> hello"), "{turn}");
        assert_state(&env, &id, "stored");
    }
    assert_eq!(bobs(&env, "claude/PreToolUse-Bash").answer(&env), HookAnswer::Silence);
    assert_eq!(
        receipt(&env, &id),
        ("surfaced".to_string(), Some("hook claude UserPromptSubmit".to_string()))
    );
    assert_eq!(prompt(&env, "four").answer(&env), HookAnswer::Silence);
}

/// A prompt that is typed during a turn has the id of that turn.
#[test]
fn a_second_prompt_of_the_same_turn_takes_nothing_back() {
    let env = two();
    let id = send(&env, "hello");
    assert!(prompt(&env, "one").context(&env).ends_with("> hello"));
    assert_eq!(prompt(&env, "one").answer(&env), HookAnswer::Silence);
    assert_state(&env, &id, "stored");
    assert_eq!(bobs(&env, "claude/Stop").answer(&env), HookAnswer::Silence);
    assert_state(&env, &id, "surfaced");
}

#[test]
fn what_stays_in_the_conversation_is_given_once_and_counts_when_the_model_goes_on() {
    let fixtures =
        ["claude/PostToolUse-Bash", "claude/PostToolUseFailure-Bash", "claude/Stop", "claude/SessionStart"];
    for fixture in fixtures {
        let env = two();
        let id = send(&env, "hello");
        let said = match bobs(&env, fixture).answer(&env) {
            HookAnswer::Context(said) | HookAnswer::GoOn(said) => said,
            other => panic!("{fixture}: {other:?}"),
        };
        assert!(said.ends_with("> hello"), "{fixture}: {said}");
        // The user interrupted the turn, and types another prompt.
        assert_eq!(prompt(&env, "another").answer(&env), HookAnswer::Silence, "{fixture}");
        assert_state(&env, &id, "stored");
        assert_eq!(bobs(&env, "claude/PreToolUse-Bash").answer(&env), HookAnswer::Silence, "{fixture}");
        assert_state(&env, &id, "surfaced");
    }
}

#[test]
fn what_a_killed_process_was_told_comes_again_when_its_session_does() {
    for fixture in ["claude/UserPromptSubmit", "claude/PostToolUse-Bash", "claude/Stop"] {
        let env = two();
        let mut first = harness(&env, "claude");
        first.msg("CLAUDE_CODE_SESSION_ID=s1 msg join Carol");
        post(&env.store(), "Carol", "hello");
        let said = Call::new(&env, fixture, "s1").answer_in(&env, &mut first);
        assert!(format!("{said:?}").contains("> hello"), "{fixture}: {said:?}");
        first.kill();
        let mut second = harness(&env, "claude");
        let resumed = Call::new(&env, "claude/SessionStart", "s1").with("/source", "resume");
        let text = context(resumed.answer_in(&env, &mut second));
        assert!(text.starts_with("You are Carol ") && text.ends_with("> hello"), "{fixture}: {text}");
        let goes_on = Call::new(&env, "claude/PreToolUse-Bash", "s1");
        assert_eq!(goes_on.answer_in(&env, &mut second), HookAnswer::Silence, "{fixture}");
        second.kill();
        let mut third = harness(&env, "claude");
        let text = context(resumed.answer_in(&env, &mut third));
        assert!(!text.contains("hello"), "{fixture}: the model has it: {text}");
    }
}

#[test]
fn a_session_that_ends_before_its_model_went_on_keeps_its_mail() {
    let env = two();
    let mut shell = harness(&env, "claude");
    shell.msg("CLAUDE_CODE_SESSION_ID=s1 msg join Carol");
    post(&env.store(), "Carol", "hello");
    let said = Call::new(&env, "claude/UserPromptSubmit", "s1").answer_in(&env, &mut shell);
    assert!(context(said).ends_with("> hello"));
    assert_eq!(Call::new(&env, "claude/SessionEnd", "s1").answer_in(&env, &mut shell), HookAnswer::Silence);
    shell.kill();
    let mut again = harness(&env, "claude");
    let resumed = Call::new(&env, "claude/SessionStart", "s1").with("/source", "resume");
    assert!(context(resumed.answer_in(&env, &mut again)).ends_with("> hello"));
}

/// If what the model has cannot be recorded, it still gets other mail.
#[test]
fn mail_that_can_not_be_recorded_is_in_nobodys_way() {
    let env = two();
    send(&env, "one");
    assert!(bobs(&env, "claude/PostToolUse-Bash").context(&env).ends_with("> one"));
    let seen = env.mesh().join("seen/Bob");
    std::fs::remove_dir_all(&seen).ok();
    put(&seen, "");
    send(&env, "two");
    let said = end(&mut bobs(&env, "claude/Stop").command(&env)).expect_code(0);
    assert!(said.stdout.contains("> two"), "{said}");
    assert!(!troubles(&env).is_empty(), "{said}");
    end(&mut bobs(&env, "claude/SessionEnd").command(&env)).expect_code(0);
    assert_eq!(env.names(), ["Alice"], "it has left");
}

#[test]
fn an_ack_says_nothing_about_other_messages() {
    let env = two();
    let (one, two) = (send(&env, "one"), send(&env, "two"));
    assert!(prompt(&env, "a").context(&env).ends_with("> two"));
    assert_eq!(env.fails(1, &["ack", &one, "zzzzzz", "--as", "Bob"]), "unknown_message");
    assert_state(&env, &one, "stored");
    env.ok(&["ack", &one, "--as", "Bob"]);
    assert_state(&env, &one, "acked");
    assert_state(&env, &two, "stored");
    let again = prompt(&env, "b").context(&env);
    assert!(again.ends_with("> two") && !again.contains("> one"), "{again}");
}

#[test]
fn what_a_subagent_does_says_nothing_about_its_parents_mail() {
    let env = two();
    let id = send(&env, "hello");
    assert!(prompt(&env, "one").context(&env).ends_with("> hello"));
    for event in ["PreToolUse", "PostToolUse"] {
        let call = bobs(&env, &format!("claude/{event}-Bash")).with("/agent_id", "a12fb99e87c954384");
        assert_eq!(call.answer(&env), HookAnswer::Silence);
        assert_state(&env, &id, "stored");
    }
    assert!(prompt(&env, "two").context(&env).ends_with("> hello"));
}

#[test]
fn an_interrupted_tool_carries_no_mail() {
    let env = two();
    let id = send(&env, "hello");
    let calls = [
        bobs(&env, "claude/PostToolUseFailure-Bash").with("/is_interrupt", true),
        bobs(&env, "claude/PostToolUse-Bash").with("/tool_response/interrupted", true),
    ];
    for call in calls {
        assert_eq!(call.answer(&env), HookAnswer::Silence, "{}", call.event);
        assert_state(&env, &id, "stored");
    }
    assert!(prompt(&env, "two").context(&env).ends_with("> hello"));
}

#[test]
fn what_was_offered_can_be_acked_and_its_sender_is_told_where_it_is() {
    let env = two();
    let id = send(&env, "hello");
    assert!(prompt(&env, "one").context(&env).ends_with("> hello"));
    let receipt = env.ok(&["receipt", &id, "--as", "Alice"]);
    let reason = "hook claude UserPromptSubmit gave it to Bob, which has not continued since";
    assert_eq!((&receipt["state"], &receipt["reason"]), (&json!("stored"), &json!(reason)));
    env.ok(&["ack", &id, "--as", "Bob"]);
    assert_state(&env, &id, "acked");
    assert!(inbox(&env).is_empty());
}

/// A message of low importance does not cause another turn, even next to one that was offered.
#[test]
fn what_was_offered_is_no_reason_for_another_turn() {
    let env = two();
    send(&env, "hello");
    assert!(prompt(&env, "one").context(&env).ends_with("> hello"));
    env.ok(&["send", "Bob", "no hurry", "--importance", "low", "--as", "Alice"]);
    assert_eq!(bobs(&env, "claude/Stop").answer(&env), HookAnswer::Silence);
}

/// A command that asks for mail gets it: the hook before it takes nothing.
#[test]
fn a_command_that_asks_for_mail_gets_it() {
    let env = two();
    let ask = ["read", "inbox", "wait --timeout 20"];
    for harness in ["claude", "codex"] {
        for command in ask {
            let id = send(&env, "hello");
            for line in [
                format!("msg {command}"),
                format!("cd src && /usr/bin/msg {command} | head"),
                format!("sh -c 'msg {command}'"),
            ] {
                let call = bobs(&env, &format!("{harness}/PreToolUse-Bash"))
                    .with("/tool_input/command", line.as_str());
                assert_eq!(call.answer(&env), HookAnswer::Silence, "{harness}: {line}");
            }
            let mut words: Vec<&str> = command.split(' ').collect();
            words.extend(["--as", "Bob"]);
            let answer = env.ok(&words);
            assert!(answer.to_string().contains("hello"), "{harness} {command}: {answer}");
            env.ok(&["ack", &id, "--as", "Bob"]);
        }
    }
    let before = |tool: &str| {
        bobs(&env, "codex/PreToolUse-Bash").with("/tool_name", tool).with("/tool_input", json!({}))
    };
    send(&env, "for a tool");
    assert_eq!(before("mcp__ravenry__inbox").answer(&env), HookAnswer::Silence);
    assert!(before("mcp__other__inbox").context(&env).ends_with("> for a tool"), "any other carries it");
}

/// Gemini CLI drops a cancelled prompt, and reports at its end that the model said nothing.
#[test]
fn a_turn_that_ends_in_silence_shows_nothing() {
    let env = two();
    let id = send(&env, "hello");
    let prompt = bobs(&env, "gemini/BeforeAgent");
    assert!(prompt.context(&env).ends_with("> hello"));
    for said in ["[no response text]", ""] {
        let stop = bobs(&env, "gemini/AfterAgent").with("/prompt_response", said);
        assert_eq!(stop.answer(&env), HookAnswer::Silence);
        assert_state(&env, &id, "stored");
        assert!(prompt.context(&env).ends_with("> hello"));
    }
    assert_eq!(bobs(&env, "gemini/AfterAgent").answer(&env), HookAnswer::Silence);
    assert_state(&env, &id, "surfaced");
}
