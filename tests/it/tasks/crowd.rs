//! Agents in threads of their own, each with its own host process.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

pub(super) use crate::support::chance::Chance;
use crate::support::environment::{Ended, TestEnvironment, end};

/// Calls `msg` from another thread.
#[derive(Clone)]
pub(super) struct Caller {
    variables: Vec<(OsString, OsString)>,
    work: PathBuf,
}

impl Caller {
    pub(super) fn of(env: &TestEnvironment) -> Self {
        let given = env.msg();
        let variables = given.get_envs().filter_map(|(name, value)| Some((name.into(), value?.into())));
        Self { variables: variables.collect(), work: env.work() }
    }

    pub(super) fn msg(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_msg"));
        command.env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir(&self.work).stdin(Stdio::null()).args(args).arg("--json");
        command
    }

    pub(super) fn run(&self, args: &[&str]) -> Ended {
        end(&mut self.msg(args))
    }

    #[track_caller]
    pub(super) fn ok(&self, args: &[&str]) -> Value {
        self.run(args).expect_code(0).json()
    }
}

/// The host process of an agent.
pub(super) struct Host(Child);

impl Host {
    pub(super) fn new() -> Self {
        let mut command = Command::new("sleep");
        Self(command.arg("1000").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }

    pub(super) fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Kills it with SIGKILL and reaps it.
    pub(super) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A JSON file of the mesh as it is on disk; a missing file counts as empty.
#[track_caller]
pub(super) fn ledger(mesh: &Path, name: &str) -> Value {
    match fs::read(mesh.join(name)) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .unwrap_or_else(|error| panic!("{name}: {error}: {}", String::from_utf8_lossy(&bytes))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Value::Object(serde_json::Map::new()),
        Err(error) => panic!("{name}: {error}"),
    }
}

/// The entries of such a file, as `(spec, task, entry)`.
pub(super) fn entries(ledger: &Value) -> Vec<(String, String, Value)> {
    let mut found = Vec::new();
    for (spec, tasks) in ledger.as_object().unwrap() {
        let tasks = tasks.as_object().unwrap().iter();
        found.extend(tasks.map(|(task, entry)| (spec.clone(), task.clone(), entry.clone())));
    }
    found
}

/// A number that an environment variable may set.
pub(super) fn number(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}
