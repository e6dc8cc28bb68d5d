//! Two agents, commands that run beside the test, and mail for them.

use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ravenry::domain::{AgentName, Message};
use ravenry::store::Mesh;
use ravenry::sys::test_switches::{self};
use serde_json::Value;

use crate::support::environment::{TestEnvironment, wait_until};

/// A mesh with Alice and Bob, who follows his inbox.
pub fn two() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    env
}

/// A running `msg` and its output so far. It is killed at the end of the test.
pub struct Running {
    pub child: Child,
    pub said: PathBuf,
}

impl Running {
    /// Standard output goes to a file, so that it can be read at any time.
    pub fn start(env: &TestEnvironment, command: &mut Command) -> Self {
        let said = env.path().join(format!("said-{}", fs::read_dir(env.path()).unwrap().count()));
        let file = OpenOptions::new().append(true).create_new(true).open(&said).unwrap();
        let child = command.stdout(file).stderr(Stdio::null()).spawn().unwrap();
        Self { child, said }
    }

    /// `msg watch --json`, as Bob.
    pub fn watch(env: &TestEnvironment) -> Self {
        Self::start(
            env,
            env.msg().args(["watch", "--json", "--as", "Bob"]).env(test_switches::NO_SLOW_TICK, "1"),
        )
    }

    /// [`Running::watch`], certainly working: it has handed over a message.
    pub fn watch_at_work(env: &TestEnvironment) -> Self {
        let watcher = Self::watch(env);
        post(&env.store(), "Bob", "are you there?");
        watcher.wait_for(1);
        watcher
    }

    pub fn said(&self) -> String {
        fs::read_to_string(&self.said).unwrap()
    }

    /// The texts of the messages it handed over.
    pub fn texts(&self) -> Vec<String> {
        let text = |line: &str| {
            let message: Value = serde_json::from_str(line).unwrap();
            message["text"].as_str().unwrap_or_else(|| panic!("no message: {line}")).to_string()
        };
        let said = self.said();
        said.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(text).collect()
    }

    /// Waits until it has handed over this many.
    #[track_caller]
    pub fn wait_for(&self, count: usize) {
        wait_until("they are handed over", || self.said().matches('\n').count() >= count);
    }

    /// Waits for the message. Without its slow tick, a watcher learns of it by an event or not at all.
    #[track_caller]
    pub fn expect_at_once(&self, count: usize, text: &str) {
        self.wait_for(count);
        assert_eq!(self.texts()[count - 1], text);
    }

    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    /// Waits for its end; returns the exit code.
    #[track_caller]
    pub fn end(&mut self) -> Option<i32> {
        wait_until("it ends", || self.child.try_wait().unwrap().is_some());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Sends from Alice, without starting a process.
pub fn post(mesh: &Mesh, to: &str, text: &str) {
    let (from, to) = (AgentName::new("Alice").unwrap(), AgentName::new(to).unwrap());
    let mut outbox = mesh.outboxes().lock(&from).unwrap();
    let stamp = outbox.stamp().unwrap();
    let message = Message::new(stamp, &from, &to, text);
    outbox.post(stamp, &to, message).unwrap().expect("there is an inbox");
}

pub fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

/// The files in Bob's inbox, including dot-files.
pub fn inbox(env: &TestEnvironment) -> Vec<String> {
    let entries = fs::read_dir(env.mesh().join("inbox/Bob")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
