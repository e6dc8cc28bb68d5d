//! Calls git to record, merge and check out trees. No hook, pager, editor or file system monitor runs.
//!
//! Unlike the commands that only read ([`super::super::ReadOnlyGit`]), these run the filters that are configured,
//! because without them a file in a work tree is not the file that the person has.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};

use super::error::RunTreeError;
use crate::sys::git::reading_command::own_command;
use crate::sys::test_switches::step;

/// How long one command may take: checking out a large repository takes minutes.
const LIMIT: Duration = Duration::from_secs(900);
/// The most bytes of an error message that are read.
const MAX_ERROR: u64 = 64 * 1024;

/// Settings of every call.
const SETTINGS: [&str; 12] = [
    // Empty, not `false`: older versions of git take it for the name of a program.
    "core.fsmonitor=",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    // A split index would put a part of ours into the person's git directory.
    "core.splitIndex=false",
    // A warning about line ends must not end the command.
    "core.safecrlf=false",
    "commit.gpgSign=false",
    "i18n.commitEncoding=UTF-8",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
];

/// Our own refs get no reflogs.
const NO_REFLOGS: &str = "core.logAllRefUpdates=false";

/// How a command ended.
#[derive(Debug)]
pub(super) struct GitAnswer {
    /// The exit code; `None` if a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) output: Vec<u8>,
    said: String,
}

/// Runs git in one directory, with some variables set.
#[derive(Clone, Debug)]
pub(super) struct GitCaller {
    dir: PathBuf,
    environment: Vec<(&'static str, OsString)>,
    settings: Vec<&'static str>,
    /// Whether changes of refs are logged as the person configured it.
    has_reflogs: bool,
    limit: Duration,
}

impl GitCaller {
    pub(super) fn at(dir: &Path) -> Self {
        Self {
            dir: dir.to_path_buf(),
            environment: Vec::new(),
            settings: Vec::new(),
            has_reflogs: false,
            limit: LIMIT,
        }
    }

    /// The same, but each command may take only so long.
    pub(super) fn within(&self, limit: Duration) -> Self {
        Self { limit, ..self.clone() }
    }

    /// The same with another variable.
    pub(super) fn with(&self, variable: &'static str, value: impl AsRef<OsStr>) -> Self {
        let mut other = self.clone();
        other.environment.push((variable, value.as_ref().to_os_string()));
        other
    }

    /// The same with another setting, which wins over all others.
    pub(super) fn set(&self, setting: &'static str) -> Self {
        let mut other = self.clone();
        other.settings.push(setting);
        other
    }

    /// The same for a ref of the person.
    pub(super) fn with_reflogs(&self) -> Self {
        Self { has_reflogs: true, ..self.clone() }
    }

    /// The output; an error unless git exits with 0.
    pub(super) fn ask(&self, args: &[&str]) -> Result<Vec<u8>, RunTreeError> {
        self.feed(args, Vec::new())
    }

    /// The same with a standard input.
    pub(super) fn feed(&self, args: &[impl AsRef<OsStr>], input: Vec<u8>) -> Result<Vec<u8>, RunTreeError> {
        let args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
        let answer = self.answer(&args, input)?;
        if answer.code == Some(0) { Ok(answer.output) } else { Err(failed(&args, &answer)) }
    }

    /// A line of output, without its end.
    pub(super) fn line(&self, args: &[&str]) -> Result<String, RunTreeError> {
        Ok(String::from_utf8_lossy(&self.ask(args)?).trim_end_matches('\n').to_string())
    }

    /// A path that is printed alone on a line, whatever characters it contains.
    pub(super) fn path(&self, args: &[&str]) -> Result<PathBuf, RunTreeError> {
        let mut bytes = self.ask(args)?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        Ok(self.dir.join(OsString::from_vec(bytes)))
    }

    /// A line of output; `None` if git exits with 1, which says that there is nothing.
    pub(super) fn line_or_none(&self, args: &[&str]) -> Result<Option<String>, RunTreeError> {
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
        let answer = self.answer(&args, Vec::new())?;
        match answer.code {
            Some(0) => Ok(Some(String::from_utf8_lossy(&answer.output).trim_end_matches('\n').to_string())),
            Some(1) => Ok(None),
            _ => Err(failed(&args, &answer)),
        }
    }

    /// Output and exit code, whatever it is.
    pub(super) fn answer(&self, args: &[&OsStr], input: Vec<u8>) -> Result<GitAnswer, RunTreeError> {
        let name = name_of(args);
        step();
        let mut command = self.command(args);
        let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
        let mut child = command.stdin(stdin).spawn().map_err(RunTreeError::NotRun)?;
        if let Some(mut stdin) = child.stdin.take() {
            // If git ends early, its exit code tells.
            std::thread::spawn(move || drop(stdin.write_all(&input)));
        }
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(RunTreeError::Failed { command: name, said: "it has no output".to_string() });
        };
        let ends_at = Instant::now() + self.limit;
        let said = read_apart(stderr.take(MAX_ERROR));
        let output = read_apart(stdout);
        let Ok(output) = output.recv_timeout(ends_at.saturating_duration_since(Instant::now())) else {
            end(&mut child);
            return Err(RunTreeError::TooSlow { command: name, limit: self.limit });
        };
        // It closed its output, so it is about to end.
        let status = child.wait().map_err(RunTreeError::NotRun)?;
        let said = said.recv_timeout(Duration::from_secs(5)).unwrap_or_default();
        let said = String::from_utf8_lossy(&said).into_owned();
        Ok(GitAnswer { code: status.code(), output, said })
    }

    fn command(&self, args: &[&OsStr]) -> Command {
        let mut command = own_command();
        command.env_remove("GIT_AUTHOR_DATE").env_remove("GIT_COMMITTER_DATE");
        command.envs([
            ("LC_ALL", "C"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_LITERAL_PATHSPECS", "1"),
            ("GIT_EDITOR", "false"),
        ]);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.arg("-C").arg(&self.dir).arg("--no-pager");
        let reflogs: &[&str] = if self.has_reflogs { &[] } else { &[NO_REFLOGS] };
        let settings = SETTINGS.iter().chain(reflogs).chain(&self.settings);
        command.args(settings.flat_map(|setting| ["-c", setting]));
        // A group of its own: Ctrl-C at a terminal ends us, not git in the middle of a write.
        command.args(args).process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// The error of a command that failed.
pub(super) fn failed(args: &[&OsStr], answer: &GitAnswer) -> RunTreeError {
    let said = answer.said.trim();
    let is_full = |line: &&str| line.contains("No space left on device") || line.contains("quota exceeded");
    if let Some(line) = said.lines().find(is_full) {
        return RunTreeError::DiskFull(first_line(line));
    }
    let said = if said.is_empty() { format!("it ended with {:?}", answer.code) } else { first_line(said) };
    RunTreeError::Failed { command: name_of(args), said }
}

/// The line that tells what is wrong.
fn first_line(said: &str) -> String {
    let is_telling = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:");
    let line = said.lines().find(is_telling).or_else(|| said.lines().next()).unwrap_or_default();
    line.trim_start_matches("fatal: ").trim_start_matches("error: ").to_string()
}

fn name_of(args: &[&OsStr]) -> String {
    args.first().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Reads to the end in another thread.
fn read_apart(mut stream: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read until an error is all that there is.
        drop(stream.read_to_end(&mut bytes));
        drop(sender.send(bytes));
    });
    receiver
}

/// Kills the command with everything that it started.
fn end(child: &mut Child) {
    let group = nix::unistd::Pid::from_raw(child.id().cast_signed());
    // It may have just ended.
    let _ = killpg(group, Signal::SIGKILL);
    drop(child.wait());
}
