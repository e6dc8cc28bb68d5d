//! The tmux servers that `msg` itself started, each in a file of this machine.
//!
//! What runs in the windows of such a server belongs to nobody above it, so the ancestors of a process are followed up to it
//! and no further. Neither the name of a process nor its variables prove what it is: whoever starts it chooses both. So the
//! server is written down by whoever started it. Whether that one did is known by a variable with a random value: a server that
//! was there before has another one.

use std::path::PathBuf;
use std::time::Duration;

use crate::domain::{Liveness, Pid, PidScope, ProcessIdentity, RecordedProcess, sha256};
use crate::sys::detached::TMUX_SERVER_VARIABLE;
use crate::sys::environment::Home;
use crate::sys::files::{self, FileError};
use crate::sys::flock::{FileLock, LockError};
use crate::sys::process::{self, ProcessDetails};
use crate::sys::random;

/// How long somebody may be starting a server: longer than tmux may take to answer.
const LIMIT: Duration = Duration::from_secs(20);
/// The end of the name of each record.
const ENDING: &str = ".server";

/// The records of all servers that this user's `msg` started here.
#[derive(Clone, Debug)]
pub struct OwnServers {
    dir: PathBuf,
}

/// A server that may be about to start. Whoever finds it running meanwhile waits until it is written down.
#[derive(Debug)]
#[must_use = "others go on without a record as soon as this is dropped"]
pub struct ServerStart {
    servers: OwnServers,
    mark: String,
    _lock: FileLock,
}

/// Whether the process is a tmux server that `msg` started. People may have windows in it, whoever made it start.
pub fn is_own_server(details: &ProcessDetails) -> bool {
    let may_be = details.look.comm.starts_with("tmux")
        && process::first_value(details.pid, TMUX_SERVER_VARIABLE).is_some();
    may_be && Home::find().is_ok_and(|home| OwnServers::of(&home).has(details))
}

impl OwnServers {
    pub fn of(home: &Home) -> Self {
        Self { dir: home.machine_state().join("tmux") }
    }

    /// To be called before a server is started, which gets the mark as the value of its variable.
    pub fn start_one(&self) -> Result<ServerStart, LockError> {
        files::create_dir(&self.dir)?;
        let lock = FileLock::acquire(&self.lock_path(), LIMIT)?;
        Ok(ServerStart { servers: self.clone(), mark: random::uuid().simple().to_string(), _lock: lock })
    }

    fn lock_path(&self) -> PathBuf {
        self.dir.join("starting.lock")
    }

    fn path(&self, text: &str) -> PathBuf {
        self.dir.join(format!("{}{ENDING}", &sha256(text.as_bytes())[..16]))
    }

    /// Whether the process is written down. One that can't be read is not.
    fn has(&self, details: &ProcessDetails) -> bool {
        let (pid, start_ticks) = (details.pid, details.start_ticks);
        let text = text_of(&ProcessIdentity { pid, start_ticks, place: process::pid_scope().clone() });
        let is_there = || matches!(files::read(&self.path(&text)), Ok(Some(told)) if told == text.as_bytes());
        // It may just be starting, and a program in its first window asks already.
        let has_been_written = || {
            files::exists(&self.lock_path()).unwrap_or(false)
                && FileLock::acquire(&self.lock_path(), LIMIT).is_ok()
                && is_there()
        };
        is_there() || has_been_written()
    }

    /// Removes the records of servers that are gone, and what is no record.
    fn forget_gone(&self) -> Result<(), FileError> {
        for name in files::list(&self.dir)?.into_iter().filter(|name| name.ends_with(ENDING)) {
            let path = self.dir.join(name);
            let told = files::read(&path)?.and_then(|told| String::from_utf8(told).ok());
            let identity = told.as_deref().and_then(identity_of);
            if identity.is_none_or(|its| process::liveness(&RecordedProcess::Pinned(its)) == Liveness::Gone) {
                files::remove(&path)?;
            }
        }
        Ok(())
    }
}

impl ServerStart {
    /// What the variable of the server is set to.
    pub fn server_mark(&self) -> &str {
        &self.mark
    }

    /// Writes the server down, if it was started with the mark. Otherwise it was there before, and whose it is is unknown.
    pub fn write_down(self, server: Pid) -> Result<(), FileError> {
        let Some(identity) = process::identify(server) else { return Ok(()) };
        if !process::was_started_with(server, TMUX_SERVER_VARIABLE, &self.mark) {
            return Ok(());
        }
        self.servers.forget_gone()?;
        let text = text_of(&identity);
        files::replace_beside(&self.servers.path(&text), text.as_bytes(), 0o600)
    }
}

/// The record of a process: one value on each line, none on an empty one.
fn text_of(identity: &ProcessIdentity) -> String {
    let PidScope { boot_id, machine_id, pid_ns } = &identity.place;
    let or_nothing = |value: &Option<String>| value.clone().unwrap_or_default();
    let place = [boot_id, machine_id, pid_ns].map(or_nothing).join("\n");
    format!("{}\n{}\n{place}\n", identity.pid, identity.start_ticks)
}

fn identity_of(text: &str) -> Option<ProcessIdentity> {
    let lines: Vec<&str> = text.strip_suffix('\n')?.split('\n').collect();
    let [pid, start_ticks, boot_id, machine_id, pid_ns] = lines[..] else { return None };
    let value = |line: &str| (!line.is_empty()).then(|| line.to_string());
    let place = PidScope { boot_id: value(boot_id), machine_id: value(machine_id), pid_ns: value(pid_ns) };
    Some(ProcessIdentity {
        pid: Pid::new(pid.parse().ok()?).ok()?,
        start_ticks: start_ticks.parse().ok()?,
        place,
    })
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Child, Command};

    use super::*;

    /// A process that was started with that mark.
    fn process_with(mark: &str) -> (Child, Pid) {
        let child = Command::new("sleep").arg("1000").env(TMUX_SERVER_VARIABLE, mark).spawn().unwrap();
        let pid = Pid::new(child.id().into()).unwrap();
        while process::first_value(pid, TMUX_SERVER_VARIABLE).as_deref() != Some(mark) {
            std::thread::yield_now();
        }
        (child, pid)
    }

    fn records(servers: &OwnServers) -> Vec<PathBuf> {
        let names = files::list(&servers.dir).unwrap().into_iter().filter(|name| name.ends_with(ENDING));
        names.map(|name| servers.dir.join(name)).collect()
    }

    fn end(mut child: Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn only_what_was_started_with_the_mark_is_written_down() {
        let dir = tempfile::tempdir().unwrap();
        let servers = OwnServers { dir: dir.path().join("tmux") };
        let has = |pid| servers.has(&process::details(pid).unwrap());
        let (other, other_pid) = process_with("1");
        assert!(!has(other_pid) && !servers.dir.exists(), "whoever asks makes nothing");
        let start = servers.start_one().unwrap();
        let (own, own_pid) = process_with(start.server_mark());
        start.write_down(own_pid).unwrap();
        servers.start_one().unwrap().write_down(other_pid).unwrap();
        servers.start_one().unwrap().write_down(own_pid).unwrap();
        assert!(has(own_pid) && !has(other_pid) && !has(process::own_pid()));
        let [record] = &records(&servers)[..] else { panic!("one record") };
        assert_eq!(record.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        files::replace_beside(record, b"7\n", 0o600).unwrap();
        assert!(!has(own_pid), "what is damaged proves nothing");
        end(own);
        end(other);
    }

    #[test]
    fn records_of_processes_that_are_gone_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let servers = OwnServers { dir: dir.path().join("tmux") };
        let started = || {
            let start = servers.start_one().unwrap();
            let (child, pid) = process_with(start.server_mark());
            start.write_down(pid).unwrap();
            child
        };
        let first = started();
        files::replace_beside(&servers.dir.join(format!("damaged{ENDING}")), b"x", 0o600).unwrap();
        // It may run on another machine with the same home directory.
        let elsewhere = "7\n8\nboot\nmachine\nnamespace\n";
        files::replace_beside(&servers.path(elsewhere), elsewhere.as_bytes(), 0o600).unwrap();
        end(first);
        let second = started();
        assert_eq!(records(&servers).len(), 2, "the one elsewhere, and the second");
        assert!(servers.has(&process::details(Pid::new(second.id().into()).unwrap()).unwrap()));
        end(second);
    }

    #[test]
    fn a_record_reads_back() {
        let place = PidScope { boot_id: Some("b".into()), machine_id: None, pid_ns: Some("n".into()) };
        let identity = ProcessIdentity { pid: process::own_pid(), start_ticks: 7, place };
        assert_eq!(identity_of(&text_of(&identity)), Some(identity));
        for damaged in ["", "\n", "1\n2\n", "1\n2\n3\n4\n5\n6\n", "x\n2\n3\n4\n5\n", "1\n2\n3\n4\n5"] {
            assert_eq!(identity_of(damaged), None, "{damaged:?}");
        }
    }

    /// A program in the first window asks before the server is written down.
    #[test]
    fn whoever_asks_while_it_starts_waits() {
        let dir = tempfile::tempdir().unwrap();
        let servers = OwnServers { dir: dir.path().join("tmux") };
        let start = servers.start_one().unwrap();
        let (child, pid) = process_with(start.server_mark());
        let asked = {
            let details = process::details(pid).unwrap();
            std::thread::spawn(move || servers.has(&details))
        };
        assert!(!asked.is_finished());
        start.write_down(pid).unwrap();
        assert!(asked.join().unwrap());
        end(child);
    }
}
