//! Finding and ending what a process has started.

use nix::sys::signal::{Signal, kill, killpg};

use crate::domain::Pid;
use crate::sys::process;

/// Signals the group of `leader` and every descendant of ours. One that has just ended is no failure.
pub(super) fn signal_all(leader: Pid, signal: Signal) {
    // A group whose leader was reaped may still have members; its number is not reused while it has.
    let _ = killpg(nix::unistd::Pid::from_raw(leader.get()), signal);
    for pid in process::descendants(process::own_pid()) {
        let _ = kill(nix::unistd::Pid::from_raw(pid.get()), signal);
    }
}
