//! One at a time looks at a pane and types into it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::pane::TmuxPane;
use crate::domain::sha256;
use crate::sys::files;
use crate::sys::flock::{FileLock, LockError};

/// The lock of a pane, held. Others that would type into the pane wait until it is dropped.
#[derive(Debug)]
#[must_use = "the lock is free again as soon as this is dropped"]
pub struct PaneLock {
    path: PathBuf,
    // Dropped after the file was removed: whoever got the lock of a file without a name tries again.
    _held: FileLock,
}

impl PaneLock {
    /// Waits for the lock of the pane until `limit` has passed. All who type into panes use the same directory.
    pub fn acquire(dir: &Path, pane: &TmuxPane, limit: Duration) -> Result<Self, LockError> {
        files::create_dir(dir)?;
        let server = sha256(pane.socket().path().as_os_str().as_bytes());
        let path = dir.join(format!("{}-{}.lock", &server[..16], pane.id().as_str().trim_start_matches('%')));
        let held = FileLock::acquire(&path, limit)?;
        Ok(Self { path, _held: held })
    }
}

impl Drop for PaneLock {
    fn drop(&mut self) {
        // A file that stays does no harm.
        drop(files::remove(&self.path));
    }
}

#[cfg(test)]
mod tests {
    use super::super::call::TmuxSocket;
    use super::super::pane_id::PaneId;
    use super::*;

    fn pane(socket: &str, id: &str) -> TmuxPane {
        TmuxPane::new(TmuxSocket::parse(socket), PaneId::new(id).unwrap())
    }

    #[test]
    fn one_pane_has_one_lock() {
        let dir = tempfile::tempdir().unwrap();
        let locks = dir.path().join("panes");
        let acquire = |socket: &str, id: &str| PaneLock::acquire(&locks, &pane(socket, id), Duration::ZERO);
        let first = acquire("/a/s", "%1").unwrap();
        let _others = [acquire("/a/s", "%11").unwrap(), acquire("/b/s", "%1").unwrap()];
        assert!(matches!(acquire("/a/s", "%1"), Err(LockError::TimedOut { .. })));
        drop(first);
        drop(acquire("/a/s", "%1").unwrap());
        assert_eq!(files::list(&locks).unwrap().len(), 2, "no file is left of a lock that is free");
    }
}
