//! Runs the setup and teardown commands of a work tree, with their output in a file.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::error::RunTreeError;
use crate::sys::files::{self, FileError};

/// The most bytes of output that are kept.
const MAX_LOG: usize = 4 * 1024 * 1024;
/// How many bytes of the end of the output are returned.
const TAIL: usize = 4096;
/// How long commands that were asked to end may take.
const GRACE: Duration = Duration::from_secs(5);
const LOOK_UP: Duration = Duration::from_millis(20);

/// Commands to run in a work tree, one after the other.
#[derive(Debug)]
pub struct SetupCommands<'a> {
    /// Where they run.
    pub dir: &'a Path,
    /// Each for `sh -c`.
    pub commands: &'a [String],
    /// Added to the environment.
    pub environment: &'a [(String, OsString)],
    /// The file for their output.
    pub log: &'a Path,
    /// How long all of them together may take.
    pub limit: Duration,
}

/// How they ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum CommandsEnd {
    Done,
    /// This one failed; those after it were not run. `how` says how it ended, `tail` is the end of its output.
    Failed {
        command: String,
        how: String,
        tail: String,
    },
}

/// Runs commands until one fails. Whatever they started and left running is ended.
pub fn run_commands(setup: &SetupCommands<'_>) -> Result<CommandsEnd, RunTreeError> {
    let deadline = Instant::now() + setup.limit;
    let mut log = Vec::new();
    let mut end = CommandsEnd::Done;
    for line in setup.commands {
        log.extend_from_slice(format!("$ {line}\n").as_bytes());
        let (how, output) = run_one(setup, line, deadline)?;
        let has_room = MAX_LOG.saturating_sub(log.len());
        log.extend_from_slice(&output[..output.len().min(has_room)]);
        if output.len() > has_room {
            log.extend_from_slice(b"\n[cut: there was more output]\n");
        }
        if let Some(how) = how {
            let tail = String::from_utf8_lossy(&output[output.len().saturating_sub(TAIL)..]).into_owned();
            log.extend_from_slice(format!("[{how}]\n").as_bytes());
            end = CommandsEnd::Failed { command: line.clone(), how, tail };
            break;
        }
    }
    files::replace_beside(setup.log, &log, files::FILE_MODE)?;
    Ok(end)
}

/// How it ended (`None`: well), and its output.
fn run_one(
    setup: &SetupCommands<'_>,
    line: &str,
    deadline: Instant,
) -> Result<(Option<String>, Vec<u8>), RunTreeError> {
    let (reader, writer) = std::io::pipe().map_err(FileError::from)?;
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).current_dir(setup.dir).process_group(0).stdin(Stdio::null());
    command.envs(setup.environment.iter().map(|(name, value)| (name, value)));
    let errors = writer.try_clone().map_err(FileError::from)?;
    command.stdout(writer).stderr(errors);
    let mut child = command.spawn().map_err(RunTreeError::NotRun)?;
    // The command would keep our ends of the pipe open.
    drop(command);
    let output = read_apart(reader);
    let group = Pid::from_raw(child.id().cast_signed());
    let mut status = None;
    while status.is_none() && Instant::now() < deadline {
        status = child.try_wait().map_err(FileError::from)?;
        if status.is_none() {
            std::thread::sleep(LOOK_UP);
        }
    }
    let was_slow = status.is_none();
    if was_slow {
        let _ = killpg(group, Signal::SIGTERM);
        let grace = Instant::now() + GRACE;
        while status.is_none() && Instant::now() < grace {
            status = child.try_wait().map_err(FileError::from)?;
            std::thread::sleep(LOOK_UP);
        }
    }
    // Also what it left in the background, which would hold the pipe.
    let _ = killpg(group, Signal::SIGKILL);
    let status = match status {
        Some(status) => status,
        None => child.wait().map_err(FileError::from)?,
    };
    let output = output.recv_timeout(GRACE).unwrap_or_default();
    let how =
        if was_slow { Some(format!("ended after {} s", setup.limit.as_secs())) } else { failure(status) };
    Ok((how, output))
}

fn failure(status: ExitStatus) -> Option<String> {
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("exit code {code}")),
        (None, signal) => Some(format!("signal {}", signal.unwrap_or_default())),
    }
}

/// Reads in another thread; what is beyond the limit is read and dropped, so that the writer does not wait.
fn read_apart(mut reader: std::io::PipeReader) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // One byte more shows that it was cut.
        drop(reader.by_ref().take(MAX_LOG as u64 + 1).read_to_end(&mut bytes));
        drop(sender.send(bytes));
        drop(std::io::copy(&mut reader, &mut std::io::sink().by_ref()));
    });
    receiver
}
