//! What runs between the keeper and the program: it prepares its own process, and then becomes the program.
//!
//! Without `unsafe` nothing can run in a child between `fork` and `exec`. So the keeper starts our own binary, which
//! does that and then calls `exec`.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use super::LaunchPlace;
use crate::domain::Pid;
use crate::sys::process;

/// Begins the line on standard error that says that the program could not be started.
pub const NOT_STARTED: &str = "msg: could not start ";

/// How often to look whether the process is in the foreground.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Becomes the program, in a process group of its own. On Linux the kernel kills it when the keeper dies. Returns only if
/// that fails.
pub fn launch(keeper: Pid, place: LaunchPlace, program: &[OsString]) -> io::Result<Infallible> {
    let (name, args) = program.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    if place == LaunchPlace::Apart {
        nix::unistd::setsid()?;
    }
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
    // It may have died before that was asked for.
    if process::parent_pid() != Some(keeper) {
        return Err(io::Error::other("its keeper is gone"));
    }
    if place == LaunchPlace::Front {
        wait_for_front(keeper)?;
    }
    let error = Command::new(name).args(args).exec();
    Err(io::Error::new(error.kind(), format!("`{}`: {error}", name.to_string_lossy())))
}

/// Waits until the keeper has brought our process group to the foreground of the terminal: a program that reads from it
/// before that is stopped.
fn wait_for_front(keeper: Pid) -> io::Result<()> {
    let own = nix::unistd::getpgrp();
    while nix::unistd::tcgetpgrp(io::stdin())? != own {
        if process::parent_pid() != Some(keeper) {
            return Err(io::Error::other("its keeper is gone"));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}
