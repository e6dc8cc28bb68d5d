//! Reading files that pi-messenger writes in place.
//!
//! What can't be understood may be half written. It is looked at again while it is young, and only then is it said
//! to be unreadable; it is never said to be empty.
//!
//! A registration that somebody keeps rewriting is always young. So all that a command waits for registrations together
//! is bounded.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use crate::sys::files::{self, FileError};
use crate::sys::{clock, seams};

const YOUNG: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// Those in whose way somebody waits have less of it.
static IN_A_HURRY: AtomicBool = AtomicBool::new(false);
const HURRIED: Duration = Duration::from_millis(30);

/// From now on what is half written is not waited for much longer than writing it takes.
pub fn be_quick() {
    IN_A_HURRY.store(true, Ordering::Relaxed);
}

/// What all registrations together may be waited for.
const SHARED: Duration = Duration::from_millis(50);
/// A process that goes on for longer than most commands take, as a server does, has that time again.
const RENEWED_AFTER: Duration = Duration::from_millis(500);

/// How long a file that can't be understood is looked at again and again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum RetryBudget {
    /// As long as it is young.
    Own,
    /// As long as others of its kind leave something of the time for all.
    Shared,
}

/// Since when the shared time is counted, and what was used of it.
static USED: Mutex<Option<(Instant, Duration)>> = Mutex::new(None);

/// Pauses before the next look. `false`: the time is used up.
fn pause(patience: RetryBudget) -> bool {
    let now = Instant::now();
    if patience == RetryBudget::Shared {
        let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, spent) = used
            .filter(|(since, _)| now.duration_since(*since) < RENEWED_AFTER)
            .unwrap_or((now, Duration::ZERO));
        if spent >= SHARED {
            return false;
        }
        // Counted before, so that threads don't all take the last of it.
        *used = Some((since, spent + LOOK_AGAIN));
    }
    seams::count("look");
    clock::pause(LOOK_AGAIN);
    true
}

/// A time in the future says nothing: the clock was set back.
fn is_young(modified: SystemTime) -> bool {
    match clock::machine_time().duration_since(modified) {
        Ok(age) => age < YOUNG,
        Err(ahead) => ahead.duration() < YOUNG,
    }
}

/// `None`: there is no such file. An inner error says why it can't be understood.
pub(super) fn read<T>(
    path: &Path,
    patience: RetryBudget,
    parse: impl Fn(&[u8]) -> Result<T, String>,
) -> Result<Option<Result<T, String>>, FileError> {
    let give_up = Instant::now() + if IN_A_HURRY.load(Ordering::Relaxed) { HURRIED } else { YOUNG };
    let mut has_paused = false;
    loop {
        let bytes = match files::read(path) {
            Ok(Some(bytes)) => bytes,
            Ok(None) if files::exists(path)? => {
                return Ok(Some(Err("it is a link that leads nowhere".to_string())));
            }
            Ok(None) => return Ok(None),
            // A directory or the like in the place of a file is damage to that one, not to the disk.
            Err(error) if error.is_oversized() || !path.is_file() => return Ok(Some(Err(error.to_string()))),
            Err(error) => return Err(error),
        };
        let reason = match parse(&bytes) {
            Ok(value) => {
                // It was half written, and is whole now: nobody keeps it broken.
                if has_paused && patience == RetryBudget::Shared {
                    *USED.lock().unwrap_or_else(PoisonError::into_inner) = None;
                }
                return Ok(Some(Ok(value)));
            }
            Err(reason) => reason,
        };
        let metadata = files::metadata(path)?;
        let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
        let young = modified.is_none_or(is_young);
        // A pipe has nothing in it, however old it becomes.
        let is_file = metadata.is_none_or(|metadata| metadata.is_file());
        if !is_file || !young || Instant::now() >= give_up || !pause(patience) {
            return Ok(Some(Err(reason)));
        }
        has_paused = true;
    }
}
