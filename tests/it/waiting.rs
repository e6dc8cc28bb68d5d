//! `watch --exec` and `wait`.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use ravenry::sys::test_switches::{self, RETRY_MS};
use serde_json::{Value, json};

use crate::support::environment::{TestEnvironment, wait_until};
use crate::support::running::{Running, inbox, post, two};
use crate::support::terminal::harness;

/// Runs the script for each message, as Bob; failures are tried again after 50, 100, 200, 400 ms.
fn exec(env: &TestEnvironment, script: &str) -> Running {
    Running::start(env, env.msg().args(["watch", "--exec", script, "--as", "Bob"]).env(RETRY_MS, "50"))
}

fn send(env: &TestEnvironment, text: &str) -> String {
    env.ok(&["send", "Bob", text, "--as", "Alice"])["sent"][0]["id"].as_str().unwrap().to_string()
}

fn receipt(env: &TestEnvironment, id: &str) -> (Value, Value) {
    let receipt = env.ok(&["receipt", id, "--as", "Alice"]);
    (receipt["state"].clone(), receipt["via"].clone())
}

/// What scripts wrote into a file in their working directory.
fn written(env: &TestEnvironment, file: &str) -> String {
    fs::read_to_string(env.work().join(file)).unwrap_or_default()
}

#[test]
fn a_command_gets_each_message_in_json() {
    let env = two();
    let before = send(&env, "before");
    let mut watcher = exec(&env, "cat >> got");
    wait_until("it ran", || written(&env, "got").lines().count() == 1);
    let id = send(&env, "two\nlines");
    wait_until("it ran again", || written(&env, "got").lines().count() == 2);
    let last: Value = serde_json::from_str(written(&env, "got").lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["id"], &last["text"], &last["from"]),
        (&json!(id), &json!("two\nlines"), &json!("Alice"))
    );
    for id in [before, id] {
        wait_until("it is recorded", || receipt(&env, &id) == (json!("surfaced"), json!("watch --exec")));
    }
    watcher.signal(Signal::SIGTERM);
    assert_eq!(watcher.end(), Some(130));
    assert_eq!(watcher.said(), "", "what the command says is all that is said");
}

#[test]
fn what_fails_is_tried_again_later_and_then_parked_and_holds_up_nothing() {
    let env = two();
    let bad = send(&env, "bad");
    let script = "text=$(cat); case \"$text\" in *bad*) date +%s%N >> bad; exit 1;; *) echo x >> good;; esac";
    let _watcher = exec(&env, script);
    wait_until("it failed", || written(&env, "bad").lines().count() == 1);
    assert_eq!(receipt(&env, &bad).0, "stored", "it is not delivered");
    let good = send(&env, "good");
    wait_until("the other one is done", || written(&env, "good").lines().count() == 1);
    wait_until("that is recorded", || receipt(&env, &good).0 == "surfaced");
    let parked = || env.ok(&["inbox", "--as", "Bob"])["parked"].as_array().unwrap().clone();
    wait_until("it is parked", || !parked().is_empty());
    assert_eq!(parked()[0]["id"], bad.as_str());
    let times: Vec<u64> = written(&env, "bad").lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(times.len(), 5, "five tries");
    for (number, pair) in times.windows(2).enumerate() {
        let pause = Duration::from_nanos(pair[1] - pair[0]);
        assert!(pause >= Duration::from_millis(50 << number), "pause {number} is {pause:?}");
    }
    send(&env, "good again");
    wait_until("the watcher goes on", || written(&env, "good").lines().count() == 2);
    assert_eq!(env.ok(&["read", "--as", "Bob"])["messages"][0]["id"], bad.as_str(), "`read` delivers it");
    assert_eq!(receipt(&env, &bad), (json!("surfaced"), json!("read")));
    assert!(parked().is_empty());
}

#[test]
fn a_command_that_succeeds_late_is_enough() {
    let env = two();
    let _watcher = exec(&env, "echo x >> tries; test $(wc -l < tries) -ge 3");
    let id = send(&env, "third time lucky");
    wait_until("it is delivered", || receipt(&env, &id) == (json!("surfaced"), json!("watch --exec")));
    assert_eq!(written(&env, "tries").lines().count(), 3);
}

#[test]
fn the_command_in_progress_is_finished_before_the_end() {
    let env = two();
    let mut watcher = exec(&env, "echo x >> begun; until test -e go; do sleep 0.01; done; echo x >> done");
    let ids = [send(&env, "first"), send(&env, "second")];
    wait_until("it runs", || !written(&env, "begun").is_empty());
    watcher.signal(Signal::SIGTERM);
    fs::write(env.work().join("go"), "").unwrap();
    assert_eq!(watcher.end(), Some(130));
    assert_eq!(written(&env, "begun"), written(&env, "done"));
    // The signal may arrive only when the second has begun.
    let begun = written(&env, "begun").lines().count();
    for (number, id) in ids.iter().enumerate() {
        assert_eq!(receipt(&env, id).0, if number < begun { "surfaced" } else { "stored" });
    }
    assert!(inbox(&env).iter().all(|name| !name.starts_with('.')));
}

/// What a living reader has in hand when its agent leaves was handed over once, and is not unread in the grave.
#[test]
fn who_leaves_while_a_command_runs_has_that_message_once() {
    let env = two();
    let mut watcher = exec(&env, "echo x >> begun; until test -e go; do sleep 0.01; done");
    let id = send(&env, "one");
    wait_until("it runs", || !written(&env, "begun").is_empty());
    env.ok(&["leave", "--as", "Bob"]);
    fs::write(env.work().join("go"), "").unwrap();
    assert_eq!(watcher.end(), Some(3));
    assert_eq!(receipt(&env, &id), (json!("surfaced"), json!("watch --exec")));
    env.join("Bob");
    assert_eq!(env.ok(&["read", "--as", "Bob"])["messages"], json!([]));
    assert_eq!(written(&env, "begun").lines().count(), 1);
}

/// A model may run `msg` without asking, but must not run other programs through it.
#[test]
fn a_model_runs_nothing_by_it() {
    let env = two();
    send(&env, "x");
    let mut claude = harness(&env, "claude");
    let refused = claude.run("msg watch --exec 'touch done' --as Bob --json");
    assert_eq!((refused.code, refused.kind().as_str()), (Some(1), "in_harness"));
    assert!(!env.work().join("done").exists(), "nothing was run");
    assert_eq!(inbox(&env).len(), 1, "and nothing was taken");
}

/// The processor time of a process, in clock ticks.
fn ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit(") ").next()?.split(' ').collect();
    Some(fields[11].parse::<u64>().ok()? + fields[12].parse::<u64>().ok()?)
}

#[test]
fn what_failed_and_was_read_by_another_is_forgotten() {
    let env = two();
    let watcher = exec(&env, "echo x >> tries; exit 1");
    send(&env, "no");
    wait_until("it failed", || !written(&env, "tries").is_empty());
    wait_until("it is read by another", || {
        !env.ok(&["read", "--as", "Bob"])["messages"].as_array().unwrap().is_empty()
    });
    // A process that spins uses processor time between any two looks.
    let pid = watcher.child.id();
    let (mut spent, mut looks) = (ticks(pid), 0);
    wait_until("it rests", || {
        let now = ticks(pid);
        looks = if now == spent { looks + 1 } else { 0 };
        spent = now;
        looks >= 100
    });
}

/// `msg wait`, as Bob.
fn wait(env: &TestEnvironment, args: &[&str]) -> Running {
    let mut command = env.msg();
    command.args(["wait", "--json", "--as", "Bob"]).args(args);
    Running::start(env, command.env(test_switches::NO_SLOW_TICK, "1"))
}

fn texts(said: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(said).unwrap();
    assert_eq!(answer["ok"], true, "{answer}");
    let messages = answer["messages"].as_array().unwrap().iter();
    messages.map(|message| message["text"].as_str().unwrap().to_string()).collect()
}

#[test]
fn waiting_ends_when_there_is_mail() {
    let env = two();
    let id = send(&env, "was there");
    send(&env, "and this");
    let mut waiting = wait(&env, &["--timeout", "1e18"]);
    assert_eq!(waiting.end(), Some(0));
    assert_eq!(texts(&waiting.said()), ["was there", "and this"]);
    assert_eq!(receipt(&env, &id), (json!("surfaced"), json!("wait")));
    let mut waiting = wait(&env, &[]);
    let id = send(&env, "comes");
    assert_eq!(waiting.end(), Some(0));
    assert_eq!(texts(&waiting.said()), ["comes"]);
    assert_eq!(receipt(&env, &id), (json!("surfaced"), json!("wait")));
}

#[test]
fn one_may_wait_for_one_sender() {
    let env = two();
    env.join("Carol");
    let mesh = env.store();
    post(&mesh, "Bob", "from Alice");
    let mut waiting = wait(&env, &["--from", "carol"]);
    post(&mesh, "Bob", "from Alice again");
    env.ok(&["send", "Bob", "from Carol", "--as", "Carol"]);
    assert_eq!(waiting.end(), Some(0));
    assert_eq!(texts(&waiting.said()), ["from Carol"]);
    assert_eq!(inbox(&env).len(), 2, "the others wait");
    assert_eq!(env.fails(5, &["wait", "--from", "Carol", "--timeout", "0.05", "--as", "Bob"]), "timed_out");
    assert_eq!(inbox(&env).len(), 2);
}

#[test]
fn waiting_has_an_end() {
    let env = two();
    let start = Instant::now();
    assert_eq!(env.fails(5, &["wait", "--timeout", "0.2", "--as", "Bob"]), "timed_out");
    assert!(start.elapsed() >= Duration::from_millis(200));
    assert_eq!(env.fails(5, &["wait", "--timeout", "0", "--as", "Bob"]), "timed_out");
    for bad in ["-1", "nan", "1e300"] {
        let timeout = format!("--timeout={bad}");
        assert_eq!(env.fails(2, &["wait", &timeout, "--as", "Bob"]), "invalid_value", "{bad}");
    }
    assert_eq!(env.fails(2, &["wait", "--from", "../x", "--as", "Bob"]), "invalid_name");
}

/// Alice holds what Bob was refused, for half an hour.
fn promised() -> TestEnvironment {
    let env = two();
    env.ok(&["reserve", "x.rs", "--ttl", "30m", "--as", "Alice"]);
    assert_eq!(env.fails(1, &["reserve", "x.rs", "--as", "Bob"]), "reserved");
    env
}

const FREE: &str = "`x.rs` is free: Alice no longer holds it. To have it to yourself: msg reserve x.rs";

/// Nobody else does anything any more.
#[test]
fn who_waits_is_told_of_what_is_over_by_itself() {
    let env = promised();
    let mut waiting = Running::start(&env, env.msg().args(["wait", "--json", "--as", "Bob"]));
    env.ok(&["reserve", "x.rs", "--ttl", "1s", "--as", "Alice"]);
    assert_eq!(waiting.end(), Some(0));
    assert_eq!(texts(&waiting.said()), [FREE]);
    assert_eq!(env.fails(5, &["wait", "--timeout", "0", "--as", "Bob"]), "timed_out", "told once");
}

/// It sleeps exactly until then: the slow tick is off.
#[test]
fn who_waits_wakes_when_what_it_waits_for_is_over() {
    let env = promised();
    env.ok(&["reserve", "x.rs", "--ttl", "3s", "--as", "Alice"]);
    let bug = test_switches::Bug::ScanBeforeWatch.name();
    let command = ["wait", "--json", "--as", "Bob"];
    let mut waiting = Running::start(&env, env.msg().args(command).env(test_switches::BUG, bug));
    assert_eq!(waiting.end(), Some(0));
    assert_eq!(texts(&waiting.said()), [FREE]);
}

#[test]
fn who_watches_is_told_of_a_death_that_nobody_saw() {
    let env = two();
    let carol = env.join("Carol");
    env.ok(&["reserve", "x.rs", "--as", "Carol"]);
    assert_eq!(env.fails(1, &["reserve", "x.rs", "--as", "Bob"]), "reserved");
    // Nothing in the mesh changes when a process dies: the slow tick finds out.
    let watcher = Running::start(&env, env.msg().args(["watch", "--json", "--as", "Bob"]));
    send(&env, "are you there?");
    wait_until("it watches", || watcher.texts().len() == 1);
    env.kill(carol);
    wait_until("it is told", || watcher.texts().len() == 2);
    assert_eq!(watcher.texts()[1], FREE.replace("Alice", "Carol"));
}

#[test]
fn one_who_waits_may_be_interrupted() {
    let env = two();
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let mut waiting = wait(&env, &[]);
        wait_until("it listens to signals", || is_listening(waiting.child.id(), signal));
        waiting.signal(signal);
        assert_eq!(waiting.end(), Some(130));
        let answer: Value = serde_json::from_str(&waiting.said()).unwrap();
        assert_eq!(answer["error"]["kind"], "interrupted");
    }
}

/// Whether that process has a handler for the signal.
fn is_listening(pid: u32, signal: Signal) -> bool {
    let output = Command::new("ps").args(["-o", "caught=", "-p", &pid.to_string()]).output().unwrap();
    let mask = String::from_utf8(output.stdout).unwrap();
    let mask = u64::from_str_radix(mask.trim(), 16).unwrap_or(0);
    mask & (1 << (signal as i32 - 1)) != 0
}
