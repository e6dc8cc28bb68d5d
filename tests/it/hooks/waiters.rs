//! Tests of waiters: processes beside an idle session that wake it.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ravenry::domain::SessionId;
use ravenry::domain::hook::HookAnswer;
use ravenry::store::SessionState;

use super::waking::{call, prompt, scene, scene_in, send, stop};
use crate::effects::block_notices;
use crate::runs::{path_with_msg, put_profiles, script};
use crate::support::environment::{TestEnvironment, end, wait_until};
use crate::support::hook_call::{receipt, session_of};
use crate::support::running::inbox;

/// The waiter of Bob's session. It ends with the test at the latest.
pub struct Waiter {
    child: Child,
    said: PathBuf,
}

impl Waiter {
    /// Starts a waiter, and waits until it is registered.
    pub fn start(env: &TestEnvironment) -> Self {
        Self::start_as(env, "claude", "claude/Stop")
    }

    pub fn start_as(env: &TestEnvironment, harness: &str, fixture: &str) -> Self {
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
    pub fn end(&mut self) -> (Option<i32>, String) {
        wait_until("the waiter ends", || self.child.try_wait().unwrap().is_some());
        let code = self.child.wait().unwrap().code();
        (code, fs::read_to_string(&self.said).unwrap())
    }

    pub fn is_there(&mut self) -> bool {
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
    insta::assert_snapshot!(
        mail.lines().skip(1).collect::<String>(),
        @"> `src/x` is free: Carol no longer holds it. To have it to yourself: msg reserve src/x"
    );
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
fn a_worker_without_a_terminal_is_not_kept_waiting() {
    let (env, _) = scene();
    prompt(&env, "hello");
    stop(&env);
    fs::write(env.home().join("told"), call(&env, "claude/Stop").input()).unwrap();
    let waits = script("waits", "msg waiter claude < \"$HOME/told\"; echo \"it ended with $?\"");
    put_profiles(&env, &waits);
    let run = ["run", "waits", "a", "--timeout", "60", "--json"];
    let ended = env.run_with(&run, &[("PATH", &path_with_msg())]).expect_code(0).json();
    assert_eq!(ended["run"]["result"], "it ended with 0", "{ended:#}");
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
    assert!(check["message"].as_str().unwrap().starts_with("Bob's waiter answered after "), "{check}");
    assert!(waiter.is_there());
    // A stopped waiter is detected.
    let pid = Pid::from_raw(waiter.child.id().cast_signed());
    kill(pid, Signal::SIGSTOP).unwrap();
    let check = waking(&env);
    insta::assert_snapshot!(check["message"].as_str().unwrap(), @"Bob's waiter did not answer in 3 s");
    kill(pid, Signal::SIGCONT).unwrap();
    assert_eq!(waking(&env)["state"], "ok");
    let all = env.ok(&["doctor"]);
    let told = all["checks"].as_array().unwrap().iter().find(|check| check["name"] == "waking").unwrap();
    insta::assert_snapshot!(
        told["message"].as_str().unwrap(),
        @"Bob (claude) rests; a background `msg waiter` wakes it"
    );
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
