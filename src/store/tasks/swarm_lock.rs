//! `swarm.lock` in pi-messenger's form: a file that exists while somebody holds the lock.
//!
//! We take it only while `mesh.lock` is held, so our processes never compete for it. An existing file is
//! pi-messenger's, or was left by a process that died. Its first line is the pid, which is all that pi-messenger reads;
//! the second line identifies the process exactly.
//!
//! # Limitations
//!
//! pi-messenger removes a lock that is older than ten seconds, whoever holds it. We hold it for milliseconds, but a
//! process that is stopped meanwhile can lose it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::domain::{Liveness, Pid, ProcessIdentity, RecordedProcess};
use crate::store::error::StoreError;
use crate::store::wire::process::{ProcessKey, recorded};
use crate::sys::files::{self, Files, LinkableFile, Published};
use crate::sys::{clock, process};

/// An empty or unparsable lock may be in the middle of being written. pi-messenger gives it this long, and so do we.
const BEING_WRITTEN: Duration = Duration::from_secs(10);

/// Start times are exact to a tick: a process counts as younger than a file only if the difference is more than two
/// ticks.
const TICKS: SignedDuration = SignedDuration::from_millis(20);

const FIRST_PAUSE: Duration = Duration::from_millis(1);
pub(in crate::store) const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// The second line of the file.
#[derive(Deserialize, Serialize)]
struct Mark {
    ravenry: u32,
    process: ProcessKey,
}

/// The state of an existing `swarm.lock`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SwarmLockState {
    /// A process holds it.
    Held(String),
    /// No process holds it; the text says why.
    Stale(String),
}

/// Identifies a file, to notice that another one was put in its place: inode and modification time.
type FileMark = (u64, i64, i64);

/// `swarm.lock`, held.
#[derive(Debug)]
pub struct SwarmLock {
    path: PathBuf,
    ours: FileMark,
}

/// The private file that this process links to `swarm.lock` while it holds the lock. It is written once and linked each
/// time.
pub(in crate::store) fn token(files: &Files) -> Result<LinkableFile, StoreError> {
    Ok(files.keep(&content(process::identify(process::own_pid())))?)
}

impl SwarmLock {
    /// Takes the lock, and removes a stale one. The caller holds `mesh.lock`.
    pub(in crate::store) fn acquire(
        path: &Path,
        token: &LinkableFile,
        limit: Duration,
    ) -> Result<Self, StoreError> {
        let deadline = Instant::now() + limit;
        let mut pause = FIRST_PAUSE;
        loop {
            if Instant::now() > deadline + LONGEST_PAUSE {
                return Err(timed_out(path, "others, one after another".to_string(), limit));
            }
            if token.show(path)? == Published::Done {
                return Ok(Self { path: path.to_path_buf(), ours: mark_of(&token.metadata()?) });
            }
            loop {
                let before = file_mark(path)?;
                match examine(path)? {
                    None => break,
                    Some(SwarmLockState::Stale(_)) => {
                        // Only if it is still the same file: pi-messenger may have created a new one.
                        if file_mark(path)? == before {
                            files::remove(path)?;
                        }
                        break;
                    }
                    Some(SwarmLockState::Held(holder)) if Instant::now() >= deadline => {
                        return Err(timed_out(path, holder, limit));
                    }
                    Some(SwarmLockState::Held(_)) => {
                        clock::pause(pause);
                        pause = (pause * 2).min(LONGEST_PAUSE);
                    }
                }
            }
        }
    }

    fn release(&self) -> Result<(), StoreError> {
        if file_mark(&self.path)? == Some(self.ours) {
            files::remove(&self.path)?;
        }
        Ok(())
    }
}

impl Drop for SwarmLock {
    fn drop(&mut self) {
        // If it cannot be removed, it counts as stale as soon as this process is gone, and `doctor` reports it.
        drop(self.release());
    }
}

/// Waits until pi-messenger does not hold the lock. A process of ours that holds it holds `mesh.lock`, too, and the
/// caller waits for it there.
pub(in crate::store) fn wait_for_stranger(
    path: &Path,
    deadline: Instant,
    limit: Duration,
) -> Result<(), StoreError> {
    let mut pause = FIRST_PAUSE;
    while let Some((SwarmLockState::Held(holder), Owner::Stranger)) = inspect(path)? {
        if Instant::now() >= deadline {
            return Err(timed_out(path, holder, limit));
        }
        clock::pause(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    Ok(())
}

pub(in crate::store) fn timed_out(path: &Path, holder: String, limit: Duration) -> StoreError {
    // A nested wait gets the remaining time of the outer one, which is not a round number.
    let limit = (limit.as_secs_f64() * 100.0).round() / 100.0;
    StoreError::SwarmLockTimedOut { path: path.to_path_buf(), holder, limit }
}

fn content(own: Option<ProcessIdentity>) -> Vec<u8> {
    let mut content = format!("{}\n", process::own_pid()).into_bytes();
    let process = own.and_then(|own| ProcessKey::of(&RecordedProcess::Pinned(own)));
    if let Some(line) = process.and_then(|process| serde_json::to_vec(&Mark { ravenry: 1, process }).ok()) {
        content.extend(line);
        content.push(b'\n');
    }
    content
}

fn file_mark(path: &Path) -> Result<Option<FileMark>, StoreError> {
    Ok(files::link_metadata(path)?.as_ref().map(mark_of))
}

fn mark_of(metadata: &Metadata) -> FileMark {
    (metadata.ino(), metadata.mtime(), metadata.mtime_nsec())
}

/// Which program wrote a lock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Owner {
    Ours,
    Stranger,
}

/// Whether the lock is held or stale. `None`: there is no lock.
pub(in crate::store) fn examine(path: &Path) -> Result<Option<SwarmLockState>, StoreError> {
    Ok(inspect(path)?.map(|(obstacle, _)| obstacle))
}

fn inspect(path: &Path) -> Result<Option<(SwarmLockState, Owner)>, StoreError> {
    let Some(metadata) = files::link_metadata(path)? else { return Ok(None) };
    // An oversized file and a dangling link count as empty.
    let bytes = match files::read(path) {
        Err(error) if error.is_oversized() => Vec::new(),
        read => match read? {
            None if !metadata.file_type().is_symlink() => return Ok(None),
            read => read.unwrap_or_default(),
        },
    };
    let modified = metadata.modified().map_err(files::FileError::from)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    let pid = lines.next().and_then(|line| line.trim().parse().ok()).and_then(|number| Pid::new(number).ok());
    let Some(pid) = pid else {
        let age = clock::age(modified);
        let obstacle = if age < BEING_WRITTEN {
            SwarmLockState::Held("a process that has not written its pid yet".to_string())
        } else {
            SwarmLockState::Stale(format!("it names no process and is {} s old", age.as_secs()))
        };
        return Ok(Some((obstacle, Owner::Stranger)));
    };
    let mark = lines.next().and_then(|line| serde_json::from_str::<Mark>(line).ok());
    let owner = if mark.is_some() { Owner::Ours } else { Owner::Stranger };
    let obstacle = match mark {
        Some(mark) => {
            match recorded(pid.get().into(), Some(mark.process), None).map(|owner| process::liveness(&owner))
            {
                Ok(Liveness::Alive) => SwarmLockState::Held(format!("process {pid}")),
                // A process that writes our mark holds `mesh.lock` as well. We hold that now, so this lock is stale,
                // whatever machine or container its process is on.
                _ => SwarmLockState::Stale(format!("process {pid}, which held it, is gone")),
            }
        }
        None => match process::liveness(&RecordedProcess::bare(pid)) {
            Liveness::Gone => SwarmLockState::Stale(format!("process {pid}, which held it, is gone")),
            _ if is_younger(pid, modified) => {
                SwarmLockState::Stale(format!("process {pid} is younger than the lock: another had that pid"))
            }
            _ => SwarmLockState::Held(format!("process {pid}")),
        },
    };
    Ok(Some((obstacle, owner)))
}

fn is_younger(pid: Pid, than: std::time::SystemTime) -> bool {
    process::started_at(pid).is_some_and(|started| started.duration_since(clock::from_system(than)) > TICKS)
}
