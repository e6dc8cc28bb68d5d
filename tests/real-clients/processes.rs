//! The processes of a scene: those that were started with its home.

use std::fs;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Process {
    pub pid: i32,
    pub line: String,
}

impl Process {
    fn runs(&self, program: &Path) -> bool {
        fs::read_link(format!("/proc/{}/exe", self.pid)).is_ok_and(|path| path == program)
    }

    /// Its resident memory, in KiB.
    pub fn resident(&self) -> u64 {
        self.status("VmRSS:")
    }

    fn status(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or_default()
    }

    /// The most that it ever had in memory, in KiB.
    pub fn most_resident(&self) -> u64 {
        self.status("VmHWM:")
    }

    /// Its parent.
    pub fn parent(&self) -> Option<i32> {
        i32::try_from(self.status("PPid:")).ok()
    }

    /// Whether it has ended, reaped or not. An ending process has no environment any more.
    pub fn is_gone(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        let state = stat.rsplit(") ").next().unwrap_or_default();
        state.is_empty() || state.starts_with(['Z', 'X'])
    }

    pub fn end(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid), signal).ok();
    }
}

/// All processes that were started with that home. Zombies are left out, because their environment is gone.
pub fn of(home: &Path) -> Vec<Process> {
    started_with("HOME", &home.display().to_string())
}

/// All processes that were started with that variable.
pub fn started_with(name: &str, value: &str) -> Vec<Process> {
    let variable = format!("{name}={value}");
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_of = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
    };
    let line = |pid: i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).trim_end_matches('\0').replace('\0', " ")
    };
    pids.filter(is_of).map(|pid| Process { pid, line: line(pid) }).collect()
}

/// All processes of `msg`, and the shells that were started for it.
pub fn of_ours(home: &Path) -> Vec<Process> {
    let is_for_us = |process: &Process| [" hook ", " waiter "].iter().any(|word| process.line.contains(word));
    let is_ours = |process: &Process| {
        process.runs(&home.join(".local/bin/msg")) || process.line.contains("msg") && is_for_us(process)
    };
    of(home).into_iter().filter(is_ours).collect()
}

/// The processes of the client and of what it started, except ours.
pub fn of_client(home: &Path) -> Vec<Process> {
    let ours = of_ours(home);
    of(home).into_iter().filter(|process| !ours.contains(process)).collect()
}

/// Our MCP servers.
pub fn servers(home: &Path) -> Vec<Process> {
    let msg = home.join(".local/bin/msg");
    of(home).into_iter().filter(|process| process.runs(&msg) && process.line.ends_with(" mcp")).collect()
}

/// The waiters beside idle sessions.
pub fn waiters(home: &Path) -> Vec<Process> {
    let msg = home.join(".local/bin/msg");
    of(home).into_iter().filter(|process| process.runs(&msg) && process.line.contains(" waiter ")).collect()
}
