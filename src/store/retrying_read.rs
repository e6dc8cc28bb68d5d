//! Reading files that pi-messenger writes in place, with retries.
//!
//! A file that cannot be parsed may be half written. It is read again while it is less than a second old, and only then
//! reported as unreadable, never as empty.
//!
//! A registration that is rewritten all the time is always young. So the total time that a command waits for
//! registrations is limited.
//!
//! `work_done::a_registration_that_is_rewritten_all_the_time_is_looked_at_a_few_times_in_all` checks that.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::error::{ParseError, StoreError};
use crate::sys::files::{self, FileError};
use crate::sys::{clock, test_switches};

const YOUNG: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Set in hooks, which a harness waits for: a read is then retried for `HURRIED` at most.
static IN_A_HURRY: AtomicBool = AtomicBool::new(false);
const HURRIED: Duration = Duration::from_millis(30);

/// From now on, waits at most 30 ms for a half-written file, which is a little more than writing one takes.
pub fn limit_read_retries() {
    IN_A_HURRY.store(true, Ordering::Relaxed);
}

/// Time to wait for all registrations together.
const SHARED: Duration = Duration::from_millis(50);
/// After this time the shared budget starts again, for long-running processes such as a server.
const RENEWED_AFTER: Duration = Duration::from_millis(500);

/// How long an unparsable file is read again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum RetryBudget {
    /// While the file is young.
    Own,
    /// While the file is young and the budget shared by all registrations is not used up.
    Shared,
}

/// When the current shared budget started, and how much of it is used.
static USED: Mutex<Option<(Instant, Duration)>> = Mutex::new(None);

/// Pauses before the next attempt. `false`: the budget is used up.
fn pause(budget: RetryBudget) -> bool {
    let now = Instant::now();
    if budget == RetryBudget::Shared {
        let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, spent) = used
            .filter(|(since, _)| now.duration_since(*since) < RENEWED_AFTER)
            .unwrap_or((now, Duration::ZERO));
        if spent >= SHARED {
            return false;
        }
        // Deducted before the pause, so that threads don't overdraw it together.
        *used = Some((since, spent + LOOK_AGAIN));
    }
    test_switches::count("look");
    clock::pause(LOOK_AGAIN);
    true
}

/// Whether the file is less than a second old. A time further in the future does not count: the clock was set back.
fn is_young(modified: SystemTime) -> bool {
    match clock::machine_time().duration_since(modified) {
        Ok(age) => age < YOUNG,
        Err(ahead) => ahead.duration() < YOUNG,
    }
}

/// What a file contains.
pub(super) enum FileContent<T> {
    Absent,
    Parsed(T),
    Unparsable(ParseError),
}

impl<T> FileContent<T> {
    /// What was parsed; `None` if there is no file, or it cannot be parsed.
    pub(super) fn parsed(self) -> Option<T> {
        match self {
            Self::Parsed(value) => Some(value),
            Self::Absent | Self::Unparsable(_) => None,
        }
    }

    /// What was parsed, or nothing if there is no file. A file that cannot be parsed is an error.
    pub(super) fn or_corrupt(self, path: PathBuf) -> Result<Option<T>, StoreError> {
        match self {
            Self::Absent => Ok(None),
            Self::Parsed(value) => Ok(Some(value)),
            Self::Unparsable(error) => Err(StoreError::Corrupt { path, reason: error.to_string() }),
        }
    }
}

/// Reads and parses a file.
pub(super) fn read<T>(
    path: &Path,
    budget: RetryBudget,
    parse: impl Fn(&[u8]) -> Result<T, ParseError>,
) -> Result<FileContent<T>, FileError> {
    let give_up = Instant::now() + if IN_A_HURRY.load(Ordering::Relaxed) { HURRIED } else { YOUNG };
    let mut has_paused = false;
    loop {
        let bytes = match files::read(path) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => match files::link_metadata(path)? {
                None => return Ok(FileContent::Absent),
                Some(metadata) if metadata.is_symlink() => {
                    return Ok(FileContent::Unparsable(ParseError::new("it is a link that leads nowhere")));
                }
                // It was written for the first time after it was looked for.
                Some(_) if Instant::now() < give_up => continue,
                Some(_) => return Ok(FileContent::Absent),
            },
            // A directory or the like in place of the file is damage to that file, not to the disk.
            Err(error) if error.is_oversized() || !path.is_file() => {
                return Ok(FileContent::Unparsable(ParseError::new(error)));
            }
            Err(error) => return Err(error),
        };
        let reason = match parse(&bytes) {
            Ok(value) => {
                // It was half written and is whole now, so nobody keeps it broken: start the budget again.
                if has_paused && budget == RetryBudget::Shared {
                    *USED.lock().unwrap_or_else(PoisonError::into_inner) = None;
                }
                return Ok(FileContent::Parsed(value));
            }
            Err(reason) => reason,
        };
        let metadata = files::metadata(path)?;
        let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
        let young = modified.is_none_or(is_young);
        // A pipe stays empty, however old it is.
        let is_file = metadata.is_none_or(|metadata| metadata.is_file());
        if !is_file || !young || Instant::now() >= give_up || !pause(budget) {
            return Ok(FileContent::Unparsable(reason));
        }
        has_paused = true;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::thread;

    use super::*;

    fn found(path: &Path) -> FileContent<Vec<u8>> {
        read(path, RetryBudget::Own, |bytes| Ok(bytes.to_vec())).unwrap()
    }

    /// Whoever reads while a file appears for the first time finds nothing or all of it.
    #[test]
    fn a_file_that_appears_meanwhile_is_not_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("claims.json");
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let published = files::publish_beside(&path, b"{}", 0o600).unwrap();
                    assert_eq!(published, files::Published::Done);
                    files::remove(&path).unwrap();
                }
            });
            let damaged = (0..50_000).find_map(|_| match found(&path) {
                FileContent::Unparsable(reason) => Some(reason.to_string()),
                FileContent::Absent | FileContent::Parsed(_) => None,
            });
            done.store(true, Ordering::Relaxed);
            assert_eq!(damaged, None);
        });
    }

    #[test]
    fn a_link_that_leads_nowhere_is_damage() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("claims.json");
        symlink("nowhere", &path).unwrap();
        assert!(matches!(found(&path), FileContent::Unparsable(_)));
    }
}
