//! Tests of when a session counts as idle and may be woken.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use ravenry::domain::SessionId;
use ravenry::domain::hook::HookAnswer;
use ravenry::store::SessionState;

use super::codex::Codex;
use super::waking::{prompt, scene, stop};
use crate::support::environment::{TestEnvironment, date, wait_until};
use crate::support::hook_call::{Call, session_of};
use crate::support::terminal::harness;

/// A session that has just started waits for its user, and may be woken before the first prompt.
#[test]
fn a_new_session_rests() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.ok(&["config", "set", "autoRegister", "true"]);
    let session = SessionId::new("a new session").unwrap();
    let of = |fixture: &str| Call::new(&env, fixture, session.as_str());
    let mut claude = harness(&env, "claude");
    let told = env.path().join("told");
    fs::write(&told, of("claude/SessionStart").input()).unwrap();
    // Both hooks start at once, and the waiter may be first.
    let waiter = format!("(msg waiter claude <{} 2>woken; echo $? >ended) &", told.display());
    assert_eq!(claude.run(&waiter).code, Some(0));
    let HookAnswer::Context(_) = of("claude/SessionStart").answer_in(&env, &mut claude) else {
        panic!("not joined")
    };
    let mesh = env.store();
    wait_until("it waits", || mesh.session_states().waiter(&session).unwrap().is_some());
    assert_eq!(mesh.session_states().get(&session).unwrap(), SessionState::Idle);
    let name = env.names().into_iter().find(|name| name != "Alice").unwrap();
    let sent = env.ok(&["send", &name, "good morning", "--as", "Alice"]);
    assert_eq!(sent["sent"][0]["wake"], "rewake");
    let written = |file: &str| fs::read_to_string(env.work().join(file)).unwrap_or_default();
    wait_until("the waiter ends", || written("ended") == "2\n");
    // A `SessionStart` of a working session, as after a compaction, does not mean that it is idle.
    of("claude/UserPromptSubmit").answer_in(&env, &mut claude);
    of("claude/SessionStart").answer_in(&env, &mut claude);
    assert_eq!(mesh.session_states().get(&session).unwrap(), SessionState::Working);
}

/// A session that was killed during a turn and comes back in another process waits for its user.
#[test]
fn a_session_that_was_killed_at_work_rests_when_it_comes_back() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.ok(&["config", "set", "autoRegister", "true"]);
    let session = SessionId::new("a session that is killed").unwrap();
    let of = |fixture: &str| Call::new(&env, fixture, session.as_str());
    let mut claude = harness(&env, "claude");
    of("claude/SessionStart").answer_in(&env, &mut claude);
    of("claude/UserPromptSubmit").answer_in(&env, &mut claude);
    let mesh = env.store();
    assert_eq!(mesh.session_states().get(&session).unwrap(), SessionState::Working);
    drop(claude);
    let mut claude = harness(&env, "claude");
    of("claude/SessionStart").with("/source", "resume").answer_in(&env, &mut claude);
    assert_eq!(mesh.session_states().get(&session).unwrap(), SessionState::Idle);
    of("claude/UserPromptSubmit").answer_in(&env, &mut claude);
    of("claude/SessionStart").with("/source", "compact").answer_in(&env, &mut claude);
    assert_eq!(
        mesh.session_states().get(&session).unwrap(),
        SessionState::Working,
        "it is the same process still"
    );
}

/// If the process that wakes it dies or is not heard, the session counts as idle again after a while.
#[test]
fn who_is_not_woken_after_all_rests_again() {
    let (env, _) = scene();
    let session = SessionId::new(session_of("Bob")).unwrap();
    let mesh = env.store();
    prompt(&env, "hello");
    stop(&env);
    assert!(mesh.session_states().claim_wake(&session).unwrap());
    assert_eq!(mesh.session_states().get(&session).unwrap(), SessionState::Working);
    assert!(!mesh.session_states().claim_wake(&session).unwrap());
    let files = fs::read_dir(env.mesh().join("hooks")).unwrap().map(|entry| entry.unwrap().path());
    let roused =
        files.into_iter().find(|path| path.extension().is_some_and(|kind| kind == "roused")).unwrap();
    date(&roused, SystemTime::now() - Duration::from_secs(60));
    assert_eq!(mesh.session_states().get(&session).unwrap(), SessionState::Idle);
    assert!(
        mesh.session_states().claim_wake(&session).unwrap()
            && !mesh.session_states().claim_wake(&session).unwrap()
    );
    prompt(&env, "hello again");
    assert_eq!(mesh.session_states().get(&session).unwrap(), SessionState::Working);
    assert!(!mesh.session_states().claim_wake(&session).unwrap());
}

/// A prompt that the user types during a failed attempt to wake begins a turn, and the session stays working.
#[test]
fn a_turn_that_begins_meanwhile_is_not_put_to_rest() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let [begun, go_on] = ["begun", "go-on"].map(|name| env.path().join(name));
    let queue = format!(
        ": >'{}'\nuntil [ -e '{}' ]; do sleep 0.01; done\necho no >&2\nexit 1\n",
        begun.display(),
        go_on.display()
    );
    let mut codex = Codex::new(&env, &queue);
    codex.join(&env, "Bob");
    let (mesh, session) = (env.store(), SessionId::new(session_of("Bob")).unwrap());
    prompt(&env, "hello");
    stop(&env);
    let mut sender = env.msg();
    sender.args(["send", "Bob", "wake up", "--as", "Alice"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut sender = sender.spawn().unwrap();
    wait_until("somebody wakes Bob", || begun.exists());
    prompt(&env, "something of my own");
    fs::write(&go_on, "").unwrap();
    assert!(sender.wait().unwrap().success());
    assert_eq!(mesh.session_states().get(&session).unwrap(), SessionState::Working);
    assert_eq!(mesh.hooks().mail_turns(&session).unwrap().count, 0, "the prompt has set it back");
}
