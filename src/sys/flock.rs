//! A file lock with a time limit (`flock`), which the kernel releases when its holder ends.
//!
//! `flock` waits for ever or not at all. For a wait with a limit, a thread waits for ever in the kernel's queue. If it
//! gets the lock too late, nobody receives it, and dropping it releases the lock. Polling would need no thread, but
//! without the queue handing over is slower and unfair. A thread that is too late stays in the queue until the lock is
//! free, so a process has only one such thread per lock file; its other waits poll.
//!
//! The name of the holder in an error comes from `/proc/locks`, so a lock file has no content that could be out of
//! date.
//!
//! # Limitations
//!
//! Not every file system supports it. [`FileLock::probe`] detects file systems that refuse locks and those that grant
//! all of them.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::domain::Pid;

use super::clock;
use super::files::{self, FileError};
use super::test_switches::{self, Bug};

/// Attempts before a thread is started to wait: most holders are done by then.
const ATTEMPTS: usize = 4;

/// Pauses between two attempts of a wait that polls.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// Device and inode of each lock file in whose queue a thread of this process waits.
static IN_QUEUE: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("`{path}` has been held by {holder} for more than {} s", rounded(*.limit), path = .path.display(),
        holder = .holder.map_or("another process".to_string(), |pid| format!("process {pid}")))]
    TimedOut { path: PathBuf, holder: Option<Pid>, limit: Duration },
    #[error("the file system of `{path}` has no working `flock`: {reason}", path = .path.display())]
    Unsupported { path: PathBuf, reason: String },
    #[error("cannot lock `{path}`: {errno}", path = .path.display())]
    Failed { path: PathBuf, errno: Errno },
    #[error(transparent)]
    File(#[from] FileError),
}

/// Seconds rounded to hundredths: a wait that shares a deadline has slightly less time than was configured.
fn rounded(limit: Duration) -> f64 {
    (limit.as_secs_f64() * 100.0).round() / 100.0
}

/// The lock, held. Dropping it releases it, and so does any end of the process.
#[derive(Debug)]
#[must_use = "the lock is free again as soon as this is dropped"]
pub struct FileLock {
    _held: Flock<std::fs::File>,
}

enum Attempt {
    Held(Flock<std::fs::File>),
    Busy(std::fs::File),
}

impl FileLock {
    /// Waits for the lock until `limit` has passed.
    pub fn acquire(path: &Path, limit: Duration) -> Result<Self, LockError> {
        let deadline = Instant::now() + limit;
        loop {
            let held = match attempt(path, ATTEMPTS)? {
                Attempt::Held(held) => held,
                Attempt::Busy(file) => wait_in_queue(path, file, deadline, limit)?,
            };
            if leads_to(path, &held)? {
                return Ok(Self { _held: held });
            }
        }
    }

    /// Takes the lock if it is free now.
    pub fn try_acquire(path: &Path) -> Result<Option<Self>, LockError> {
        loop {
            match attempt(path, 1)? {
                Attempt::Held(held) if leads_to(path, &held)? => return Ok(Some(Self { _held: held })),
                Attempt::Held(_) => {}
                Attempt::Busy(_) => return Ok(None),
            }
        }
    }

    /// Checks that the lock keeps others out. Called while it is held.
    pub fn probe(&self, path: &Path) -> Result<(), LockError> {
        match attempt(path, 1)? {
            Attempt::Busy(_) if test_switches::value(test_switches::FLOCK).as_deref() != Some("useless") => {
                Ok(())
            }
            Attempt::Busy(_) | Attempt::Held(_) => {
                let reason = "it was granted twice at once".to_string();
                Err(LockError::Unsupported { path: path.to_path_buf(), reason })
            }
        }
    }
}

fn attempt(path: &Path, times: usize) -> Result<Attempt, LockError> {
    let mut file = files::open_lock_file(path)?.into_file();
    if test_switches::value(test_switches::FLOCK).as_deref() == Some("unsupported") {
        return Err(failed(path, Errno::ENOLCK));
    }
    let arg = match test_switches::has_bug(Bug::NaiveLock) && times > 1 {
        true => FlockArg::LockSharedNonblock,
        false => FlockArg::LockExclusiveNonblock,
    };
    for again in (0..times).rev() {
        match Flock::lock(file, arg) {
            Ok(held) => return Ok(Attempt::Held(held)),
            Err((same, Errno::EWOULDBLOCK | Errno::EINTR)) => file = same,
            Err((_, errno)) => return Err(failed(path, errno)),
        }
        if again > 0 {
            thread::yield_now();
        }
    }
    Ok(Attempt::Busy(file))
}

fn wait_in_queue(
    path: &Path,
    file: std::fs::File,
    deadline: Instant,
    limit: Duration,
) -> Result<Flock<std::fs::File>, LockError> {
    let timed_out = || LockError::TimedOut { path: path.to_path_buf(), holder: holder(path), limit };
    if limit.is_zero() {
        return Err(timed_out());
    }
    let Some(place) = QueueSlot::take(&file)? else { return poll(path, file, deadline, timed_out) };
    let (sender, receiver) = mpsc::sync_channel(1);
    let wait = move || {
        let _place = place;
        let mut file = file;
        let result = loop {
            match Flock::lock(file, FlockArg::LockExclusive) {
                Err((same, Errno::EINTR)) => file = same,
                Err((_, errno)) => break Err(errno),
                Ok(held) => break Ok(held),
            }
        };
        // If nobody waits for it any more, the result is dropped with the channel, which releases the lock.
        drop(sender.send(result));
    };
    let thread = thread::Builder::new().name("lock".to_string()).stack_size(64 * 1024).spawn(wait);
    thread.map_err(FileError::from)?;
    match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(Ok(held)) => Ok(held),
        Ok(Err(errno)) => Err(failed(path, errno)),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(timed_out()),
    }
}

/// This process's only place in the queue of a lock file.
struct QueueSlot((u64, u64));

impl QueueSlot {
    /// Takes the place. `None`: another thread of this process has it.
    fn take(file: &std::fs::File) -> Result<Option<Self>, LockError> {
        let metadata = file.metadata().map_err(FileError::from)?;
        let id = (metadata.dev(), metadata.ino());
        let is_new = IN_QUEUE.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        // Not `then_some`: that would create a value and drop it, which gives up the place.
        Ok(is_new.then(|| Self(id)))
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        IN_QUEUE.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// Waits without a place in the queue.
fn poll(
    path: &Path,
    mut file: std::fs::File,
    deadline: Instant,
    timed_out: impl Fn() -> LockError,
) -> Result<Flock<std::fs::File>, LockError> {
    let mut pause = FIRST_PAUSE;
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(held) => return Ok(held),
            Err((same, Errno::EWOULDBLOCK | Errno::EINTR)) => file = same,
            Err((_, errno)) => return Err(failed(path, errno)),
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(timed_out());
        }
        clock::pause(pause.min(left));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Whether the path still leads to the file that we locked. The directory may have been deleted and created again.
fn leads_to(path: &Path, held: &Flock<std::fs::File>) -> Result<bool, LockError> {
    let ours = held.metadata().map_err(FileError::from)?;
    let there = files::metadata(path)?;
    Ok(there.is_some_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
}

fn failed(path: &Path, errno: Errno) -> LockError {
    let path = path.to_path_buf();
    match errno {
        Errno::ENOLCK | Errno::ENOSYS | Errno::EOPNOTSUPP | Errno::EINVAL => {
            LockError::Unsupported { path, reason: errno.desc().to_string() }
        }
        errno => LockError::Failed { path, errno },
    }
}

/// The process that holds the lock on `path`, if the kernel reports it.
pub fn holder(path: &Path) -> Option<Pid> {
    let metadata = files::metadata(path).ok()??;
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    holder_in(&locks, metadata.ino())
}

/// Parses lines such as `1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF`. The device is not compared: on btrfs and
/// overlayfs it differs from the one that `stat` returns.
fn holder_in(locks: &str, inode: u64) -> Option<Pid> {
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        // Lines of waiting processes have an arrow here.
        if words.next()? != "FLOCK" {
            return None;
        }
        let pid = words.nth(2)?;
        let number = words.next()?.rsplit(':').next()?;
        if number.parse() == Ok(inode) { Pid::new(pid.parse().ok()?).ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::process::own_pid;

    fn lock_file() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.lock");
        (dir, path)
    }

    #[test]
    fn a_held_lock_times_out_and_names_its_holder() {
        let (_dir, path) = lock_file();
        let held = FileLock::acquire(&path, Duration::ZERO).unwrap();
        held.probe(&path).unwrap();
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        let error = FileLock::acquire(&path, Duration::from_millis(20)).unwrap_err();
        let LockError::TimedOut { holder, .. } = &error else { panic!("{error}") };
        if cfg!(target_os = "linux") {
            assert_eq!(*holder, Some(own_pid()));
            let text =
                format!("`{}` has been held by process {} for more than 0.02 s", path.display(), own_pid());
            assert_eq!(error.to_string(), text);
        }
        drop(held);
        drop(FileLock::acquire(&path, Duration::from_secs(60)).unwrap());
    }

    #[test]
    fn the_thread_that_came_too_late_leaves_the_lock_free() {
        let (_dir, path) = lock_file();
        let held = FileLock::acquire(&path, Duration::ZERO).unwrap();
        FileLock::acquire(&path, Duration::from_millis(1)).unwrap_err();
        drop(held);
        // The late thread is first in the queue: we get the lock only because it releases it.
        drop(FileLock::acquire(&path, Duration::from_secs(60)).unwrap());
    }

    /// The number of threads of this process in the queue for that file.
    fn threads_in_queue(path: &Path) -> usize {
        let inode = std::fs::metadata(path).unwrap().ino();
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        let waits = |line: &&str| {
            line.contains("-> FLOCK")
                && line.split_whitespace().any(|word| word.ends_with(&format!(":{inode}")))
        };
        locks.lines().filter(waits).count()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn waits_that_time_out_leave_one_thread_behind() {
        let (_dir, path) = lock_file();
        let held = FileLock::acquire(&path, Duration::ZERO).unwrap();
        for _ in 0..20 {
            FileLock::acquire(&path, Duration::from_millis(1)).unwrap_err();
        }
        // The first of them certainly enters the queue, and stays.
        while threads_in_queue(&path) == 0 {
            thread::yield_now();
        }
        assert_eq!(threads_in_queue(&path), 1);
        let waiter = thread::spawn(move || FileLock::acquire(&path, Duration::from_secs(60)).map(drop));
        drop(held);
        waiter.join().unwrap().unwrap();
    }

    #[test]
    fn a_lock_file_that_was_replaced_is_not_the_lock() {
        let (_dir, path) = lock_file();
        let old = FileLock::acquire(&path, Duration::ZERO).unwrap();
        let waiter = {
            let path = path.clone();
            thread::spawn(move || FileLock::acquire(&path, Duration::from_secs(60)).map(drop))
        };
        files::remove(&path).unwrap();
        let new = FileLock::acquire(&path, Duration::ZERO).unwrap();
        drop(old);
        assert!(FileLock::try_acquire(&path).unwrap().is_none(), "whoever comes now waits for the new one");
        drop(new);
        waiter.join().unwrap().unwrap();
    }

    #[test]
    fn the_kernels_table() {
        let table = "1: POSIX  ADVISORY  WRITE 7 fe:00:99 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 42 fe:00:99 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 43 fe:00:99 0 EOF\n";
        assert_eq!(holder_in(table, 99).map(Pid::get), Some(42));
        assert_eq!(holder_in(table, 98), None);
    }
}
