//! Child processes of a selftest that run no command: one keeps an agent alive, one holds a lock.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::sys::files::FileError;
use crate::sys::flock::FileLock;

use crate::ops::error::CommandError;

/// The task of a child process.
#[derive(Clone, Copy, Debug)]
pub enum WorkerRole<'a> {
    /// Only stay alive.
    Host,
    /// Hold the lock at that path.
    Holder(&'a Path),
}

/// What a holder prints once it has the lock.
pub(super) const HELD: &str = "held\n";

/// Plays the role until standard input ends, which happens when the parent is gone.
pub fn work(role: WorkerRole<'_>, say: impl FnOnce(&str)) -> Result<(), CommandError> {
    let _held = match role {
        WorkerRole::Host => None,
        WorkerRole::Holder(path) => {
            let held = FileLock::acquire(path, Duration::ZERO)?;
            say(HELD);
            Some(held)
        }
    };
    io::copy(&mut io::stdin().lock(), &mut io::sink()).map_err(FileError::from)?;
    Ok(())
}
