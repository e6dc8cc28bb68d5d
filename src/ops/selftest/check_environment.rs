//! The environment of a selftest check: a temporary mesh, home and folder, and agents that are our child processes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::domain::escape_invisible;
use crate::domain::settings::Durability;
use crate::sys::children::{CapturedOutput, Child, ChildExit, ChildInput};
use crate::sys::environment::variable;
use crate::sys::files::{self, FileError, Files};
use crate::sys::signals::StopRequest;
use crate::sys::{program, test_switches};

/// Time limit of a command.
pub(super) const LIMIT: Duration = Duration::from_secs(15);

/// The promise held: `message` says what was counted, `doubt` is a warning about this disk.
#[derive(Debug)]
pub(super) struct PromiseKept {
    pub(super) message: String,
    pub(super) doubt: Option<String>,
}

impl PromiseKept {
    pub(super) fn with(message: String) -> Self {
        Self { message, doubt: None }
    }
}

/// The promise broke or could not be tested; the text says how.
#[derive(Debug)]
pub(super) struct PromiseBroken(pub(super) String);

impl From<std::io::Error> for PromiseBroken {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<FileError> for PromiseBroken {
    fn from(error: FileError) -> Self {
        Self(error.to_string())
    }
}

/// Returns a fault unless `is_so` is true.
pub(super) fn demand(is_so: bool, otherwise: impl FnOnce() -> String) -> Result<(), PromiseBroken> {
    if is_so { Ok(()) } else { Err(PromiseBroken(otherwise())) }
}

/// A command's answer.
#[derive(Debug)]
pub(super) struct MsgOutput {
    pub(super) line: String,
    pub(super) code: Option<i32>,
    /// Null if the output is not one whole JSON value.
    pub(super) json: Value,
    pub(super) said: String,
    /// It was killed before it ended.
    pub(super) was_killed: bool,
    pub(super) took: Duration,
}

impl MsgOutput {
    fn new(line: String, ended: ChildExit) -> Self {
        let ChildExit { code, said, was_killed: killed, took } = ended;
        let json = serde_json::from_slice(&said).unwrap_or_default();
        Self { line, code, json, said: String::from_utf8_lossy(&said).into_owned(), was_killed: killed, took }
    }

    /// The kind of the error it answered with, or an empty string.
    pub(super) fn kind(&self) -> &str {
        self.json["error"]["kind"].as_str().unwrap_or_default()
    }

    pub(super) fn expect(self, code: i32) -> Result<Self, PromiseBroken> {
        demand(self.code == Some(code), || self.outcome())?;
        Ok(self)
    }

    pub(super) fn expect_kind(self, code: i32, kind: &str) -> Result<Self, PromiseBroken> {
        demand(self.code == Some(code) && self.kind() == kind, || self.outcome())?;
        Ok(self)
    }

    /// Describes how it ended.
    pub(super) fn outcome(&self) -> String {
        let said = self.json["error"]["message"].as_str().unwrap_or(&self.said).trim();
        let end = match self.code {
            _ if self.was_killed => format!("had no answer after {} ms", self.took.as_millis()),
            Some(code) => format!("ended with exit code {code}"),
            None => "was killed by somebody else".to_string(),
        };
        let colon = if said.is_empty() { "" } else { ": " };
        format!("`{}` {end}{colon}{}", self.line, escape_invisible(said))
    }
}

/// A mesh with a home and a folder, all in one directory.
#[derive(Debug)]
pub(super) struct CheckEnvironment<'a> {
    dir: PathBuf,
    program: PathBuf,
    pub(super) stop: &'a StopRequest,
}

impl<'a> CheckEnvironment<'a> {
    pub(super) fn set(scratch: &Path, name: &str, stop: &'a StopRequest) -> Result<Self, PromiseBroken> {
        let program = match test_switches::value(test_switches::PROGRAM) {
            Some(program) => PathBuf::from(program),
            None => program::own()?,
        };
        let stage = Self { dir: scratch.join(name), program, stop };
        files::create_dir(&stage.dir.join("home"))?;
        files::create_dir(&stage.work())?;
        Ok(stage)
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folder that commands run in.
    pub(super) fn work(&self) -> PathBuf {
        self.dir.join("work")
    }

    pub(super) fn mesh(&self) -> PathBuf {
        self.dir.join("mesh")
    }

    /// Writes a whole file on the stage, as another program would.
    pub(super) fn put(&self, path: &Path, content: &[u8]) -> Result<(), PromiseBroken> {
        if let Some(parent) = path.parent() {
            files::create_dir(parent)?;
        }
        Ok(Files::new(self.dir.join("props"), Durability::Process).replace(path, content)?)
    }

    /// The program with these arguments, without our environment variables (except `PATH`).
    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).env_clear().env("HOME", self.dir.join("home")).current_dir(self.work());
        command.env("MSG_MESH", self.mesh());
        if let Some(path) = variable("PATH") {
            command.env("PATH", path);
        }
        command
    }

    /// Runs a command with `--json` and returns its answer.
    pub(super) fn msg(&self, args: &[&str]) -> Result<MsgOutput, PromiseBroken> {
        self.run(&mut self.command(args), args, LIMIT)
    }

    /// Like [`Self::msg`], but kills the command at `instant` unless it has ended by then. `None`: runs it to its end.
    pub(super) fn msg_until(
        &self,
        args: &[&str],
        instant: Option<Duration>,
    ) -> Result<MsgOutput, PromiseBroken> {
        let Some(instant) = instant else { return self.msg(args) };
        let child =
            Child::start(self.command(args).arg("--json"), ChildInput::Nothing, CapturedOutput::Stdout)?;
        Ok(MsgOutput::new(line(args), child.kill_at(instant, self.stop)?))
    }

    /// Like [`Self::msg`], for a command with more environment and another limit.
    pub(super) fn run(
        &self,
        command: &mut Command,
        args: &[&str],
        limit: Duration,
    ) -> Result<MsgOutput, PromiseBroken> {
        let child = Child::start(command.arg("--json"), ChildInput::Nothing, CapturedOutput::Stdout)?;
        Ok(MsgOutput::new(line(args), child.end_within(limit, self.stop)?))
    }

    /// Runs a command without `--json`, as a person or a harness does, with `input` on its standard input.
    pub(super) fn speak(
        &self,
        args: &[&str],
        input: ChildInput,
        hear: CapturedOutput,
    ) -> Result<MsgOutput, PromiseBroken> {
        let child = Child::start(&mut self.command(args), input, hear)?;
        Ok(MsgOutput::new(line(args), child.end_within(LIMIT, self.stop)?))
    }

    /// Starts a process that lives until it is killed or we end.
    pub(super) fn host(&self) -> Result<Child, PromiseBroken> {
        let mut command = self.command(&["selftest", "--role", "host"]);
        Ok(Child::start(&mut command, ChildInput::Lifeline, CapturedOutput::Stdout)?)
    }

    /// Registers an agent of that name; it lives as long as the returned process.
    pub(super) fn join(&self, name: &str) -> Result<Child, PromiseBroken> {
        let host = self.host()?;
        let (pid, session) = (host.pid().to_string(), format!("session of {name}"));
        self.msg(&["join", name, "--pid", &pid, "--session", &session, "--harness", "terminal"])?
            .expect(0)?;
        Ok(host)
    }

    /// The names of all live agents.
    pub(super) fn names(&self) -> Result<BTreeSet<String>, PromiseBroken> {
        let answer = self.msg(&["agents"])?.expect(0)?;
        let agents = answer.json["agents"].as_array().cloned().unwrap_or_default();
        Ok(agents.iter().filter_map(|agent| agent["name"].as_str().map(str::to_string)).collect())
    }
}

/// The command line as a person would type it.
fn line(args: &[&str]) -> String {
    let quoted = |arg: &&str| match arg.is_empty() || arg.contains(char::is_whitespace) {
        true => format!("'{arg}'"),
        false => (*arg).to_string(),
    };
    let words: Vec<String> = args.iter().map(quoted).collect();
    escape_invisible(&format!("msg {}", words.join(" "))).into_owned()
}
