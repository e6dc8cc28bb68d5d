//! Slots: how many workers run on this machine at once. A slot is a lock, so it is free as soon as its holder is dead.

use std::path::{Path, PathBuf};

use crate::domain::runs::RunId;
use crate::store::error::StoreError;
use crate::store::location::machine_state;
use crate::sys::environment::Home;
use crate::sys::files;
use crate::sys::flock::FileLock;

/// The slots of this user on this machine, whatever the mesh.
#[derive(Clone, Debug)]
pub struct RunSlots {
    dir: PathBuf,
}

/// A slot, until it is dropped.
#[derive(Debug)]
pub struct HeldSlot {
    /// The smallest number that was free.
    pub number: u32,
    _locks: Vec<FileLock>,
}

impl RunSlots {
    pub fn of(home: &Home) -> Self {
        Self::at(&machine_state(home).join("slots"))
    }

    fn at(dir: &Path) -> Self {
        Self { dir: dir.to_path_buf() }
    }

    /// Takes the smallest number below `most` that is free; `None` if all are taken.
    pub fn try_take(&self, most: u32) -> Result<Option<HeldSlot>, StoreError> {
        files::create_dir(&self.dir)?;
        for number in 0..most {
            if let Some(lock) = FileLock::try_acquire(&self.dir.join(format!("{number}.lock")))? {
                return Ok(Some(HeldSlot { number, _locks: vec![lock] }));
            }
        }
        Ok(None)
    }
}

impl RunSlots {
    /// Takes the slot with this number; `None` if another has it.
    pub fn try_number(&self, number: u32) -> Result<Option<HeldSlot>, StoreError> {
        files::create_dir(&self.dir)?;
        let lock = FileLock::try_acquire(&self.dir.join(format!("{number}.lock")))?;
        Ok(lock.map(|lock| HeldSlot { number, _locks: vec![lock] }))
    }

    /// Takes the slot that a run lends to one of those that its worker started; `None` if it is lent already. The number
    /// is one that no other run has, from `most` on.
    pub fn try_borrow(&self, lender: &RunId, most: u32) -> Result<Option<HeldSlot>, StoreError> {
        files::create_dir(&self.dir)?;
        let Some(lent) = FileLock::try_acquire(&self.dir.join(format!("{lender}.lent")))? else {
            return Ok(None);
        };
        for number in most.. {
            if let Some(lock) = FileLock::try_acquire(&self.dir.join(format!("{number}.lock")))? {
                return Ok(Some(HeldSlot { number, _locks: vec![lent, lock] }));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_free_number_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let slots = RunSlots::at(dir.path());
        let take = || slots.try_take(3).unwrap();
        let (first, second, third) = (take().unwrap(), take().unwrap(), take().unwrap());
        assert_eq!([first.number, second.number, third.number], [0, 1, 2]);
        assert!(take().is_none());
        drop(second);
        assert_eq!(take().unwrap().number, 1);
        assert!(slots.try_number(2).unwrap().is_none());
        assert_eq!(slots.try_number(1).unwrap().unwrap().number, 1);
        let lender = RunId::from_random(7);
        let lent = slots.try_borrow(&lender, 3).unwrap().unwrap();
        assert_eq!(lent.number, 3);
        assert!(slots.try_borrow(&lender, 3).unwrap().is_none(), "it is lent to one at a time");
        drop(lent);
        assert!(slots.try_borrow(&lender, 3).unwrap().is_some());
    }
}
