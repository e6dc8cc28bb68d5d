//! Programs: this one, and those that a shell would find.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};

use super::environment::variable;
use crate::domain::Pid;

/// The file that this process runs, with links followed.
pub fn own() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// The path by which this process was started, if it was one and not just a name.
pub fn called_as() -> Option<PathBuf> {
    let path = PathBuf::from(std::env::args_os().next()?);
    if path.components().count() < 2 {
        return None;
    }
    std::path::absolute(path).ok()
}

/// The first program of that name that a shell would find, wherever it is called.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = variable("PATH")?;
    let dirs = std::env::split_paths(&path).filter(|dir| dir.is_absolute());
    dirs.map(|dir| dir.join(name)).find(|path| is_program(path))
}

/// Would a shell find this very program under that name?
pub fn is_on_path(name: &str) -> bool {
    own().is_ok_and(|own| on_path(name).is_some_and(|found| is_same(&found, &own)))
}

/// Can it be run?
pub fn is_program(path: &Path) -> bool {
    let metadata = std::fs::metadata(path);
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Do both paths lead to one file?
pub fn is_same(a: &Path, b: &Path) -> bool {
    let id = |path: &Path| std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    id(a).is_some() && id(a) == id(b)
}

/// The file that another process runs. It may be started by this path even if it was replaced meanwhile.
pub fn of_process(pid: Pid) -> Option<PathBuf> {
    let path = PathBuf::from(format!("/proc/{pid}/exe"));
    std::fs::read_link(&path).is_ok().then_some(path)
}

/// Variables of another process's environment, as it was started with them.
pub fn variables_of(pid: Pid, names: &[&str]) -> Vec<(String, String)> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let entries = environment.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok());
    let pairs = entries.filter_map(|entry| entry.split_once('='));
    pairs
        .filter(|(name, _)| names.contains(name))
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect()
}

/// Starts this program anew, to go on by itself: nobody waits for it, and it has nothing of ours open.
pub fn start_apart(args: &[String], dir: &Path) -> io::Result<()> {
    let mut command = Command::new(own()?);
    command.args(args).current_dir(dir).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop)
}

/// Runs a program to its end, which must come in time, and returns what it said. The error is what it complained of.
pub fn run_within(command: &mut Command, limit: Duration) -> Result<String, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|error| error.to_string())?;
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || drop(sender.send(child.wait_with_output())));
    let Ok(ended) = receiver.recv_timeout(limit) else {
        // It may have ended just now.
        let _ = kill(pid, Signal::SIGKILL);
        return Err(format!("it took more than {} s", limit.as_secs()));
    };
    let ended = ended.map_err(|error| error.to_string())?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    Err(last.map_or_else(|| ended.status.to_string(), |line| line.trim().to_string()))
}
