//! The ancestors of this process, and which of them hosts an agent.

use crate::domain::{Harness, Pid, ProcessIdentity};
use crate::sys::process::{self, ProcessDetails};
use crate::sys::test_switches;
use crate::sys::tmux::own_servers::is_own_server;

use super::recognise;

/// The longest chain of ancestors that is followed.
const MAX_DEPTH: usize = 64;

/// The ancestors of this process, nearest first, up to and including the nearest harness. Processes beyond it don't
/// matter. Neither do those above a tmux server that `msg` started: a person works in it, whoever made it start.
pub fn ancestors() -> Vec<ProcessDetails> {
    walk().processes
}

/// The ancestors of this process.
#[derive(Debug)]
pub struct Ancestry {
    /// As [`ancestors`] returns them.
    pub processes: Vec<ProcessDetails>,
    /// It ends at a harness, at a tmux server of ours or at the first process of the machine. In a sandbox or a container with its own pid
    /// namespace, the process that started it cannot be seen.
    pub is_complete: bool,
}

/// The same as [`ancestors`], and whether that is all of them.
pub fn walk() -> Ancestry {
    let end = test_switches::value(test_switches::ANCESTRY_END).and_then(|text| text.parse().ok());
    let mut processes = Vec::new();
    let mut next = process::parent_pid();
    while let Some(pid) = next {
        if Some(pid.get()) == end {
            let is_complete = test_switches::value(test_switches::ANCESTRY_HIDDEN).is_none();
            return Ancestry { processes, is_complete };
        }
        let Some(details) = process::details(pid).filter(|_| processes.len() < MAX_DEPTH) else {
            return Ancestry { processes, is_complete: false };
        };
        if is_own_server(&details) {
            return Ancestry { processes, is_complete: true };
        }
        let (parent, is_harness) = (details.parent, recognise(&details.look).is_some());
        processes.push(details);
        if is_harness {
            return Ancestry { processes, is_complete: true };
        }
        next = parent;
    }
    Ancestry { processes, is_complete: process::sees_init_process() }
}

/// All ancestors of this process, nearest first: those above a harness too.
pub fn all_ancestors() -> Vec<Pid> {
    let end = test_switches::value(test_switches::ANCESTRY_END).and_then(|text| text.parse().ok());
    let all = above(process::own_pid()).into_iter().skip(1);
    all.take_while(|pid| Some(pid.get()) != end).collect()
}

/// That process and its ancestors, nearest first, up to a tmux server that `msg` started. If a worker made it start, it is
/// below the supervisor of that worker, but what runs in its windows is not.
pub fn above(pid: Pid) -> Vec<Pid> {
    let mut above = Vec::new();
    let mut next = Some(pid);
    while let Some(pid) = next.filter(|_| above.len() < MAX_DEPTH) {
        let details = process::details(pid);
        if details.as_ref().is_some_and(is_own_server) {
            break;
        }
        above.push(pid);
        next = details.and_then(|details| details.parent);
    }
    above
}

/// The harness that a process is recognised as.
pub fn harness_of(pid: Pid) -> Option<Harness> {
    let (harness, _) = recognise(&process::details(pid)?.look)?;
    Some(harness)
}

/// The long-lived process whose lifetime is the agent's.
#[derive(Clone, Debug)]
pub struct Host {
    pub process: ProcessIdentity,
    pub harness: Harness,
    /// Why this process was chosen, for `whoami -v`.
    pub why: String,
}

/// The nearest harness above this process, otherwise the login shell of the terminal. Never this process itself.
pub fn find_host(ancestors: &[ProcessDetails]) -> Option<Host> {
    nearest_harness(ancestors).or_else(|| login_shell(ancestors))
}

/// The nearest ancestor that is a harness.
pub fn nearest_harness(ancestors: &[ProcessDetails]) -> Option<Host> {
    ancestors.iter().find_map(|details| {
        let (harness, sign) = recognise(&details.look)?;
        let why = format!("process {} is {harness}: {sign}", details.pid);
        Some(Host { process: identity(details), harness, why })
    })
}

fn login_shell(ancestors: &[ProcessDetails]) -> Option<Host> {
    let own = process::details(process::own_pid())?;
    let leader = own.leader.filter(|_| own.has_terminal)?;
    let shell = ancestors.iter().find(|details| details.pid == leader)?;
    let why = format!("process {leader} (`{}`) leads the session of this terminal", shell.look.comm);
    Some(Host { process: identity(shell), harness: Harness::TERMINAL, why })
}

/// The host that `--pid` names. Its harness is recognised by its name and arguments.
pub fn named_host(pid: Pid) -> Option<Host> {
    let details = process::details(pid).filter(|details| !details.is_zombie)?;
    let (harness, why) = match recognise(&details.look) {
        Some((harness, sign)) => (harness, format!("process {pid} was named, and is {harness}: {sign}")),
        None => (Harness::OTHER, format!("process {pid} (`{}`) was named", details.look.comm)),
    };
    Some(Host { process: identity(&details), harness, why })
}

fn identity(details: &ProcessDetails) -> ProcessIdentity {
    ProcessIdentity {
        pid: details.pid,
        start_ticks: details.start_ticks,
        place: process::pid_scope().clone(),
    }
}
