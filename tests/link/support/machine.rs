//! A machine of a linked mesh: a home, a mesh and a link of its own. What it holds of other machines it can have from
//! the server alone.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::proxy::Proxy;
use crate::environment::{Ended, TestEnvironment, end, wait_until};

/// The lease of the machines in tests, in milliseconds: short, but longer than a busy machine takes for a renewal.
pub const LEASE: &str = "6000";

pub struct Machine {
    pub env: TestEnvironment,
    pub name: &'static str,
    pub network: Proxy,
}

impl Machine {
    /// A machine that is linked with the server at that port.
    pub fn linked(name: &'static str, server: u16) -> Self {
        let machine = Self::new(name, server);
        machine.ok(&["link", &machine.url(), "--machine", name]);
        machine
    }

    /// A machine that could be linked.
    pub fn new(name: &'static str, server: u16) -> Self {
        Self { env: TestEnvironment::new(), name, network: Proxy::to(server) }
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}/team", self.network.port)
    }

    pub fn msg(&self) -> Command {
        let mut command = self.env.msg();
        command.env("MSG_TEST_LINK_LEASE", LEASE);
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
        wait_until(&format!("{} is linked", self.name), || self.status()["linked"] == true);
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

impl Drop for Machine {
    fn drop(&mut self) {
        // Without its mesh the link process would end by itself, but a little later.
        drop(self.run(&["link", "stop"]));
    }
}
