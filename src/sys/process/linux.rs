//! Information on processes from `/proc`.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use nix::errno::Errno;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::{SysconfVar, sysconf};

use super::ProcessDetails;
use crate::domain::process::ProcessStatus;
use crate::domain::{Pid, ProcessTraits};
use crate::sys::clock;

/// Room for the variables of most processes.
const ENVIRONMENT: usize = 16 * 1024;

pub(super) fn boot_id() -> Option<String> {
    line("/proc/sys/kernel/random/boot_id")
}

pub(super) fn machine_id() -> Option<String> {
    line("/etc/machine-id").or_else(|| line("/var/lib/dbus/machine-id"))
}

pub(super) fn pid_ns() -> Option<String> {
    fs::read_link("/proc/self/ns/pid").ok().map(|link| link.to_string_lossy().into_owned())
}

/// The number of the initial pid namespace is fixed in the kernel (`PROC_PID_INIT_INO`).
pub(super) fn is_first_namespace(pid_ns: Option<&str>) -> bool {
    pid_ns == Some("pid:[4026531836]")
}

/// The content of a file with one short line.
fn line(path: &str) -> Option<String> {
    let mut line = [0; 128];
    let length = fs::File::open(path).ok()?.read(&mut line).ok()?;
    let text = std::str::from_utf8(&line[..length]).ok()?.trim();
    (!text.is_empty()).then(|| text.to_string())
}

pub(super) fn process_status(pid: Pid) -> ProcessStatus {
    match read_stat(pid) {
        Some(stat) if stat.zombie => ProcessStatus::Zombie,
        Some(stat) => ProcessStatus::Running { start_ticks: stat.start_ticks },
        None => ProcessStatus::Absent,
    }
}

pub(super) fn details(pid: Pid) -> Option<ProcessDetails> {
    let stat = read_stat(pid)?;
    let exe = fs::read_link(format!("/proc/{pid}/exe")).ok().map(|path| path.to_string_lossy().into_owned());
    let cmdline = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let args = cmdline
        .split(|&byte| byte == 0)
        .filter(|arg| !arg.is_empty())
        .map(|arg| String::from_utf8_lossy(arg).into_owned())
        .collect();
    Some(ProcessDetails {
        pid,
        parent: Pid::new(stat.parent).ok(),
        leader: Pid::new(stat.session).ok(),
        has_terminal: stat.terminal != 0,
        start_ticks: stat.start_ticks,
        is_zombie: stat.zombie,
        look: ProcessTraits { comm: stat.comm, exe, args },
    })
}

pub(super) fn is_stopped(pid: Pid) -> bool {
    read_stat(pid).is_some_and(|stat| stat.stopped)
}

/// The variables that it was started with, each followed by a zero byte. Variables that it set later are not included.
pub(super) fn first_environment(pid: Pid) -> Option<Vec<u8>> {
    let mut file = fs::File::open(format!("/proc/{pid}/environ")).ok()?;
    // The file reports no length, and without room it would be read in small pieces.
    let mut variables = Vec::with_capacity(ENVIRONMENT);
    file.read_to_end(&mut variables).ok()?;
    Some(variables)
}

/// Whether this process has children, ended ones that nobody has waited for included. `true` if unknown.
pub(super) fn has_children() -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    waitid(Id::All, flags) != Err(Errno::ECHILD)
}

/// Its working directory; `None` if it belongs to another user.
pub(super) fn working_directory(pid: Pid) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// Every process that can be seen.
pub(super) fn pids() -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| Pid::new(name.parse().ok()?).ok()).collect()
}

pub(super) fn parent(pid: Pid) -> Option<Pid> {
    Pid::new(read_stat(pid)?.parent).ok()
}

pub(super) fn owner(pid: Pid) -> Option<u32> {
    fs::metadata(format!("/proc/{pid}")).ok().map(|metadata| metadata.uid())
}

pub(super) fn started_at(pid: Pid) -> Option<Timestamp> {
    let stat = read_stat(pid)?;
    let ticks_per_second = u64::try_from(sysconf(SysconfVar::CLK_TCK).ok()??).ok()?;
    // Start times count from boot, and so does the uptime.
    let started_after_boot = stat.start_ticks as f64 / ticks_per_second as f64;
    let age = SignedDuration::try_from_secs_f64(uptime()?.as_secs_f64() - started_after_boot).ok()?;
    clock::from_system(clock::machine_time()).checked_sub(age).ok()
}

/// The time since boot.
pub(super) fn uptime() -> Option<Duration> {
    let text = fs::read_to_string("/proc/uptime").ok()?;
    Duration::try_from_secs_f64(text.split_whitespace().next()?.parse().ok()?).ok()
}

/// The CPU time that it has used so far.
pub(super) fn cpu_time(pid: Pid) -> Option<Duration> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = line.rsplit(") ").next()?.split(' ').skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    let per_second = u64::try_from(sysconf(SysconfVar::CLK_TCK).ok()??).ok().filter(|it| *it > 0)?;
    Some(Duration::from_millis(ticks.saturating_mul(1000) / per_second))
}

struct Stat {
    comm: String,
    zombie: bool,
    stopped: bool,
    parent: i64,
    session: i64,
    terminal: i64,
    start_ticks: u64,
}

/// Reads the one line of `/proc/<pid>/stat`. The kernel generates it on reading, so the file reports no length.
fn read_stat(pid: Pid) -> Option<Stat> {
    let mut line = [0; 1024];
    let length = fs::File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut line).ok()?;
    parse_stat(&line[..length])
}

/// Parses `pid (comm) state ppid pgrp session tty_nr …`. `comm` may contain spaces and parentheses.
fn parse_stat(bytes: &[u8]) -> Option<Stat> {
    let open = bytes.iter().position(|&byte| byte == b'(')?;
    let close = bytes.iter().rposition(|&byte| byte == b')')?;
    let comm = String::from_utf8_lossy(bytes.get(open + 1..close)?).into_owned();
    let rest = std::str::from_utf8(bytes.get(close + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let terminal = fields.next()?.parse().ok()?;
    let start_ticks = fields.nth(14)?.parse().ok()?;
    let (zombie, stopped) = (matches!(state, "Z" | "X" | "x"), matches!(state, "T" | "t"));
    Some(Stat { comm, zombie, stopped, parent, session, terminal, start_ticks })
}

#[cfg(test)]
mod tests {
    use super::parse_stat;

    #[test]
    fn a_name_can_imitate_the_fields_behind_it() {
        let line = b"42 (a) Z 1 (b) S 7 42 40 34816 42 0 0 0 0 0 0 0 0 0 20 0 1 0 987654 1 2 3\n";
        let stat = parse_stat(line).unwrap();
        assert_eq!(stat.comm, "a) Z 1 (b");
        assert!(!stat.zombie);
        assert_eq!((stat.parent, stat.session, stat.terminal, stat.start_ticks), (7, 40, 34816, 987_654));
        assert!(parse_stat(b"42 (sh").is_none());
        assert!(parse_stat(b")(").is_none());
    }
}
