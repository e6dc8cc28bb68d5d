//! Tests of waking by a command of the harness that takes prompts, which is Codex's.

use std::fs;

use ravenry::domain::SessionId;
use ravenry::domain::hook::HookAnswer;
use ravenry::store::SessionState;

use super::codex::Codex;
use super::waking::{prompt, scene_in, send, stop};
use crate::support::environment::{TestEnvironment, end, wait_until};
use crate::support::hook_call::{Call, session_of};

/// The sender wakes Codex, once for several messages at once; notices of `msg` itself wake it too.
#[test]
fn codex_is_woken_by_whoever_sends() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let log = env.path().join("queued");
    let mut codex = Codex::new(&env, &format!("printf '%s\\n' \"$*\" >>'{}'\n", log.display()));
    codex.join(&env, "Bob");
    let queued = || fs::read_to_string(&log).unwrap_or_default();
    prompt(&env, "hello");
    stop(&env);
    assert_eq!((send(&env, &["one"]), send(&env, &["two"])), ("queue".to_string(), "hook".to_string()));
    let line = queued();
    assert!(
        line.starts_with(&format!("--thread {} --message [msg] You have mail", session_of("Bob"))),
        "{line}"
    );
    assert_eq!(line.lines().count(), 1);
    prompt(&env, "hello");
    env.ok(&["reserve", "src/", "--as", "Alice"]);
    assert_eq!(env.fails(1, &["reserve", "src/", "--as", "Bob"]), "reserved");
    stop(&env);
    env.ok(&["release", "--as", "Alice"]);
    assert_eq!(queued().lines().count(), 2, "what Bob waited for is free");
}

/// A notice posted by a hook wakes too, and the hook does not wait for that: the queue command ends only after the hook
/// has.
#[test]
fn codex_is_woken_by_what_a_hook_tells() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let (log, ended) = (env.path().join("queued"), env.path().join("ended"));
    let queue = format!(
        "until [ -e '{}' ]; do sleep 0.01; done\necho \"$*\" >>'{}'\n",
        ended.display(),
        log.display()
    );
    let mut codex = Codex::new(&env, &queue);
    codex.join(&env, "Bob");
    prompt(&env, "hello");
    env.ok(&["reserve", "src/", "--as", "Alice"]);
    assert_eq!(env.fails(1, &["reserve", "src/", "--as", "Bob"]), "reserved");
    stop(&env);
    Call::new(&env, "claude/SessionEnd", &session_of("Alice")).answer(&env);
    assert_eq!(env.names(), ["Bob"], "Alice has left");
    fs::write(&ended, "").unwrap();
    let queued = || fs::read_to_string(&log).unwrap_or_default();
    wait_until("Bob is woken", || queued().contains("You have mail"));
    assert_eq!(queued().lines().count(), 1);
}

#[test]
fn one_who_can_not_be_woken_keeps_nobody_from_being_woken() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let log = env.path().join("queued");
    let mut codex = Codex::new(&env, &format!("printf '%s\\n' \"$*\" >>'{}'\n", log.display()));
    let idle = |name: &str| Call::new(&env, "claude/Stop", &session_of(name)).answer(&env);
    codex.join(&env, "Bob");
    codex.join(&env, "Carol");
    assert_eq!(idle("Bob"), HookAnswer::Silence);
    // The name under which Bob's state is kept while somebody wakes it is taken.
    let hooks = fs::read_dir(env.mesh().join("hooks")).unwrap().map(|entry| entry.unwrap().path());
    let resting = hooks.filter(|path| path.extension().is_some_and(|end| end == "resting"));
    let [resting] = resting.collect::<Vec<_>>().try_into().unwrap();
    fs::create_dir(resting.with_extension("roused")).unwrap();
    assert_eq!(idle("Carol"), HookAnswer::Silence);
    let sent = env.run(&["send", "Bob,Carol", "hi", "--as", "Alice"]).expect_code(0);
    assert!(sent.stderr.contains("Bob could not be woken: "), "{sent}");
    let queued = fs::read_to_string(&log).unwrap_or_default();
    assert!(queued.contains(&session_of("Carol")), "{queued}");
}

/// Waking may take seconds, and the sender may be killed meanwhile.
#[test]
fn a_message_is_in_the_feed_before_anybody_is_woken() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let (seen, feed) = (env.path().join("seen"), env.mesh().join("feed"));
    let queue = format!("cat '{}'/*.jsonl >'{}'\n", feed.display(), seen.display());
    let mut codex = Codex::new(&env, &queue);
    codex.join(&env, "Bob");
    prompt(&env, "hello");
    stop(&env);
    assert_eq!(send(&env, &["one"]), "queue");
    let seen = fs::read_to_string(&seen).unwrap();
    assert!(seen.contains("\"message\""), "{seen}");
}

/// Each queue command ends only once all have begun: one after the other, none would ever end.
#[test]
fn many_are_woken_at_the_same_time() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let begun = env.path().join("begun");
    fs::create_dir(&begun).unwrap();
    let names = ["Bob", "Carol", "Dave", "Eve", "Frank"];
    let all = names.len();
    let queue = format!(
        "cd '{}' || exit 1\n: >\"$2\"\nuntil set -- *; [ $# -ge {all} ]; do sleep 0.01; done\n",
        begun.display()
    );
    let mut codex = Codex::new(&env, &queue);
    for name in names {
        codex.join(&env, name);
        let call = Call::new(&env, "claude/Stop", &session_of(name));
        assert_eq!(call.answer(&env), HookAnswer::Silence);
    }
    let sent = env.ok(&["broadcast", "wake up", "--as", "Alice"]);
    let rungs = sent["sent"].as_array().unwrap().iter().map(|sent| sent["wake"].as_str().unwrap());
    assert_eq!(rungs.collect::<Vec<_>>(), ["queue"; 5]);
    assert_eq!(fs::read_dir(begun).unwrap().count(), all);
}

/// A program without `queue` is not a Codex that can be woken: it stays idle, and the sender is told.
#[test]
fn who_can_not_be_woken_rests_on() {
    let (env, _) = scene_in("codex");
    prompt(&env, "hello");
    stop(&env);
    let sent = end(env.msg().args(["send", "Bob", "hello?", "--as", "Alice", "--json"])).expect_code(0);
    assert_eq!(sent.json()["sent"][0]["wake"], "prompt");
    insta::assert_snapshot!(
        env.redact(sent.stderr),
        @"note: Bob could not be woken: its process is not Codex"
    );
    let session = SessionId::new(session_of("Bob")).unwrap();
    assert_eq!(env.store().session_states().get(&session).unwrap(), SessionState::Idle);
    assert_eq!(env.store().hooks().mail_turns(&session).unwrap().count, 0, "that was no turn");
}
