//! `msg wait --for`: until an agent is in a state.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ravenry::domain::SessionId;
use ravenry::sys::test_switches::COUNT;
use serde_json::Value;

use crate::seeing::Painted;
use crate::support::environment::{TestEnvironment, wait_until};
use crate::support::hook_call::{Call, session_of};
use crate::support::running::Running;

/// A wait that goes on.
struct Wait {
    running: Running,
    looks: PathBuf,
}

impl Wait {
    /// It has looked at the agent once, so what happens from now on happens while it waits.
    #[track_caller]
    fn start(env: &TestEnvironment, args: &[&str]) -> Self {
        let count = env.path().join(format!("wait-{}", fs::read_dir(env.path()).unwrap().count()));
        let args = [&["wait", "--for", "Raven", "--json"], args].concat();
        let running = Running::start(env, env.msg().args(args).env(COUNT, &count));
        let wait = Self { running, looks: looks_of(&count) };
        wait_until("it has looked once", || wait.looks() > 0);
        wait
    }

    /// How often it has looked, at the hooks at least.
    fn looks(&self) -> u64 {
        length(&self.looks)
    }
}

fn looks_of(count: &Path) -> PathBuf {
    PathBuf::from(format!("{}.wait-look", count.display()))
}

fn length(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |metadata| metadata.len())
}

#[track_caller]
fn wait(env: &TestEnvironment, until: &str) -> Wait {
    Wait::start(env, &["--until", until])
}

/// Its end: the exit code, and what it said.
#[track_caller]
fn end_of(mut wait: Wait) -> (i32, Value) {
    let mut code = None;
    wait_until("the wait ends", || {
        code = wait.running.child.try_wait().unwrap();
        code.is_some()
    });
    (code.unwrap().code().unwrap(), serde_json::from_str(&wait.running.said()).unwrap())
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
    // An idle screen before this hook would be one whose user has ended the turn.
    raven.hook("Stop");
    raven.draw("idle.ansi.txt");
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
fn whoever_waits_for_an_end_does_not_look_all_the_time() {
    let Some(raven) = painted() else { return };
    raven.draw("working.ansi.txt");
    raven.hook("UserPromptSubmit");
    let count = raven.tmux.env.path().join("count");
    let args = ["wait", "--for", "Raven", "--until", "ended", "--timeout", "4"];
    raven.tmux.env.run_with(&args, &[(COUNT, count.to_str().unwrap())]).expect_code(5);
    let looks = length(&looks_of(&count));
    assert!((1..10).contains(&looks), "{looks} looks");
}

#[test]
fn whoever_is_being_woken_has_not_ended_its_turn() {
    let Some(raven) = painted() else { return };
    let env = &raven.tmux.env;
    raven.draw("idle.ansi.txt");
    raven.hook("UserPromptSubmit");
    raven.hook("Stop");
    raven.wait_for_state("idle");
    let session = SessionId::new(session_of("Raven")).unwrap();
    assert!(env.store().session_states().claim_wake(&session).unwrap());
    // Its screen shows the end of the turn before, and goes on doing so for a while.
    let ended = env.run(&["wait", "--for", "Raven", "--until", "done", "--timeout", "6", "--json"]);
    assert_eq!((ended.code, &ended.json()["error"]["state"]), (Some(5), &"working".into()), "{ended}");
    raven.draw("working.ansi.txt");
    raven.hook("UserPromptSubmit");
    let wait = wait(env, "done");
    raven.hook("Stop");
    raven.draw("idle.ansi.txt");
    assert_eq!(end_of(wait).1["state"], "done");
}

#[test]
fn a_turn_is_over_though_something_runs_in_the_background() {
    let Some(raven) = painted() else { return };
    raven.draw("working.ansi.txt");
    raven.hook("UserPromptSubmit");
    let first = wait(&raven.tmux.env, "done");
    raven.draw("background-80x24.txt");
    raven.hook("Stop");
    let (code, said) = end_of(first);
    assert_eq!(
        (code, &said["state"], &said["agentState"]),
        (0, &"done".into(), &"background".into()),
        "{said}"
    );
    // A turn that failed is not done, whatever runs beside it.
    raven.draw("working.ansi.txt");
    raven.hook("UserPromptSubmit");
    let second = wait(&raven.tmux.env, "done");
    raven.draw("error-500-80x24.ansi.txt");
    raven.hook("Stop");
    let (code, said) = end_of(second);
    assert_eq!((code, &said["error"]["kind"]), (1, &"run_failed".into()), "{said}");
    assert!(said["error"]["message"].as_str().unwrap().contains("its screen says “API Error"), "{said}");
}

#[test]
fn a_new_turn_brings_the_next_look_forward() {
    let Some(raven) = Painted::start() else { return };
    raven.draw("idle.ansi.txt");
    raven.hook("SessionStart");
    let wait = wait(&raven.tmux.env, "waiting");
    // An idle agent is looked at every two minutes, which is longer than tests wait.
    raven.hook("UserPromptSubmit");
    raven.draw("waiting-permission.txt");
    assert_eq!(end_of(wait).1["state"], "waiting");
}

#[test]
fn a_turn_that_failed_is_not_done_and_needs_no_screen() {
    let env = TestEnvironment::new();
    env.join("Raven");
    Call::new(&env, "claude/UserPromptSubmit", &session_of("Raven")).answer(&env);
    let wait = wait(&env, "done");
    // There is no `Stop` then.
    let mut failed =
        Call::new(&env, "claude/Stop", &session_of("Raven")).with("/hook_event_name", "StopFailure");
    failed.event = "StopFailure".to_string();
    failed.answer(&env);
    let (code, said) = end_of(wait);
    assert_eq!((code, &said["error"]["kind"]), (1, &"run_failed".into()), "{said}");
    assert!(said["error"]["message"].as_str().unwrap().contains("could not be asked"), "{said}");
    assert_eq!(env.ok(&["look", "Raven"])["state"], "idle");
}

#[test]
fn hooks_of_others_do_not_wake_a_wait() {
    let env = TestEnvironment::new();
    env.join("Raven");
    env.join("Bob");
    Call::new(&env, "claude/UserPromptSubmit", &session_of("Raven")).answer(&env);
    let wait = wait(&env, "done");
    let before = wait.looks();
    for _ in 0..20 {
        Call::bash(&env, "PreToolUse", &session_of("Bob"), "ls").answer(&env);
    }
    let looks = wait.looks() - before;
    assert!(looks < 10, "{looks} looks");
    Call::new(&env, "claude/Stop", &session_of("Raven")).answer(&env);
    assert_eq!(end_of(wait).1["state"], "done");
}

#[test]
fn without_hooks_only_whoever_was_at_work_is_done() {
    let Some(raven) = painted() else { return };
    raven.draw("idle.ansi.txt");
    raven.wait_for_state("idle");
    let wait = wait(&raven.tmux.env, "done");
    let look_on = || {
        let before = wait.looks();
        wait_until("it has looked again", || wait.looks() >= before + 4);
    };
    look_on();
    raven.draw("working.ansi.txt");
    raven.wait_for_state("working");
    look_on();
    raven.draw("idle.ansi.txt");
    let (code, said) = end_of(wait);
    assert_eq!((code, &said["state"], &said["restsOn"]), (0, &"done".into(), &"screen".into()), "{said}");
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
    // Whoever looks now learns the same, until something happens.
    let look = raven.look();
    assert!(look["state"] == "stuck" && look["lookAgainIn"].as_u64().unwrap() <= 20, "{look}");
    raven.bash("PreToolUse", "make");
    assert_eq!(raven.look()["state"], "working");
}

#[test]
fn the_same_command_four_times_is_spinning() {
    // At the usual pace: a model that only thinks is stuck after three looks, which a slow hook outlasts at a fast one.
    let Some(raven) = Painted::start() else { return };
    raven.draw("working.ansi.txt");
    raven.hook("UserPromptSubmit");
    let wait = wait(&raven.tmux.env, "stuck");
    for _ in 0..4 {
        raven.bash("PreToolUse", "make");
        raven.bash("PostToolUse", "make");
    }
    assert_eq!(end_of(wait).1["state"], "spinning");
    assert_eq!(raven.look()["state"], "spinning");
}

#[test]
fn a_limit_of_any_name_is_waited_for() {
    let Some(raven) = painted() else { return };
    raven.draw("working.ansi.txt");
    raven.hook("UserPromptSubmit");
    raven.wait_for_state("working");
    let wait = wait(&raven.tmux.env, "limited");
    let rule = "─".repeat(100);
    let said = "\u{1b}[31m● You've hit your session limit · resets 3pm (UTC)\u{1b}[0m";
    raven.draw_text(&format!("❯ go on\n\n{said}\n\n{rule}\n❯\u{a0}\n{rule}\n  ? for shortcuts"));
    assert_eq!(end_of(wait).1["state"], "limited");
    assert_eq!(raven.look()["limitedUntil"], "3pm (UTC)");
}

#[test]
fn hooks_alone_end_a_wait_which_takes_no_mail() {
    let env = TestEnvironment::new();
    env.join("Raven");
    env.join("Bob");
    env.ok(&["send", "Bob", "hello", "--as", "Raven"]);
    let call = |fixture: &str| Call::new(&env, fixture, &session_of("Raven"));
    call("claude/UserPromptSubmit").command(&env).status().unwrap();
    let wait = Wait::start(&env, &["--until", "done", "--as", "Bob"]);
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
