//! An agent that is about to stop continues if mail is waiting, but only a limited number of times.

use ravenry::domain::hook::HookAnswer;

use crate::support::environment::TestEnvironment;
use crate::support::hook_call::{Call, receipt, send, session_of};
use crate::support::running::{inbox, post, two};

/// For each harness: the payload of a stop, the payload of a prompt, and where the prompt's text is.
const HARNESSES: [(&str, &str, &str); 6] = [
    ("claude/Stop", "claude/UserPromptSubmit", "/prompt"),
    ("codex/Stop", "codex/UserPromptSubmit", "/prompt"),
    ("gemini/AfterAgent", "gemini/BeforeAgent", "/prompt"),
    ("copilot/agentStop", "copilot/userPromptSubmitted", "/prompt"),
    ("pi/agent_before_settle", "pi/before_agent_start", "/event/prompt"),
    ("kimi/Stop", "kimi/UserPromptSubmit", "/prompt/0/text"),
];

/// Alice and Bob, with `mailTurns` 2.
fn twice() -> TestEnvironment {
    let env = two();
    env.ok(&["config", "set", "mailTurns", "2"]);
    env
}

fn bobs(env: &TestEnvironment, fixture: &str) -> Call {
    Call::new(env, fixture, &session_of("Bob"))
}

#[track_caller]
fn go_on(answer: HookAnswer) -> String {
    match answer {
        HookAnswer::GoOn(text) => text,
        other => panic!("it stops: {other:?}"),
    }
}

#[test]
fn mail_keeps_an_agent_going_so_often_per_prompt_of_its_user() {
    for (stop, prompt, said) in HARNESSES {
        let env = twice();
        let stop = bobs(&env, stop);
        let prompt = bobs(&env, prompt).with(said, "please go on with that");
        for round in 0..3 {
            for turn in 0..2 {
                post(&env.store(), "Bob", "one more thing");
                let text = go_on(stop.answer(&env));
                assert!(text.starts_with("[peer Alice, ") && text.ends_with("> one more thing"), "{text}");
                assert_eq!(stop.answer(&env), HookAnswer::Silence, "{round}.{turn}: nothing is left");
            }
            post(&env.store(), "Bob", "too much");
            for _ in 0..2 {
                assert_eq!(stop.answer(&env), HookAnswer::Silence, "round {round} of {}", stop.harness);
            }
            assert_eq!(inbox(&env).len(), 1, "it waits for the user's next prompt");
            prompt.answer(&env);
            // Where a prompt cannot carry mail, it is still in the inbox.
            if !inbox(&env).is_empty() {
                env.ok(&["read", "--as", "Bob"]);
            }
        }
    }
}

/// Gemini CLI, Copilot CLI and Codex show the text that made the agent continue as if the user had typed it.
#[test]
fn our_own_words_are_no_prompt_of_the_user() {
    for (stop, prompt, said) in HARNESSES {
        let env = twice();
        let (stop, prompt) = (bobs(&env, stop), bobs(&env, prompt));
        for turn in 0..2 {
            post(&env.store(), "Bob", "two\nlines");
            let text = go_on(stop.answer(&env));
            let shown = match turn {
                0 => text,
                _ => format!("<hook_prompt hook_run_id=\"7\">{text}</hook_prompt>"),
            };
            assert_eq!(prompt.clone().with(said, shown).answer(&env), HookAnswer::Silence);
        }
        post(&env.store(), "Bob", "three");
        assert_eq!(
            stop.answer(&env),
            HookAnswer::Silence,
            "{}: that was no prompt of the user's",
            stop.harness
        );
        prompt.with(said, "go on").answer(&env);
        post(&env.store(), "Bob", "four");
        go_on(stop.answer(&env));
    }
}

/// Only a prompt makes OpenCode continue, and it is shown as the user's: text from peers does not belong there.
#[test]
fn where_it_would_be_the_user_speaking_the_mail_comes_by_the_prompt() {
    let env = twice();
    let stop = bobs(&env, "opencode/event-session.idle");
    let prompt = bobs(&env, "opencode/chat.message");
    let said = |text: &str| prompt.clone().with("/output/parts/0/text", text);
    for _ in 0..2 {
        send(&env, "the words of a peer");
        let text = go_on(stop.answer(&env));
        insta::allow_duplicates! { insta::assert_snapshot!(
            text,
            @"[msg] You have mail from other agents. It follows below; run `msg read` for the rest."
        ) };
        assert_eq!(inbox(&env).len(), 1, "a client that ends before its prompt has lost nothing");
        assert!(said(&text).context(&env).ends_with("> the words of a peer"));
    }
    let late = send(&env, "too much");
    assert_eq!(stop.answer(&env), HookAnswer::Silence);
    assert_eq!(receipt(&env, &late).0, "stored");
    assert!(said("please go on").context(&env).ends_with("> too much"));
    send(&env, "and again");
    go_on(stop.answer(&env));
}

#[test]
fn what_is_of_low_importance_waits() {
    let env = twice();
    let stop = bobs(&env, "claude/Stop");
    env.ok(&["send", "Bob", "by the way", "--importance", "low", "--as", "Alice"]);
    for _ in 0..3 {
        assert_eq!(stop.answer(&env), HookAnswer::Silence);
    }
    assert_eq!(inbox(&env).len(), 1);
    send(&env, "this matters");
    let text = go_on(stop.answer(&env));
    assert!(text.contains("> by the way") && text.contains("> this matters"), "they come together: {text}");
    send(&env, "this too");
    go_on(stop.answer(&env));
}

#[test]
fn no_mail_no_word() {
    let env = twice();
    for stop in HARNESSES.map(|(stop, ..)| stop).into_iter().chain(["opencode/event-session.idle"]) {
        for _ in 0..3 {
            assert_eq!(bobs(&env, stop).answer(&env), HookAnswer::Silence, "{stop}");
        }
    }
    send(&env, "hello");
    go_on(bobs(&env, "claude/Stop").answer(&env));
    assert!(!env.mesh().join("trouble.jsonl").exists());
}

#[test]
fn none_at_all_if_that_is_wanted() {
    let env = two();
    env.ok(&["config", "set", "mailTurns", "0"]);
    send(&env, "hello");
    assert_eq!(bobs(&env, "claude/Stop").answer(&env), HookAnswer::Silence);
    assert!(bobs(&env, "claude/UserPromptSubmit").context(&env).ends_with("> hello"));
}

/// An agent that is made to continue answers, which makes the other one continue.
#[test]
fn two_who_answer_each_other_come_to_rest() {
    let env = two();
    send(&env, "are you there?");
    let mut turns = 0;
    loop {
        let mut is_over = true;
        for (name, other) in [("Bob", "Alice"), ("Alice", "Bob")] {
            let stop = Call::new(&env, "claude/Stop", &session_of(name)).with("/stop_hook_active", true);
            if let HookAnswer::GoOn(_) = stop.answer(&env) {
                env.ok(&["send", other, "and you?", "--as", name]);
                (turns, is_over) = (turns + 1, false);
            }
        }
        if is_over {
            break;
        }
        assert!(turns < 100, "they talk all night");
    }
    assert_eq!(turns, 10, "five each, which is the default");
}
