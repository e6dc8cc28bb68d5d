//! Reads a repository that nobody vouches for, by running `git`.
//!
//! A repository's own configuration names programs: hooks, file system monitors, filters, pagers, and what fetches
//! missing objects. None of them is run, nothing is written, not even the index, and nothing is fetched. Every command
//! has a time limit, and its output a maximum length.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};

use super::WorkTree;
use super::reading_command::reading_command;
use super::repository::GitError;

/// The most bytes that are read from one command.
const MAX_OUTPUT: u64 = 8 * 1024 * 1024;
/// The most bytes of an error message that are read.
const MAX_ERROR: u64 = 4096;

/// The output of a command.
#[derive(Debug)]
pub(super) struct GitOutput {
    pub(super) bytes: Vec<u8>,
    /// Whether there was more than is read.
    pub(super) is_cut: bool,
}

/// Runs commands that only read, at the root of one work tree, until its time is up.
#[derive(Debug)]
pub struct ReadOnlyGit {
    pub(super) tree: WorkTree,
    root: PathBuf,
    /// Keys of the filters that the configuration defines.
    filters: Vec<OsString>,
    limit: Duration,
    ends_at: Instant,
}

impl ReadOnlyGit {
    /// All commands together may take `limit`.
    pub fn at(tree: &WorkTree, limit: Duration) -> Result<Self, GitError> {
        let ends_at = Instant::now() + limit;
        let mut git =
            Self { tree: tree.clone(), root: tree.root.clone(), filters: Vec::new(), limit, ends_at };
        git.filters = git.filter_keys()?;
        Ok(git)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The output of git; an error if it fails.
    pub(super) fn ask(&self, args: &[&str]) -> Result<GitOutput, GitError> {
        self.run(args, 0, Vec::new())
    }

    /// The same, if a part of the output would tell something else: an error if there is more than is read.
    pub(super) fn ask_for_all(&self, args: &[&str]) -> Result<GitOutput, GitError> {
        let output = self.ask(args)?;
        if output.is_cut {
            let command = args.first().copied().unwrap_or_default().to_string();
            let said = format!("it printed more than {} MiB", MAX_OUTPUT / (1024 * 1024));
            return Err(GitError::Failed { command, said });
        }
        Ok(output)
    }

    /// The same for commands that read what to look up from standard input.
    pub(super) fn ask_about(&self, args: &[&str], input: Vec<u8>) -> Result<GitOutput, GitError> {
        self.run(args, 0, input)
    }

    /// The same for commands that end with 1 if they found nothing.
    pub(super) fn ask_or_none(&self, args: &[&str]) -> Result<GitOutput, GitError> {
        self.run(args, 1, Vec::new())
    }

    /// The keys of filters in the configuration: `filter.lfs.clean`. They would run when files are compared.
    fn filter_keys(&self) -> Result<Vec<OsString>, GitError> {
        const PATTERN: &str = r"^filter\..*\.(clean|process|smudge|required)$";
        let listed = self.ask_or_none(&["config", "-z", "--name-only", "--get-regexp", PATTERN])?;
        let keys = listed.bytes.split(|byte| *byte == 0).filter(|key| !key.is_empty());
        Ok(keys.map(|key| OsStr::from_bytes(key).to_os_string()).collect())
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = reading_command(&self.root);
        command.env("GIT_CONFIG_COUNT", self.filters.len().to_string());
        for (index, key) in self.filters.iter().enumerate() {
            let value = if key.as_bytes().ends_with(b".required") { "false" } else { "" };
            command.env(format!("GIT_CONFIG_KEY_{index}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{index}"), value);
        }
        // A group of its own, so that what git starts ends with it.
        command.args(args).process_group(0);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Also accepts the exit code `other`.
    fn run(&self, args: &[&str], other: i32, input: Vec<u8>) -> Result<GitOutput, GitError> {
        let name = args.first().copied().unwrap_or_default().to_string();
        let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
        let mut child = self.command(args).stdin(stdin).spawn().map_err(GitError::NotRun)?;
        if let Some(mut stdin) = child.stdin.take() {
            // If git ends early, its exit code tells.
            std::thread::spawn(move || drop(stdin.write_all(&input)));
        }
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(GitError::Failed { command: name, said: "it has no output".to_string() });
        };
        let said = read_apart(stderr, MAX_ERROR);
        let output = read_apart(stdout, MAX_OUTPUT + 1);
        let left = self.ends_at.saturating_duration_since(Instant::now());
        let Ok(mut bytes) = output.recv_timeout(left) else {
            end(&mut child);
            return Err(GitError::TooSlow { command: name, limit: self.limit });
        };
        let is_cut = bytes.len() as u64 > MAX_OUTPUT;
        if is_cut {
            end(&mut child);
            bytes.truncate(MAX_OUTPUT as usize);
            return Ok(GitOutput { bytes, is_cut });
        }
        // It closed its output, so it is about to end.
        let status = child.wait().map_err(GitError::NotRun)?;
        if status.success() || status.code() == Some(other) {
            return Ok(GitOutput { bytes, is_cut });
        }
        let said = said.recv_timeout(left).unwrap_or_default();
        let text = String::from_utf8_lossy(&said);
        let line = text.lines().next().unwrap_or("no output").trim_start_matches("fatal: ");
        Err(GitError::Failed { command: name, said: line.to_string() })
    }
}

/// Reads in another thread, at most `most` bytes, and then stops reading.
fn read_apart(stream: impl Read + Send + 'static, most: u64) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read until an error is all that there is.
        drop(stream.take(most).read_to_end(&mut bytes));
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
