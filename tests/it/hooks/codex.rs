//! A fake Codex that can be woken.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::support::environment::TestEnvironment;

use crate::support::hook_call::session_of;

/// Processes named `codex`, whose `queue` is a script that `bash` finds on its path.
pub struct Codex {
    bin: PathBuf,
    hosts: Vec<Child>,
}

impl Codex {
    pub fn new(env: &TestEnvironment, queue: &str) -> Self {
        let bin = env.path().join("bin");
        fs::create_dir(&bin).unwrap();
        // Copied by another process: a file that this process has open for writing while it forks could not be
        // executed.
        let copied = Command::new("cp").args(["-L", "/bin/bash"]).arg(bin.join("codex")).status();
        assert!(copied.unwrap().success());
        fs::write(bin.join("queue"), queue).unwrap();
        Self { bin, hosts: Vec::new() }
    }

    /// Joins an agent of that name in one of them.
    pub fn join(&mut self, env: &TestEnvironment, name: &str) {
        let path = format!("{}:/usr/bin:/bin", self.bin.display());
        let mut command = Command::new(self.bin.join("codex"));
        command.args(["-c", "read -r end"]).env_clear().env("PATH", path).stdin(Stdio::piped());
        self.hosts.push(command.spawn().unwrap());
        let pid = self.hosts.last().unwrap().id().to_string();
        env.ok(&["join", name, "--pid", &pid, "--session", &session_of(name), "--harness", "codex"]);
    }
}

impl Drop for Codex {
    fn drop(&mut self) {
        for host in &mut self.hosts {
            drop(host.kill());
            drop(host.wait());
        }
    }
}
