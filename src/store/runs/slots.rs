//! Slots: how many workers run on this machine at once. A slot is a lock, so it is free as soon as its holder is dead.

use std::path::{Path, PathBuf};

use crate::store::error::StoreError;
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
    _lock: FileLock,
}

impl RunSlots {
    pub fn of(home: &Home) -> Self {
        Self::at(&home.state.join("ravenry").join("slots"))
    }

    fn at(dir: &Path) -> Self {
        Self { dir: dir.to_path_buf() }
    }

    /// Takes the smallest number below `most` that is free; `None` if all are taken.
    pub fn try_take(&self, most: u32) -> Result<Option<HeldSlot>, StoreError> {
        files::create_dir(&self.dir)?;
        for number in 0..most {
            if let Some(lock) = FileLock::try_acquire(&self.dir.join(format!("{number}.lock")))? {
                return Ok(Some(HeldSlot { number, _lock: lock }));
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
    }
}
