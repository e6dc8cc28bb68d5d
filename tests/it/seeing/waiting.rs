//! `msg wait --for`: until an agent is in a state.

use std::process::Command;

use serde_json::Value;

use crate::seeing::Painted;
use crate::support::environment::{TestEnvironment, wait_until};
use crate::support::hook_call::{Call, session_of};
use crate::support::running::Running;

/// A wait that goes on.
fn wait(env: &TestEnvironment, until: &str) -> Running {
    Running::start(env, env.msg().args(["wait", "--for", "Raven", "--until", until, "--json"]))
}

/// Its end: the exit code, and what it said.
#[track_caller]
fn end_of(mut wait: Running) -> (i32, Value) {
    let mut code = None;
    wait_until("the wait ends", || {
        code = wait.child.try_wait().unwrap();
        code.is_some()
    });
    (code.unwrap().code().unwrap(), serde_json::from_str(&wait.said()).unwrap())
}

fn painted() -> Option<Painted> {
    let raven = Painted::start()?;
    raven.tmux.env.ok(&["config", "set", "lookPace", "0.01"]);
    Some(raven)
}

#[test]
fn a_turn_is_done_when_its_hook_and_its_screen_say_so() {
    let Some(raven) = painted() else { return };
    raven.draw("idle.ansi.txt");
    raven.hook("SessionStart");
    // Nothing was done yet.
    let ended = raven.tmux.env.run(&["wait", "--for", "Raven", "--until", "done", "--timeout", "2"]);
    assert_eq!(ended.code, Some(5), "{}", ended.stdout);
    raven.draw("working.ansi.txt");
    raven.hook("UserPromptSubmit");
    raven.wait_for_state("working");
    let wait = wait(&raven.tmux.env, "done");
    raven.bash("PreToolUse", "make");
    raven.bash("PostToolUse", "make");
    raven.draw("idle.ansi.txt");
    raven.hook("Stop");
    let (code, said) = end_of(wait);
    assert_eq!((code, &said["state"], &said["agent"]), (0, &"done".into(), &"Raven".into()), "{said}");
    // It still is.
    assert_eq!(raven.tmux.env.ok(&["wait", "--for", "Raven", "--until", "done"])["state"], "done");
    assert_eq!(raven.tmux.env.ok(&["wait", "--for", "Raven", "--until", "idle"])["state"], "idle");
}

#[test]
fn a_turn_that_its_user_has_ended_is_not_done() {
    let Some(raven) = painted() else { return };
    raven.draw("working.ansi.txt");
    raven.hook("UserPromptSubmit");
    let wait = wait(&raven.tmux.env, "done");
    // No hook tells of that.
    raven.draw("interrupted.ansi.txt");
    let (code, said) = end_of(wait);
    assert_eq!((code, &said["error"]["kind"]), (1, &"run_failed".into()), "{said}");
    assert_eq!(said["error"]["state"], "interrupted");
    let said = raven.tmux.env.ok(&["wait", "--for", "Raven", "--until", "idle"]);
    assert_eq!(said["state"], "interrupted");
}

#[test]
fn a_dialog_is_found_without_a_hook() {
    let Some(raven) = painted() else { return };
    raven.draw("working.ansi.txt");
    raven.hook("UserPromptSubmit");
    let wait = wait(&raven.tmux.env, "waiting");
    raven.draw("waiting-permission.txt");
    assert_eq!(end_of(wait).1["state"], "waiting");
}

#[test]
fn an_end_is_seen_by_its_process() {
    let Some(raven) = painted() else { return };
    raven.draw("working.ansi.txt");
    raven.hook("UserPromptSubmit");
    let waits = ["ended", "idle"].map(|until| wait(&raven.tmux.env, until));
    raven.kill();
    let [ended, idle] = waits.map(end_of);
    assert_eq!((ended.0, &ended.1["state"], &ended.1["restsOn"]), (0, &"ended".into(), &"process".into()));
    assert_eq!((idle.0, &idle.1["error"]["kind"]), (1, &"not_running".into()));
    // Whoever asks later learns the same.
    assert_eq!(raven.tmux.env.ok(&["wait", "--for", "Raven", "--until", "ended"])["state"], "ended");
}

#[test]
fn three_looks_alike_are_a_stall_but_an_open_call_is_not() {
    let Some(raven) = painted() else { return };
    raven.draw("working.ansi.txt");
    raven.hook("UserPromptSubmit");
    raven.bash("PreToolUse", "make");
    raven.wait_for_state("working");
    let ended =
        raven.tmux.env.run(&["wait", "--for", "Raven", "--until", "stuck", "--timeout", "12", "--json"]);
    assert_eq!((ended.code, &ended.json()["error"]["state"]), (Some(5), &"working".into()));
    raven.bash("PostToolUse", "make");
    let said = raven.tmux.env.ok(&["wait", "--for", "Raven", "--until", "stuck"]);
    assert_eq!(said["state"], "stuck");
}

#[test]
fn the_same_command_four_times_is_spinning() {
    let Some(raven) = painted() else { return };
    raven.draw("working.ansi.txt");
    raven.hook("UserPromptSubmit");
    let wait = wait(&raven.tmux.env, "stuck");
    for _ in 0..4 {
        raven.bash("PreToolUse", "make");
        raven.bash("PostToolUse", "make");
    }
    assert_eq!(end_of(wait).1["state"], "spinning");
}

#[test]
fn hooks_alone_end_a_wait_which_takes_no_mail() {
    let env = TestEnvironment::new();
    env.join("Raven");
    env.join("Bob");
    env.ok(&["send", "Bob", "hello", "--as", "Raven"]);
    let call = |fixture: &str| Call::new(&env, fixture, &session_of("Raven"));
    call("claude/UserPromptSubmit").command(&env).status().unwrap();
    let args = ["wait", "--for", "Raven", "--until", "done", "--json", "--as", "Bob"];
    let wait = Running::start(&env, env.msg().args(args));
    call("claude/Stop").command(&env).status().unwrap();
    assert_eq!(end_of(wait).1["state"], "done");
    assert_eq!(env.ok(&["inbox", "--as", "Bob"])["messages"].as_array().unwrap().len(), 1);
    env.run(&["wait", "--for", "Raven"]).expect_code(2);
    env.run(&["wait", "--until", "idle"]).expect_code(2);
    env.run(&["wait", "--for", "Raven", "--until", "bored"]).expect_code(2);
    assert_eq!(env.fails(1, &["wait", "--for", "Nobody", "--until", "idle"]), "unknown_agent");
}

/// The CPU time of a command and the programs that it runs, in milliseconds.
fn cpu_time(env: &TestEnvironment, args: &str) -> f64 {
    let program = env.msg().get_program().to_owned();
    let mut command = Command::new("bash");
    command.arg("-c").arg(format!("\"$0\" {args} >&2; times")).arg(program);
    for (name, value) in env.msg().get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.current_dir(env.work()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let time = |word: &str| -> f64 {
        let (minutes, seconds) = word.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60_000.0 + seconds.parse::<f64>().unwrap() * 1000.0
    };
    // The second line is about its children.
    text.lines().next_back().unwrap().split_whitespace().map(time).sum()
}

#[test]
fn a_wait_costs_little_more_than_a_look() {
    let Some(raven) = Painted::start() else { return };
    raven.draw("working.ansi.txt");
    raven.hook("UserPromptSubmit");
    raven.bash("PreToolUse", "make");
    raven.wait_for_state("working");
    let looks: f64 = (0..5).map(|_| cpu_time(&raven.tmux.env, "look Raven")).sum();
    let wait = cpu_time(&raven.tmux.env, "wait --for Raven --until done --timeout 10");
    assert!(wait < looks, "five looks take {looks} ms, a wait of ten seconds {wait} ms");
}
