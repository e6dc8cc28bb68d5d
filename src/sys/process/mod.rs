//! Processes: which ones are running, since when, and their parents.
//!
//! On Linux this uses `/proc`; elsewhere `ps`, with the same results (slower by a process start). The `ps` half is
//! compiled and tested on Linux, too.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
mod ps;

#[cfg(target_os = "linux")]
use linux as imp;
#[cfg(not(target_os = "linux"))]
use ps as imp;

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use nix::errno::Errno;
use nix::time::{ClockId, clock_gettime};

use crate::domain::process::{ProcessStatus, is_reused, liveness_of};
use crate::domain::{Liveness, MachineTime, Pid, PidScope, ProcessIdentity, ProcessTraits, RecordedProcess};

use super::clock;

/// A running process, as far as it can be examined.
#[derive(Clone, Debug)]
pub struct ProcessDetails {
    pub pid: Pid,
    pub parent: Option<Pid>,
    /// The leader of its session: for a process in a terminal, the login shell there.
    pub leader: Option<Pid>,
    pub has_terminal: bool,
    pub start_ticks: u64,
    pub is_zombie: bool,
    pub look: ProcessTraits,
}

/// The machine, boot and pid namespace that this process runs in.
pub fn pid_scope() -> &'static PidScope {
    static PLACE: OnceLock<PidScope> = OnceLock::new();
    PLACE.get_or_init(|| PidScope { machine_id: imp::machine_id(), ..boot().clone() })
}

/// The same without the machine, which need not be queried if the boot is the same.
fn boot() -> &'static PidScope {
    static BOOT: OnceLock<PidScope> = OnceLock::new();
    BOOT.get_or_init(|| PidScope { boot_id: imp::boot_id(), machine_id: None, pid_ns: imp::pid_ns() })
}

/// The time since the machine started. Setting the wall clock does not move it, and on Linux it stands still while the
/// machine is suspended, when nobody could answer. `None` where the system does not tell one start of the machine from another.
pub fn uptime() -> Option<MachineTime> {
    let boot = pid_scope().boot_id.clone()?;
    let passed = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).ok()?);
    Some(MachineTime { boot, millis: passed.as_millis().try_into().ok()? })
}

/// Whether process 1 is the first of the machine. In a pid namespace of its own it is only the first in there.
pub fn sees_init_process() -> bool {
    imp::is_first_namespace(boot().pid_ns.as_deref())
}

/// Details of a process; `None` if there is none or we lack permission.
pub fn details(pid: Pid) -> Option<ProcessDetails> {
    imp::details(pid)
}

/// The pid of this process.
pub fn own_pid() -> Pid {
    #[expect(clippy::expect_used, reason = "the kernel gave us this pid")]
    Pid::new(i64::from(std::process::id())).expect("our own pid is a pid")
}

/// The pid of the process that started this one; `None` if it is outside of our pid namespace.
pub fn parent_pid() -> Option<Pid> {
    Pid::new(nix::unistd::getppid().as_raw().into()).ok()
}

/// The identity of the running process `pid`; `None` if there is none or it has ended.
pub fn identify(pid: Pid) -> Option<ProcessIdentity> {
    match imp::process_status(pid) {
        ProcessStatus::Running { start_ticks } => {
            Some(ProcessIdentity { pid, start_ticks, place: pid_scope().clone() })
        }
        ProcessStatus::Absent | ProcessStatus::Zombie | ProcessStatus::Hidden => None,
    }
}

/// Whether the recorded process is alive, gone, or cannot be checked.
pub fn liveness(recorded: &RecordedProcess) -> Liveness {
    let is_of_this_boot = match recorded {
        RecordedProcess::Pinned(identity) => {
            identity.place.boot_id.is_some() && identity.place.boot_id == boot().boot_id
        }
        RecordedProcess::Bare { .. } => true,
    };
    let liveness = liveness_of(recorded, if is_of_this_boot { boot() } else { pid_scope() }, sight);
    match recorded {
        RecordedProcess::Bare { pid, ran_at: Some(ran_at) }
            if liveness == Liveness::Alive && has_gone_to_another(*pid, *ran_at) =>
        {
            Liveness::Gone
        }
        _ => liveness,
    }
}

/// Whether the pid was certainly reused since `ran_at`, when a process of pi-messenger had it.
fn has_gone_to_another(pid: Pid, ran_at: Timestamp) -> bool {
    let may_be_its = || details(pid).is_none_or(|details| details.look.may_host_pi_messenger());
    started_at(pid).is_some_and(|started| is_reused(ran_at, started, may_be_its))
}

/// Whether a process with this id exists, and `written` is after the last boot. Cheap enough for very many processes.
/// `false` proves nothing: the process may be on another machine.
pub fn has_run_since(pid: Pid, written: SystemTime) -> bool {
    static BOOTED: OnceLock<Option<SystemTime>> = OnceLock::new();
    let booted = *BOOTED.get_or_init(|| clock::machine_time().checked_sub(imp::uptime()?));
    let is_there = || {
        let answer = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid.get()), None);
        matches!(answer, Ok(()) | Err(Errno::EPERM))
    };
    booted.is_some_and(|booted| written > booted) && is_there()
}

/// When a running process started, by the present wall clock.
pub fn started_at(pid: Pid) -> Option<Timestamp> {
    imp::started_at(pid)
}

/// Whether it is in the foreground of its terminal. `false` if unknown.
pub fn is_in_foreground(pid: Pid) -> bool {
    groups_of(pid).is_some_and(|(own, front)| own == front)
}

/// The first process of the group that is in the foreground of its terminal. `None` if it has no terminal, or that is
/// unknown.
pub fn foreground_of(pid: Pid) -> Option<Pid> {
    groups_of(pid).and_then(|(_, front)| Pid::new(front).ok())
}

/// Its process group, and the one in the foreground of its terminal.
fn groups_of(pid: Pid) -> Option<(i64, i64)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit(") ").next()?.split(' ').collect();
    Some((fields.get(2)?.parse().ok()?, fields.get(5)?.parse().ok()?))
}

/// Whether it is stopped (SIGSTOP). `false` if unknown.
pub fn is_stopped(pid: Pid) -> bool {
    imp::is_stopped(pid)
}

/// Whether it is between `fork` and the end of `exec`, when it has neither arguments nor variables yet. `false` if
/// unknown.
pub fn is_being_started(pid: Pid) -> bool {
    imp::details(pid).is_some_and(|details| !details.is_zombie && details.look.args.is_empty())
}

/// Whether the process was started with that variable set to that value. `false` if unknown.
pub fn was_started_with(pid: Pid, name: &str, value: &str) -> bool {
    let wanted = format!("{name}={value}");
    imp::first_environment(pid)
        .is_some_and(|all| all.split(|&byte| byte == 0).any(|one| one == wanted.as_bytes()))
}

/// What a variable was set to when the process was started. `None` if it was not set, or that is unknown.
pub fn first_value(pid: Pid, name: &str) -> Option<String> {
    let all = imp::first_environment(pid)?;
    let value = |one: &[u8]| {
        let rest = one.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        Some(String::from_utf8_lossy(rest).into_owned())
    };
    all.split(|&byte| byte == 0).find_map(value)
}

/// The processes of this user that were started with that variable set to that value. Where variables of processes
/// can't be read, none are found.
pub fn started_with(name: &str, value: &str) -> Vec<Pid> {
    imp::pids().into_iter().filter(|pid| was_started_with(*pid, name, value)).collect()
}

/// Whether this process has children, ended ones that nobody has waited for included. `true` if unknown.
pub fn has_children() -> bool {
    imp::has_children()
}

/// Another program of this user that works in the directory, with its name. Where working directories of processes
/// can't be seen, none is found. Commands of ours don't count: they end soon, or a shell in the directory started them.
pub fn program_inside(dir: &Path) -> Option<(Pid, String)> {
    let dir = fs_err::canonicalize(dir).ok()?;
    let is_inside = |pid: &Pid| imp::working_directory(*pid).is_some_and(|at| at.starts_with(&dir));
    let own = imp::details(own_pid()).and_then(|own| own.look.exe);
    let found = imp::pids().into_iter().filter(is_inside).filter_map(|pid| Some((pid, imp::details(pid)?)));
    let mut others = found.filter(|(_, details)| !details.is_zombie && details.look.exe != own);
    others.next().map(|(pid, details)| (pid, details.look.comm))
}

/// The children of a process, their children, and so on, without those that are left out and theirs.
pub fn descendants_but(ancestor: Pid, is_left_out: impl Fn(Pid) -> bool) -> Vec<Pid> {
    let parents: Vec<(Pid, Pid)> =
        imp::pids().into_iter().filter_map(|pid| Some((pid, imp::parent(pid)?))).collect();
    let mut found = vec![ancestor];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        let children =
            parents.iter().filter(|(pid, of)| *of == parent && !found.contains(pid) && !is_left_out(*pid));
        let children: Vec<Pid> = children.map(|(pid, _)| *pid).collect();
        found.extend(children);
        next += 1;
    }
    found.split_off(1)
}

/// The CPU time that a process has used so far.
pub fn cpu_time(pid: Pid) -> Option<Duration> {
    imp::cpu_time(pid)
}

/// The user id that `pid` runs as.
pub fn owner(pid: Pid) -> Option<u32> {
    imp::owner(pid)
}

fn sight(pid: Pid) -> ProcessStatus {
    match imp::process_status(pid) {
        // `/proc` may be mounted so that processes of other users are hidden. The kernel still answers for the pid.
        ProcessStatus::Absent => match nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid.get()), None) {
            Err(Errno::ESRCH) => ProcessStatus::Absent,
            Err(_) => ProcessStatus::Hidden,
            // It can be signalled, so we may examine it. One that has just started is found now; one that is just
            // ending counts as hidden, and is gone at the next check.
            Ok(()) => match imp::process_status(pid) {
                ProcessStatus::Absent => ProcessStatus::Hidden,
                seen => seen,
            },
        },
        seen => seen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_alive_and_so_is_pid_one() {
        let me = identify(own_pid()).unwrap();
        assert_eq!(liveness(&RecordedProcess::Pinned(me)), Liveness::Alive);
        assert_eq!(liveness(&RecordedProcess::bare(Pid::new(1).unwrap())), Liveness::Alive);
    }

    #[test]
    fn a_child_that_ended_is_gone_before_and_after_it_is_reaped() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let pid = Pid::new(child.id().into()).unwrap();
        let recorded = RecordedProcess::Pinned(identify(pid).unwrap());
        assert_eq!(liveness(&recorded), Liveness::Alive);
        child.kill().unwrap();
        while !matches!(imp::process_status(pid), ProcessStatus::Zombie) {
            std::thread::yield_now();
        }
        assert_eq!(liveness(&recorded), Liveness::Gone, "a zombie");
        assert_eq!(liveness(&RecordedProcess::bare(pid)), Liveness::Gone, "a zombie, by its bare pid");
        child.wait().unwrap();
        assert_eq!(liveness(&recorded), Liveness::Gone, "reaped");
    }

    #[test]
    fn a_pid_that_went_to_another_process_proves_death_unless_that_may_be_pi() {
        use std::os::unix::process::CommandExt;
        let long_ago = "2020-01-01T00:00:00Z".parse().ok();
        for (name, expected) in
            [("sleep", Liveness::Gone), ("pi", Liveness::Alive), ("node", Liveness::Alive)]
        {
            let mut child = std::process::Command::new("sleep").arg0(name).arg("600").spawn().unwrap();
            let pid = Pid::new(child.id().into()).unwrap();
            // The arguments appear last, a moment after the program itself.
            while details(pid).unwrap().look.args.first().map(String::as_str) != Some(name) {
                std::thread::yield_now();
            }
            assert_eq!(liveness(&RecordedProcess::Bare { pid, ran_at: long_ago }), expected, "{name}");
            let now = Some(super::super::clock::from_system(super::super::clock::machine_time()));
            assert_eq!(liveness(&RecordedProcess::Bare { pid, ran_at: now }), Liveness::Alive, "{name}");
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_start_lies_between_the_clock_readings_around_it() {
        let clock_now = || super::super::clock::from_system(super::super::clock::machine_time());
        let before = clock_now();
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let after = clock_now();
        let started = started_at(Pid::new(child.id().into()).unwrap()).unwrap();
        let tick = jiff::SignedDuration::from_millis(20);
        assert!(before - tick <= started && started <= after + tick, "{before} {started} {after}");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Compares the implementation for other systems with this one.
    #[test]
    #[cfg(target_os = "linux")]
    fn ps_says_the_same_as_proc() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let pid = Pid::new(child.id().into()).unwrap();
        // Between fork and exec the child still looks like us.
        while linux::details(pid).unwrap().look.comm != "sleep" {
            std::thread::yield_now();
        }
        let (theirs, ours) = (ps::details(pid).unwrap(), linux::details(pid).unwrap());
        assert_eq!(theirs.parent, ours.parent);
        assert_eq!(theirs.leader, ours.leader);
        assert_eq!(theirs.is_zombie, ours.is_zombie);
        assert_eq!(theirs.has_terminal, ours.has_terminal);
        assert_eq!(theirs.look.args, ours.look.args);
        assert_eq!(ps::owner(pid), linux::owner(pid));
        assert!(!ps::is_stopped(pid) && !linux::is_stopped(pid));
        let apart = ps::started_at(pid).unwrap().duration_since(linux::started_at(pid).unwrap()).abs();
        assert!(apart <= jiff::SignedDuration::from_secs(2), "{apart}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(ps::process_status(pid), ProcessStatus::Absent);
    }
}
