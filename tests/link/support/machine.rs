//! A machine of a linked mesh: a home, a mesh and a link of its own. What it holds of other machines it can have from
//! the server alone.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::proxy::Proxy;
use crate::environment::{Ended, TestEnvironment, end, wait_until};

/// The lease of a machine: longer than a machine is cut off, stopped or stalled in any test.
const LEASE: Duration = Duration::from_secs(20);
/// For tests that wait for its end: longer than a busy machine takes for a renewal.
pub const SHORT_LEASE: Duration = Duration::from_secs(6);

pub struct Machine {
    pub env: TestEnvironment,
    pub name: &'static str,
    pub network: Proxy,
    lease: Duration,
}

impl Machine {
    /// A machine that is linked with the server at that port.
    pub fn linked(name: &'static str, server: u16) -> Self {
        Self::linked_for(name, server, LEASE)
    }

    /// The same, with a lease of that length.
    pub fn linked_for(name: &'static str, server: u16, lease: Duration) -> Self {
        let machine = Self::new_for(name, server, lease);
        machine.ok(&["link", &machine.url(), "--machine", name]);
        machine
    }

    /// A machine that could be linked.
    pub fn new(name: &'static str, server: u16) -> Self {
        Self::new_for(name, server, LEASE)
    }

    /// The same, with a lease of that length.
    pub fn new_for(name: &'static str, server: u16, lease: Duration) -> Self {
        Self { env: TestEnvironment::new(), name, network: Proxy::to(server), lease }
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}/team", self.network.port)
    }

    pub fn msg(&self) -> Command {
        let mut command = self.env.msg();
        command.env("MSG_TEST_LINK_LEASE", self.lease.as_millis().to_string());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ended {
        end(self.msg().args(args))
    }

    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> Value {
        self.run(&[args, &["--json"]].concat()).expect_code(0).json()
    }

    #[track_caller]
    pub fn fails(&self, code: i32, args: &[&str]) -> Value {
        self.run(&[args, &["--json"]].concat()).expect_code(code).json()["error"].clone()
    }

    /// An agent joins, hosted by a process of its own.
    #[track_caller]
    pub fn join(&self, name: &str) -> u32 {
        let host = self.env.host();
        self.ok(&[
            "join",
            name,
            "--pid",
            &host.to_string(),
            "--session",
            &format!("session-{name}"),
            "--harness",
            "claude",
        ]);
        host
    }

    /// Waits until this machine sees that agent of another one.
    #[track_caller]
    pub fn wait_for(&self, name: &str) {
        wait_until(&format!("{} sees {name}", self.name), || self.agent(name).is_some());
    }

    /// Waits until this machine does not see that agent any more.
    #[track_caller]
    pub fn wait_without(&self, name: &str) {
        wait_until(&format!("{} sees {name} no more", self.name), || self.agent(name).is_none());
    }

    /// The agent as `msg agents` lists it.
    pub fn agent(&self, name: &str) -> Option<Value> {
        let agents = self.ok(&["agents"]);
        agents["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == name).cloned()
    }

    pub fn status(&self) -> Value {
        self.ok(&["link", "status"])
    }

    #[track_caller]
    pub fn wait_until_linked(&self) {
        wait_until(&format!("{} is linked", self.name), || self.is_linked());
    }

    /// Whether its link process says so. What one that was killed has said last does not count.
    pub fn is_linked(&self) -> bool {
        let status = self.status();
        status["linked"] == true && status["state"]["pid"].as_i64().is_some_and(is_alive)
    }

    /// Kills the link process without a chance to say anything, and returns when it has ended.
    pub fn kill_link(&self) {
        let Some(pid) = self.status()["state"]["pid"].as_i64() else { return };
        // It may have ended by itself.
        kill(Pid::from_raw(i32::try_from(pid).unwrap()), Signal::SIGKILL).ok();
        wait_until(&format!("the link of {} has ended", self.name), || !is_alive(pid));
    }

    #[track_caller]
    pub fn wait_until_unlinked(&self) {
        wait_until(&format!("{} is not linked", self.name), || self.status()["linked"] == false);
    }

    /// A clone of the same repository on each machine: the same commit, made alike.
    pub fn repository(&self) -> PathBuf {
        let work = self.env.work();
        let git = |args: &[&str]| {
            let mut command = Command::new("git");
            command.current_dir(&work).args(args).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
            command.env("HOME", self.env.home());
            for who in ["AUTHOR", "COMMITTER"] {
                command.env(format!("GIT_{who}_NAME"), "A").env(format!("GIT_{who}_EMAIL"), "a@example.org");
                command.env(format!("GIT_{who}_DATE"), "2026-11-14T12:00:00Z");
            }
            let done = command.output().unwrap();
            assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        };
        git(&["init", "--quiet", "--initial-branch=main"]);
        std::fs::create_dir_all(work.join("src")).unwrap();
        std::fs::write(work.join("src/main.rs"), "fn main() {}\n").unwrap();
        std::fs::write(
            work.join("plan.md"),
            "# Plan\n\n- [ ] TASK-01 one\n- [ ] TASK-02 two\n- [ ] TASK-03 three\n",
        )
        .unwrap();
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", "start"]);
        work
    }
}

/// Whether a process runs: one that nobody has waited for yet has ended.
fn is_alive(pid: i64) -> bool {
    if cfg!(target_os = "linux") {
        std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
    } else {
        kill(Pid::from_raw(i32::try_from(pid).unwrap()), None).is_ok()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Without its mesh the link process would end by itself, but a little later.
        drop(self.run(&["link", "stop"]));
    }
}
