//! Finding and ending what a process has started.

use nix::sys::signal::{Signal, kill, killpg};

use crate::domain::Pid;
use crate::sys::{detached, process};

/// Every descendant of this process that is alive, but for supervisors of other runs, tmux servers that `msg` started, and
/// what those started: they belong to nobody but themselves.
pub fn own_descendants() -> Vec<Pid> {
    // Without a child there is no descendant, and nobody has to look at every process of the machine.
    if !process::has_children() {
        return Vec::new();
    }
    let is_alive = |pid: &Pid| process::identify(*pid).is_some();
    process::descendants_but(process::own_pid(), detached::is_independent)
        .into_iter()
        .filter(is_alive)
        .collect()
}

/// Signals the group of `leader` and every descendant of ours. One that has just ended is no failure.
pub(super) fn signal_all(leader: Option<Pid>, signal: Signal) {
    if let Some(leader) = leader {
        let _ = killpg(nix::unistd::Pid::from_raw(leader.get()), signal);
    }
    signal_descendants(signal);
}

/// Signals every descendant of ours.
pub fn signal_descendants(signal: Signal) {
    own_descendants().into_iter().for_each(|pid| signal_one(pid, signal));
}

/// Signals a process that was found a moment ago. One that has just ended is no failure. One that is just being started
/// may become one that belongs to nobody but itself: it is left until the next look.
pub fn signal_one(pid: Pid, signal: Signal) {
    if !process::is_being_started(pid) && !detached::is_independent(pid) {
        let _ = kill(nix::unistd::Pid::from_raw(pid.get()), signal);
    }
}
