//! Detached processes of our own program: they run in the background, in a session of their own and with the lowest
//! priority. Nobody waits for them.
//!
//! Without `unsafe` nothing can run in the child between `fork` and `exec`. So the starter does what [`Command`] can
//! do (streams, variables), and the child does the rest first of all ([`detach`]): it is not the leader of a process
//! group, so it may make a session of its own.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::setpriority_process;

use super::{process, program, test_switches};
use crate::domain::Pid;

/// The variable by which supervisors are known.
pub const SUPERVISOR_VARIABLE: &str = "MSG_SUPERVISOR";
/// The variable of tmux servers that `msg` started. Its value is another one for each.
pub const TMUX_SERVER_VARIABLE: &str = "MSG_TMUX_SERVER";
/// The lowest priority.
const NICE: i32 = 19;
/// The descriptors from here on are not standard streams.
const FIRST_OTHER: i32 = 3;
/// Variables about git itself and its configuration, not about one repository or one command.
const KEPT_GIT_VARIABLES: [&str; 4] =
    ["GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"];

/// Starts this program with these arguments. It inherits no input or output of ours and no variable that names a
/// repository. Its `git` fetches nothing, asks nothing and takes no lock that it can do without.
pub fn start(args: &[OsString]) -> io::Result<()> {
    let switch = test_switches::value(test_switches::BACKGROUND);
    if switch.as_deref() == Some("off") {
        return Ok(());
    }
    let mut child = command(args)?.spawn()?;
    if switch.as_deref() == Some("wait") {
        return child.wait().map(drop);
    }
    reap(child);
    Ok(())
}

/// Starts this program with these arguments as the supervisor of a run. It is marked as one, and what its starter is
/// says nothing about it. Only variables about one repository are left out.
pub fn start_supervisor(args: &[OsString], left_out: &[&str]) -> io::Result<Child> {
    let mut command = Command::new(program::to_start()?);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for (variable, _) in std::env::vars_os().filter(|(variable, _)| is_of_one_repository(variable)) {
        command.env_remove(variable);
    }
    for variable in left_out {
        command.env_remove(variable);
    }
    if let Some(step) = test_switches::value(test_switches::SUPERVISOR_CRASH_AT) {
        command.env_remove(test_switches::SUPERVISOR_CRASH_AT).env(test_switches::CRASH_AT, step);
    }
    command.env(SUPERVISOR_VARIABLE, "1").spawn()
}

/// Whether this process is the supervisor of a run. It outlives whatever started it.
pub fn is_supervisor(pid: Pid) -> bool {
    process::was_started_with(pid, SUPERVISOR_VARIABLE, "1")
}

/// Whether the process belongs to nobody but itself, whoever started it: the supervisor of a run, or a tmux server, in
/// which others may have windows.
pub fn is_independent(pid: Pid) -> bool {
    is_supervisor(pid) || process::first_value(pid, TMUX_SERVER_VARIABLE).is_some()
}

fn command(args: &[OsString]) -> io::Result<Command> {
    let mut command = Command::new(program::to_start()?);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for (variable, _) in std::env::vars_os().filter(|(variable, _)| is_left_out(variable)) {
        command.env_remove(variable);
    }
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0");
    Ok(command)
}

/// Whether a variable of git names a repository, or was set for one command.
fn is_of_one_repository(variable: &OsStr) -> bool {
    let names =
        ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE"];
    let more =
        ["GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG_PARAMETERS", "GIT_EDITOR"];
    let of_one_process = [test_switches::CRASH_AT, test_switches::STOP_AT, test_switches::PROBE];
    names.into_iter().chain(more).chain(of_one_process).any(|name| variable == name)
}

/// Whether a detached process goes without the variable.
fn is_left_out(variable: &OsStr) -> bool {
    // They count the steps of one process, or would start the next process in turn.
    let of_one_process = [test_switches::CRASH_AT, test_switches::STOP_AT, test_switches::PROBE];
    let is_git = variable.as_bytes().starts_with(b"GIT_");
    is_git && !KEPT_GIT_VARIABLES.iter().any(|kept| variable == *kept)
        || of_one_process.iter().any(|switch| variable == *switch)
}

/// Waits for the child in a thread, so that a process that lives on has no zombie. If we end first, the system reaps
/// it.
pub fn reap(mut child: Child) {
    let wait = move || drop(child.wait());
    // Without a thread there is a zombie until we end.
    drop(std::thread::Builder::new().name("reaper".to_string()).stack_size(64 * 1024).spawn(wait));
}

/// Makes this process a detached one. To be called before it has threads or open files: on Linux the priority belongs
/// to the calling thread.
///
/// Descriptors that we opened close by themselves at `exec`. But a harness may have left some of its own open in our
/// starter, and wait until they are closed.
pub fn detach() -> io::Result<()> {
    nix::unistd::setsid()?;
    setpriority_process(None, NICE)?;
    leave_inherited()
}

/// Gives this process a session of its own, and leaves behind what it inherited.
pub fn leave_session() -> io::Result<()> {
    nix::unistd::setsid()?;
    leave_inherited()
}

/// Leaves the working directory, and closes every file but the standard streams.
fn leave_inherited() -> io::Result<()> {
    std::env::set_current_dir("/")?;
    for descriptor in open_descriptors()?.into_iter().filter(|descriptor| *descriptor >= FIRST_OTHER) {
        // The one that listed them is closed already.
        nix::unistd::close(descriptor).ok();
    }
    Ok(())
}

fn open_descriptors() -> io::Result<Vec<i32>> {
    let entries = std::fs::read_dir(Path::new("/dev/fd"))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_about_one_repository_are_left_out() {
        for variable in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_CONFIG_PARAMETERS", "GIT_TRACE"] {
            assert!(is_left_out(OsStr::new(variable)), "{variable}");
        }
        assert!(is_left_out(OsStr::new(test_switches::STOP_AT)));
        for variable in ["HOME", "PATH", "XDG_STATE_HOME", "MSG_MESH", "GIT_EXEC_PATH", test_switches::NOW] {
            assert!(!is_left_out(OsStr::new(variable)), "{variable}");
        }
    }
}
