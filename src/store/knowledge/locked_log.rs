//! The log with its lock held, by who changes it.
//!
//! Whoever decides by what the log says (which name is free, whether something is recorded already) holds the lock from
//! the read to the append. Otherwise two processes could give one name to two records. Readers need no lock.

use std::time::Duration;

use super::log::{AppendedFrame, KnowledgeLog};
use crate::domain::knowledge::{Cell, WriterId};
use crate::store::error::StoreError;
use crate::store::lock_order::{LockOrderGuard, LockRank};
use crate::sys::files;
use crate::sys::flock::FileLock;

/// How long to wait for the lock.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const LOCK: &str = "write.lock";

#[derive(Debug)]
#[must_use = "the lock is free again as soon as this is dropped"]
pub struct LockedKnowledgeLog<'a> {
    log: &'a KnowledgeLog,
    // Released before the place in the order is given up.
    _held: FileLock,
    order: LockOrderGuard,
}

impl KnowledgeLog {
    /// Waits for the lock. The directory is created if there is none.
    pub fn lock(&self) -> Result<LockedKnowledgeLog<'_>, StoreError> {
        files::create_dir(&self.dir)?;
        let order = LockOrderGuard::begin(LockRank::Knowledge, LOCK_TIMEOUT);
        let held = FileLock::acquire(&self.dir.join(LOCK), order.left())?;
        Ok(LockedKnowledgeLog { log: self, _held: held, order })
    }
}

impl LockedKnowledgeLog<'_> {
    /// Adds cells in one frame: all of them are in the log afterwards, or none.
    pub fn append(&self, writer: &WriterId, cells: &[Cell]) -> Result<Option<AppendedFrame>, StoreError> {
        self.log.append_locked(&self.order, writer, cells)
    }

    pub(super) fn log(&self) -> &KnowledgeLog {
        self.log
    }

    pub(super) fn order(&self) -> &LockOrderGuard {
        &self.order
    }
}
