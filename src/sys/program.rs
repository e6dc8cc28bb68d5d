//! Finds executables (this one, and those on `PATH`) and runs them with a time limit.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};

use super::environment::variable;
use crate::domain::Pid;

/// On Linux: the file that this process runs, even if it has no name any more.
const RUNNING: &str = "/proc/self/exe";
/// What Linux appends to the path of a file that was removed or replaced.
const REMOVED: &str = " (deleted)";

/// The file that this process runs, with links resolved. If it was replaced since, nothing is at that path.
pub fn own() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// A path by which this very program can be started, also if its file was replaced or removed since: an upgrade must not
/// end what is at work.
pub fn to_start() -> io::Result<PathBuf> {
    let own = own()?;
    let running = Path::new(RUNNING);
    Ok(if is_same(&own, running) || !running.exists() { own } else { running.to_path_buf() })
}

/// A path by which another process can start this very program, as long as this one lives.
pub fn to_start_by_others() -> io::Result<PathBuf> {
    let path = to_start()?;
    // To the other process, that path means itself.
    Ok(if path == Path::new(RUNNING) { of_process(super::process::own_pid()).unwrap_or(path) } else { path })
}

/// A path to this program for settings that others read later. If the file was replaced, it is that of the new one.
pub fn to_record() -> io::Result<PathBuf> {
    let own = own()?;
    if is_program(&own) {
        return Ok(own);
    }
    let replaced = own.to_str().and_then(|path| path.strip_suffix(REMOVED)).map(PathBuf::from);
    let others = [replaced, called_as(), on_path("msg")].into_iter().flatten();
    others
        .into_iter()
        .find(|path| is_program(path))
        .ok_or_else(|| io::Error::other(format!("this program is gone: {} was removed", own.display())))
}

/// The path by which this process was started; `None` if it was only a name.
pub fn called_as() -> Option<PathBuf> {
    let path = PathBuf::from(std::env::args_os().next()?);
    if path.components().count() < 2 {
        return None;
    }
    std::path::absolute(path).ok()
}

/// The first program with that name on `PATH`. Relative directories are ignored, so that the result does not depend on
/// the working directory.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = variable("PATH")?;
    let dirs = std::env::split_paths(&path).filter(|dir| dir.is_absolute());
    dirs.map(|dir| dir.join(name)).find(|path| is_program(path))
}

/// Whether the first program with that name on `PATH` is this very program. Whether there is one at all: [`on_path`].
pub fn is_own_on_path(name: &str) -> bool {
    own().is_ok_and(|own| on_path(name).is_some_and(|found| is_same(&found, &own)))
}

/// Whether it is an executable file.
pub fn is_program(path: &Path) -> bool {
    let metadata = std::fs::metadata(path);
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Whether both paths lead to the same file.
pub fn is_same(a: &Path, b: &Path) -> bool {
    let id = |path: &Path| std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    id(a).is_some() && id(a) == id(b)
}

/// A path to the file that another process runs. It can be started by this path even if the file was replaced.
pub fn of_process(pid: Pid) -> Option<PathBuf> {
    let path = PathBuf::from(format!("/proc/{pid}/exe"));
    std::fs::read_link(&path).is_ok().then_some(path)
}

/// The values of these variables in the environment that another process was started with.
pub fn variables_of(pid: Pid, names: &[&str]) -> Vec<(String, String)> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let entries = environment.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok());
    let pairs = entries.filter_map(|entry| entry.split_once('='));
    pairs
        .filter(|(name, _)| names.contains(name))
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect()
}

/// Becomes another program in that directory. Returns only if that fails.
pub fn become_program(program: &Path, args: &[OsString], dir: &Path) -> io::Error {
    Command::new(program).args(args).current_dir(dir).exec()
}

/// Starts this program as a separate process. Nobody waits for it, and it inherits no input or output of ours.
pub fn start_apart(args: &[String], dir: &Path) -> io::Result<()> {
    let mut command = Command::new(to_start()?);
    command.args(args).current_dir(dir).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop)
}

/// Why a program that was run did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Start(#[from] io::Error),
    #[error("it took more than {} s", .0.as_secs())]
    TooSlow(Duration),
    /// The last line of its error output, or its exit status if it wrote none.
    #[error("{0}")]
    Failed(String),
}

/// Runs a program and returns its output as text. It is killed after `limit`.
pub fn run_within(command: &mut Command, limit: Duration) -> Result<String, RunError> {
    output_within(command, limit).map(|output| String::from_utf8_lossy(&output).into_owned())
}

/// Runs a program and returns its output. It is killed after `limit`.
pub fn output_within(command: &mut Command, limit: Duration) -> Result<Vec<u8>, RunError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn()?;
    wait_within(child, limit)
}

/// Runs a program that reads `input`, and returns its output. It is killed after `limit`.
pub fn output_with_input(command: &mut Command, input: &[u8], limit: Duration) -> Result<Vec<u8>, RunError> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        // It may end without having read all of it.
        std::thread::spawn(move || drop(stdin.write_all(&input)));
    }
    wait_within(child, limit)
}

fn wait_within(child: Child, limit: Duration) -> Result<Vec<u8>, RunError> {
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || drop(sender.send(child.wait_with_output())));
    let Ok(ended) = receiver.recv_timeout(limit) else {
        // It may have just ended.
        let _ = kill(pid, Signal::SIGKILL);
        return Err(RunError::TooSlow(limit));
    };
    let ended = ended?;
    if ended.status.success() {
        return Ok(ended.stdout);
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    Err(RunError::Failed(last.map_or_else(|| ended.status.to_string(), |line| line.trim().to_string())))
}
