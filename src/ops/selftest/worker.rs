//! What our own children do on a stage, beside ordinary commands: be somebody's process, or hold a lock.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::sys::files::FileError;
use crate::sys::flock::FileLock;

use crate::ops::error::CommandError;

/// What a child is there for.
#[derive(Clone, Copy, Debug)]
pub enum Role<'a> {
    /// To live.
    Host,
    /// To hold the lock at that path.
    Holder(&'a Path),
}

/// What a holder says once it has the lock.
pub(super) const HELD: &str = "held\n";

/// Plays the role until whoever gave it is gone, which its standard input tells.
pub fn work(role: Role<'_>, say: impl FnOnce(&str)) -> Result<(), CommandError> {
    let _held = match role {
        Role::Host => None,
        Role::Holder(path) => {
            let held = FileLock::acquire(path, Duration::ZERO)?;
            say(HELD);
            Some(held)
        }
    };
    io::copy(&mut io::stdin().lock(), &mut io::sink()).map_err(FileError::from)?;
    Ok(())
}
