//! `msg feed --follow`: each event is printed once, whatever happens to the files.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::{event, segments};
use crate::support::environment::{TestEnvironment, put, wait_until, wait_until_unheard};
use crate::support::running::Running;

/// Events that are kept: so few that a segment is full after about ten.
const KEEP: u64 = 10;

struct Follower<'a> {
    env: &'a TestEnvironment,
    running: Running,
    told: usize,
}

impl<'a> Follower<'a> {
    fn start(env: &'a TestEnvironment) -> Self {
        let running = Running::start(env, env.msg().args(["feed", "--follow", "--json", "--limit", "0"]));
        let mut follower = Self { env, running, told: 0 };
        // Events before its first scan are not printed, so events are appended until it prints one.
        wait_until("it follows", || {
            follower.env.store().feed().append(&[event("Alice", "are you there?")], KEEP).unwrap();
            follower.heard().iter().any(|target| target == "are you there?")
        });
        follower.tell();
        follower.wait();
        follower
    }

    fn heard(&self) -> Vec<String> {
        let said = self.running.said();
        let lines = said.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let target = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap();
            assert!(event.get("ok").is_none(), "an event itself");
            event["target"].as_str().unwrap().to_string()
        };
        lines.map(target).collect()
    }

    fn numbers(&self) -> Vec<usize> {
        self.heard().iter().filter_map(|target| target.parse().ok()).collect()
    }

    fn tell(&mut self) {
        self.env.store().feed().append(&[event("Alice", self.told)], KEEP).unwrap();
        self.told += 1;
    }

    /// Waits for the last event; by then all must have been printed, once and in order.
    #[track_caller]
    fn wait(&self) {
        wait_until("it was handed over", || self.numbers().last() == Some(&(self.told - 1)));
        assert_eq!(self.numbers(), (0..self.told).collect::<Vec<_>>());
    }
}

#[test]
fn through_rotation_truncation_and_a_directory_that_is_made_anew() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let mut follower = Follower::start(&env);
    let first = segments(&env);
    for _ in 0..20 {
        (0..4).for_each(|_| follower.tell());
        follower.wait();
    }
    assert!(first.iter().all(|segment| !segment.exists()), "old segments were removed meanwhile");
    fs::write(segments(&env).pop().unwrap(), "").unwrap();
    follower.tell();
    follower.wait();
    for _ in 0..3 {
        fs::remove_dir_all(env.mesh().join("feed")).unwrap();
        (0..30).for_each(|_| follower.tell());
        // Events that were removed before it could read them are lost.
        wait_until("it goes on", || follower.numbers().last() == Some(&(follower.told - 1)));
    }
    let numbers = follower.numbers();
    assert!(numbers.is_sorted_by(|a, b| a < b), "none came twice: {numbers:?}");
}

#[test]
fn from_before_there_is_a_mesh() {
    let env = TestEnvironment::new();
    let running = Running::start(&env, env.msg().args(["feed", "--follow", "--json"]));
    env.join("Alice");
    wait_until("it was told", || running.said().contains("\"join\""));
}

#[test]
fn what_pi_messenger_writes_and_prunes() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let feed = env.work().join(".pi/messenger/feed.jsonl");
    put(&feed, "");
    let line = |number: usize| {
        let ts = format!("2026-01-01T10:00:{number:02}.000Z");
        format!("{{\"ts\":\"{ts}\",\"agent\":\"RedIce\",\"type\":\"edit\",\"target\":\"{number}\"}}\n")
    };
    let append = |number: usize| {
        OpenOptions::new().append(true).open(&feed).unwrap().write_all(line(number).as_bytes()).unwrap();
    };
    let running = Running::start(&env, env.msg().args(["feed", "--follow", "--json"]));
    let numbers = || -> Vec<usize> {
        let said = running.said();
        let lines = said.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let target =
            |line: &str| serde_json::from_str::<Value>(line).unwrap()["target"].as_str()?.parse().ok();
        lines.filter_map(target).collect()
    };
    for number in 0..10 {
        append(number);
        wait_until("it was told", || numbers().last() == Some(&number));
    }
    // pi-messenger prunes by rewriting the file: a reader may see it empty, or half of it.
    for number in 10..40 {
        fs::write(&feed, "").unwrap();
        let kept = (number - 3..number).map(line);
        for line in kept {
            OpenOptions::new().append(true).open(&feed).unwrap().write_all(line.as_bytes()).unwrap();
        }
        append(number);
        wait_until("it goes on", || numbers().last() == Some(&number));
    }
    assert_eq!(numbers(), (0..40).collect::<Vec<_>>());
}

#[test]
fn it_ends_when_asked_to_or_when_nobody_reads() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let mut asked = Running::start(&env, env.msg().args(["feed", "--follow"]));
    wait_until("it follows", || asked.said().contains("Alice joined"));
    kill(Pid::from_raw(asked.child.id() as i32), Signal::SIGINT).unwrap();
    assert_eq!(asked.child.wait().unwrap().code(), Some(130), "as `watch` does");

    let mut left = env.msg().args(["feed", "--follow"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(left.stdout.take().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert!(line.ends_with("  Alice joined\n"), "{line}");
    drop(reader);
    wait_until_unheard(left.id());
    env.store().feed().append(&[event("Alice", "x")], 100).unwrap();
    assert_eq!(left.wait().unwrap().code(), Some(0));
}

#[test]
fn what_is_not_wanted_is_not_said() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let args = ["feed", "--follow", "--json", "--kind", "leave", "--agent", "Bob"];
    let running = Running::start(&env, env.msg().args(args));
    env.join("Bob");
    env.ok(&["leave", "--as", "Alice"]);
    env.ok(&["leave", "--as", "Bob"]);
    wait_until("it was told", || running.said().ends_with('\n'));
    let said: Value = serde_json::from_str(&running.said()).unwrap();
    assert_eq!((said["type"].as_str(), said["agent"].as_str()), (Some("leave"), Some("Bob")));
}
