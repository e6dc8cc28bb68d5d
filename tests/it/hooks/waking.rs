//! Mail wakes an idle agent: only once, by one process, without taking mail, and a limited number of times.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ravenry::domain::SessionId;
use ravenry::domain::hook::HookAnswer;
use ravenry::store::SessionState;
use serde_json::Value;

use super::codex::Codex;
use crate::effects::block_notices;
use crate::support::environment::{TestEnvironment, date, end, wait_until};
use crate::support::hook_call::{Call, receipt, session_of};
use crate::support::running::{inbox, post};
use crate::support::terminal::harness;

/// Alice, and Bob in Claude Code, with `mailTurns` 2.
fn scene() -> (TestEnvironment, u32) {
    scene_in("claude")
}

fn scene_in(harness: &str) -> (TestEnvironment, u32) {
    let env = TestEnvironment::new();
    env.join("Alice");
    let host = env.host();
    let pid = host.to_string();
    env.ok(&["join", "Bob", "--pid", &pid, "--session", &session_of("Bob"), "--harness", harness]);
    env.ok(&["config", "set", "mailTurns", "2"]);
    (env, host)
}

fn call(env: &TestEnvironment, fixture: &str) -> Call {
    Call::new(env, fixture, &session_of("Bob"))
}

fn stop(env: &TestEnvironment) -> HookAnswer {
    call(env, "claude/Stop").answer(env)
}

fn prompt(env: &TestEnvironment, text: &str) -> HookAnswer {
    call(env, "claude/UserPromptSubmit").with("/prompt", text).answer(env)
}

/// Sends to Bob; returns the wake route.
#[track_caller]
pub fn send(env: &TestEnvironment, args: &[&str]) -> String {
    let sent = env.ok(&[&["send", "Bob", "--as", "Alice"], args].concat());
    sent["sent"][0]["wake"].as_str().unwrap().to_string()
}

/// The waiter of Bob's session. It ends with the test at the latest.
struct Waiter {
    child: Child,
    said: PathBuf,
}

impl Waiter {
    /// Starts a waiter, and waits until it is registered.
    fn start(env: &TestEnvironment) -> Self {
        Self::start_as(env, "claude", "claude/Stop")
    }

    fn start_as(env: &TestEnvironment, harness: &str, fixture: &str) -> Self {
        let number = fs::read_dir(env.path()).unwrap().count();
        let [said, told] = ["said", "told"].map(|name| env.path().join(format!("{name}-{number}")));
        fs::write(&told, call(env, fixture).input()).unwrap();
        let file = File::create(&said).unwrap();
        let mut command = env.msg();
        command.args(["waiter", harness]).stdin(File::open(&told).unwrap());
        let child = command.stdout(file.try_clone().unwrap()).stderr(file).process_group(0).spawn().unwrap();
        let waiter = Self { child, said };
        wait_until("it waits", || {
            let known =
                env.store().session_states().waiter(&SessionId::new(session_of("Bob")).unwrap()).unwrap();
            known.is_some_and(|known| known.pid().get() as u32 == waiter.child.id())
        });
        waiter
    }

    /// Waits until it exits; returns the exit code and the output.
    fn end(&mut self) -> (Option<i32>, String) {
        wait_until("the waiter ends", || self.child.try_wait().unwrap().is_some());
        let code = self.child.wait().unwrap().code();
        (code, fs::read_to_string(&self.said).unwrap())
    }

    fn is_there(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn send_tells_how_it_will_be_noticed() {
    let (env, _) = scene();
    assert_eq!(send(&env, &["nobody knows what he is at"]), "none");
    prompt(&env, "hello");
    assert_eq!(send(&env, &["he is busy"]), "hook");
    env.ok(&["read", "--as", "Bob"]);
    assert_eq!(stop(&env), HookAnswer::Silence);
    assert_eq!(send(&env, &["he rests, and nobody is there to wake him"]), "prompt");
    env.ok(&["read", "--as", "Bob"]);
    let waiter = Waiter::start(&env);
    assert_eq!(send(&env, &["not worth it", "--importance", "low"]), "none");
    let sent = env.ok(&["send", "Bob", "wake up", "--as", "Alice"]);
    assert_eq!(sent["sent"][0]["wake"], "rewake");
    let receipt = env.ok(&["receipt", sent["sent"][0]["id"].as_str().unwrap(), "--as", "Alice"]);
    assert_eq!((&receipt["state"], &receipt["wake"]), (&Value::from("stored"), &Value::from("rewake")));
    drop(waiter);
    env.ok(&["config", "set", "wake", "false"]);
    stop(&env);
    assert_eq!(send(&env, &["nobody is to be woken"]), "none");
}

#[test]
fn the_receipt_of_a_message_to_a_dead_agent_promises_no_next_step() {
    let (env, host) = scene();
    prompt(&env, "hello");
    let sent = env.ok(&["send", "Bob", "hi", "--as", "Alice"]);
    assert_eq!(sent["sent"][0]["wake"], "hook");
    let receipt = || {
        let id = sent["sent"][0]["id"].as_str().unwrap();
        end(env.msg().args(["receipt", id, "--as", "Alice"])).expect_code(0).stdout
    };
    assert!(receipt().contains("with its next tool call or prompt"), "{}", receipt());
    env.kill(host);
    let text = receipt();
    assert!(text.contains("it gets the message when it comes back"), "{text}");
    assert!(!text.contains("busy") && !text.contains("next"), "{text}");
}

#[test]
fn a_waiter_wakes_and_takes_nothing() {
    for (harness, fixture) in [
        ("claude", "claude/Stop"),
        ("opencode", "opencode/event-session.idle"),
        ("pi", "pi/agent_before_settle"),
    ] {
        let (env, _) = scene_in(harness);
        prompt(&env, "hello");
        let mut waiter = Waiter::start_as(&env, harness, fixture);
        // It starts together with the hook that reports the session idle, or before it.
        assert_eq!(stop(&env), HookAnswer::Silence);
        send(&env, &["of no importance", "--importance", "low"]);
        assert!(waiter.is_there());
        send(&env, &["wake up"]);
        let (code, said) = waiter.end();
        assert_eq!(code, Some(if harness == "claude" { 2 } else { 0 }), "{said}");
        assert!(said.contains("[msg] You have mail") && !said.contains("wake up"), "{said}");
        assert_eq!(inbox(&env).len(), 2, "the turn's own hook hands it over");
        let HookAnswer::Context(mail) = prompt(&env, &said) else { panic!("no mail at the prompt") };
        assert!(mail.contains("> wake up") && mail.contains("> of no importance"), "{mail}");
    }
}

/// Nobody else does anything, and the idle agent is woken nevertheless.
#[test]
fn a_waiter_wakes_when_what_was_waited_for_is_free() {
    let (env, _) = scene();
    let carol = env.join("Carol");
    env.ok(&["reserve", "src/", "--as", "Carol"]);
    prompt(&env, "hello");
    assert_eq!(env.fails(1, &["reserve", "src/x", "--as", "Bob"]), "reserved");
    assert_eq!(stop(&env), HookAnswer::Silence);
    let mut waiter = Waiter::start(&env);
    env.kill(carol);
    let (code, said) = waiter.end();
    assert_eq!(code, Some(2), "{said}");
    let HookAnswer::Context(mail) = prompt(&env, &said) else { panic!("no mail at the prompt") };
    assert!(mail.contains("> `src/x` is free: Carol no longer holds it."), "{mail}");
}

#[test]
fn what_a_waiter_cannot_tell_its_agent_is_reported_by_doctor() {
    let (env, _) = scene();
    let carol = env.join("Carol");
    env.ok(&["reserve", "src/", "--as", "Carol"]);
    prompt(&env, "hello");
    assert_eq!(env.fails(1, &["reserve", "src/x", "--as", "Bob"]), "reserved");
    assert_eq!(stop(&env), HookAnswer::Silence);
    block_notices(&env);
    let _waiter = Waiter::start(&env);
    env.kill(carol);
    wait_until("doctor shows it", || {
        env.run(&["doctor"]).stdout.contains("cannot check which paths and tasks Bob is waiting for are free")
    });
}

/// Settings may change while it waits, which may be for days.
#[test]
fn a_waiter_wakes_nobody_who_no_longer_wants_it() {
    let (env, _host) = scene();
    stop(&env);
    let mut waiter = Waiter::start(&env);
    env.ok(&["config", "set", "wake", "false"]);
    assert_eq!(send(&env, &["hi"]), "none");
    env.ok(&["leave", "--as", "Bob"]);
    assert_eq!(waiter.end().0, Some(0), "it ends with its agent, and has woken nobody");
}

#[test]
fn what_comes_in_a_burst_is_one_turn() {
    let (env, _) = scene();
    prompt(&env, "hello");
    stop(&env);
    let mut waiter = Waiter::start(&env);
    let senders: Vec<Child> = (0..20)
        .map(|number| {
            let text = format!("number {number}");
            env.msg().args(["send", "Bob", &text, "--as", "Alice"]).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut sender in senders {
        assert!(sender.wait().unwrap().success());
    }
    let (code, said) = waiter.end();
    assert_eq!(code, Some(2));
    // A waiter that is started meanwhile, as after a turn, wakes nobody: Bob is working.
    let HookAnswer::Context(mail) = prompt(&env, &said) else { panic!("no mail") };
    assert_eq!(mail.matches("[peer Alice").count(), 20, "{mail}");
    assert_eq!(stop(&env), HookAnswer::Silence, "nothing is left");
    assert_eq!(env.store().hooks().mail_turns(&SessionId::new(session_of("Bob")).unwrap()).unwrap().count, 1);
}

#[test]
fn mail_wakes_so_often_per_prompt_of_the_user() {
    let (env, _) = scene();
    for round in 0..2 {
        prompt(&env, "please");
        for _ in 0..2 {
            stop(&env);
            let mut waiter = Waiter::start(&env);
            assert_eq!(send(&env, &["again"]), "rewake");
            let (code, said) = waiter.end();
            assert_eq!(code, Some(2), "{round}");
            prompt(&env, &format!("<task-notification>{said}</task-notification>"));
        }
        stop(&env);
        let mut waiter = Waiter::start(&env);
        assert_eq!(send(&env, &["too much"]), "prompt");
        env.ok(&["doctor", "--wake", "Bob"]);
        assert!(waiter.is_there(), "it waits, but for the user's next prompt");
        // Nobody else wakes him either, and the mail comes with that prompt.
        let HookAnswer::Context(mail) = prompt(&env, "what now?") else { panic!("no mail") };
        assert!(mail.ends_with("> too much"), "{mail}");
        assert_eq!(waiter.end().0, Some(0), "a turn has begun");
    }
}

#[test]
fn there_is_one_waiter_at_most() {
    let (env, _) = scene();
    prompt(&env, "hello");
    stop(&env);
    let mut waiters = vec![Waiter::start(&env)];
    for _ in 0..3 {
        waiters.push(Waiter::start(&env));
        let before = waiters.len() - 2;
        assert_eq!(waiters[before].end(), (Some(0), String::new()));
    }
    // A killed waiter does not count.
    let last = waiters.last_mut().unwrap();
    kill(Pid::from_raw(last.child.id().cast_signed()), Signal::SIGKILL).unwrap();
    last.child.wait().unwrap();
    assert_eq!(send(&env, &["anyone?"]), "prompt");
}

#[test]
fn a_waiter_ends_with_what_it_waits_for() {
    type End = fn(&TestEnvironment, u32);
    let ends: [(&str, End); 4] = [
        ("a turn begins", |env, _| drop(prompt(env, "go on"))),
        ("the session ends", |env, _| drop(call(env, "claude/SessionEnd").answer(env))),
        ("the agent leaves", |env, _| drop(env.ok(&["leave", "--as", "Bob"]))),
        ("the harness is killed", |env, host| env.kill(host)),
    ];
    for (what, act) in ends {
        let (env, host) = scene();
        prompt(&env, "hello");
        stop(&env);
        let mut waiter = Waiter::start(&env);
        act(&env, host);
        assert_eq!(waiter.end(), (Some(0), String::new()), "{what}");
    }
}

#[test]
fn what_came_while_it_stopped_is_not_left_lying() {
    let (env, _) = scene();
    prompt(&env, "hello");
    assert_eq!(send(&env, &["just in time"]), "hook");
    let HookAnswer::GoOn(mail) = stop(&env) else { panic!("it stops") };
    assert!(mail.ends_with("> just in time"), "{mail}");
    assert_eq!(send(&env, &["it goes on"]), "hook");
}

/// Of several that want to wake it, exactly one does.
#[test]
fn one_wakes() {
    let (env, _) = scene();
    let session = SessionId::new(session_of("Bob")).unwrap();
    for _ in 0..50 {
        env.store().session_states().set_idle(&session).unwrap();
        let wakers: Vec<_> = (0..8)
            .map(|_| {
                let (mesh, session) = (env.store(), session.clone());
                std::thread::spawn(move || mesh.session_states().claim_wake(&session).unwrap())
            })
            .collect();
        let woken = wakers.into_iter().map(|waker| waker.join().unwrap());
        assert_eq!(woken.filter(|woke| *woke).count(), 1);
    }
}

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

/// Anybody can start the process that a hook starts to wake an agent.
#[test]
fn nobody_is_woken_without_mail() {
    let env = TestEnvironment::new();
    let log = env.path().join("queued");
    let mut codex = Codex::new(&env, &format!("echo \"$*\" >>'{}'\n", log.display()));
    codex.join(&env, "Bob");
    prompt(&env, "hello");
    stop(&env);
    env.run(&["hook", "rouse", "Bob"]).expect_code(0);
    assert!(!log.exists(), "nothing waits for Bob");
    post(&env.store(), "Bob", "hello");
    env.run(&["hook", "rouse", "Bob"]).expect_code(0);
    assert!(log.exists());
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

/// An answer that nobody reads delivers nothing and makes nobody continue: the next hook gives it again.
#[test]
fn an_answer_that_leads_nowhere_is_none() {
    for place in [">/dev/null", ">&-"] {
        let (env, _) = scene();
        let session = SessionId::new(session_of("Bob")).unwrap();
        let say_to_nobody = |fixture: &str| {
            let msg = env.msg();
            let mut shell = Command::new("/bin/sh");
            shell.env_clear().envs(msg.get_envs().filter_map(|(key, value)| Some((key, value?))));
            let (told, call) = (env.path().join("told"), call(&env, fixture));
            fs::write(&told, call.input()).unwrap();
            let event = fixture.trim_start_matches("claude/");
            let line = format!("exec \"$0\" hook claude {event} <\"$1\" {place}");
            let ended = end(shell.arg("-c").arg(line).arg(msg.get_program()).arg(told));
            assert_eq!(ended.expect_code(0).stdout, "");
        };
        prompt(&env, "hello");
        let id = crate::support::hook_call::send(&env, "is anybody there?");
        say_to_nobody("claude/UserPromptSubmit");
        say_to_nobody("claude/Stop");
        assert_eq!(receipt(&env, &id).0, "stored", "{place}");
        assert_eq!(env.store().session_states().get(&session).unwrap(), SessionState::Idle, "{place}");
        assert_eq!(env.store().hooks().mail_turns(&session).unwrap().count, 0, "{place}: that was no turn");
        let HookAnswer::GoOn(mail) = stop(&env) else { panic!("{place}: it stops") };
        assert!(mail.ends_with("> is anybody there?"), "{mail}");
        assert_eq!(call(&env, "claude/PreToolUse-Bash").answer(&env), HookAnswer::Silence);
        assert_eq!(receipt(&env, &id).0, "surfaced", "{place}");
    }
}

/// A program without `queue` is not a Codex that can be woken: it stays idle, and the sender is told.
#[test]
fn who_can_not_be_woken_rests_on() {
    let (env, _) = scene_in("codex");
    prompt(&env, "hello");
    stop(&env);
    let sent = end(env.msg().args(["send", "Bob", "hello?", "--as", "Alice", "--json"])).expect_code(0);
    assert_eq!(sent.json()["sent"][0]["wake"], "prompt");
    assert!(sent.stderr.contains("Bob could not be woken"), "{}", sent.stderr);
    let session = SessionId::new(session_of("Bob")).unwrap();
    assert_eq!(env.store().session_states().get(&session).unwrap(), SessionState::Idle);
    assert_eq!(env.store().hooks().mail_turns(&session).unwrap().count, 0, "that was no turn");
}

#[test]
fn doctor_tries_it_without_a_turn() {
    let (env, _) = scene();
    let waking = |env: &TestEnvironment| env.ok(&["doctor", "--wake", "Bob"])["checks"][0].clone();
    assert_eq!(waking(&env)["state"], "warn", "nothing is known of him");
    prompt(&env, "hello");
    stop(&env);
    let mut waiter = Waiter::start(&env);
    let check = waking(&env);
    assert_eq!(check["state"], "ok", "{check}");
    assert!(check["message"].as_str().unwrap().contains("Bob's waiter answered"), "{check}");
    assert!(waiter.is_there());
    // A stopped waiter is detected.
    let pid = Pid::from_raw(waiter.child.id().cast_signed());
    kill(pid, Signal::SIGSTOP).unwrap();
    let check = waking(&env);
    assert!(check["message"].as_str().unwrap().contains("did not answer"), "{check}");
    kill(pid, Signal::SIGCONT).unwrap();
    assert_eq!(waking(&env)["state"], "ok");
    let all = env.ok(&["doctor"]);
    let told = all["checks"].as_array().unwrap().iter().find(|check| check["name"] == "waking").unwrap();
    assert!(told["message"].as_str().unwrap().starts_with("Bob (claude) rests;"), "{told}");
    assert_eq!(env.fails(1, &["doctor", "--wake", "Nobody"]), "unknown_agent");
}

/// On any error it is silent and exits with 0, so that no harness takes it for a reason to continue.
#[test]
fn a_waiter_that_can_not_wait_is_silent() {
    let (env, _) = scene();
    let run = |args: &[&str], input: &str| {
        let told = env.path().join("told");
        fs::write(&told, input).unwrap();
        let mut command: Command = env.msg();
        end(command.args(args).stdin(File::open(&told).unwrap()))
    };
    let whole = call(&env, "claude/Stop").input();
    for (args, input) in [
        (&["waiter"][..], whole.as_str()),
        (&["waiter", "emacs"], &whole),
        (&["waiter", "gemini"], &whole),
        (&["waiter", "claude"], ""),
        (&["waiter", "claude"], "{\"session"),
        (&["waiter", "claude"], "[]"),
    ] {
        let ended = run(args, input);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{args:?} {input}");
    }
}
