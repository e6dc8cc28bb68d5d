//! Opens a file in the user's editor, on this terminal.

use std::io;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::environment::variable;
use super::signals::TerminalLoan;

#[derive(Debug, thiserror::Error)]
pub enum EditorError {
    #[error("no editor is set: `export EDITOR=vi`")]
    NotSet,
    #[error("`{0}` cannot be started: {1}")]
    Start(String, #[source] io::Error),
    #[error("`{0}` cannot be waited for: {1}")]
    Wait(String, #[source] Errno),
    #[error("`{0}` ended with code {1}")]
    Failed(String, i32),
}

/// Opens the file in `$VISUAL`, else `$EDITOR`, and waits until it is closed. The variable may have options, as for git.
pub fn open(path: &str) -> Result<(), EditorError> {
    let editor = variable("VISUAL").or_else(|| variable("EDITOR")).ok_or(EditorError::NotSet)?;
    let editor = editor.trim().to_string();
    if editor.is_empty() {
        return Err(EditorError::NotSet);
    }
    let _lent = TerminalLoan::begin();
    let line = format!("exec {editor} \"$@\"");
    let started = Command::new("sh").args(["-c", &line, "sh", path]).spawn();
    let child = started.map_err(|error| EditorError::Start(editor.clone(), error))?;
    let pid = Pid::from_raw(child.id().cast_signed());
    loop {
        match waitpid(pid, Some(WaitPidFlag::WUNTRACED)) {
            Ok(WaitStatus::Exited(_, 0) | WaitStatus::Signaled(..)) => return Ok(()),
            Ok(WaitStatus::Exited(_, code)) => return Err(EditorError::Failed(editor, code)),
            // The shell does not know that it stopped, so nothing would ever continue it.
            Ok(WaitStatus::Stopped(..)) => {
                kill(pid, Signal::SIGCONT).map_err(|error| EditorError::Wait(editor.clone(), error))?;
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(EditorError::Wait(editor, error)),
        }
    }
}
