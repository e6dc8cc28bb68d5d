//! The queue for slots: a mark for each run that waits, the oldest first, whatever the mesh. A mark is locked by whoever
//! made it, so that of a dead one is passed over.

use std::path::PathBuf;

use jiff::Timestamp;

use crate::domain::runs::RunId;
use crate::store::error::StoreError;
use crate::store::location::machine_state;
use crate::sys::environment::Home;
use crate::sys::files;
use crate::sys::flock::FileLock;

/// How long making a mark may take. Whoever takes it for one of a dead run holds it only for a moment.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(10);

/// The runs of this user on this machine that wait for a slot.
#[derive(Clone, Debug)]
pub struct RunQueue {
    dir: PathBuf,
}

/// A place in the queue, until it is dropped.
#[derive(Debug)]
pub struct QueuePlace {
    dir: PathBuf,
    name: String,
    _lock: FileLock,
}

impl RunQueue {
    pub fn of(home: &Home) -> Self {
        Self { dir: machine_state(home).join("slots").join("queue") }
    }

    /// Takes the place of a run that was queued then.
    pub fn enter(&self, run: &RunId, queued_at: Timestamp) -> Result<QueuePlace, StoreError> {
        files::create_dir(&self.dir)?;
        let name = format!("{:020}-{run}", queued_at.as_microsecond());
        let lock = FileLock::acquire(&self.dir.join(&name), LIMIT)?;
        Ok(QueuePlace { dir: self.dir.clone(), name, _lock: lock })
    }
}

impl QueuePlace {
    /// About how many are before it; exactly 0 if it is next.
    pub fn ahead(&self) -> Result<usize, StoreError> {
        let mut names = files::list(&self.dir)?;
        names.retain(|name| *name < self.name);
        names.sort_unstable();
        for (index, name) in names.iter().enumerate() {
            let path = self.dir.join(name);
            match FileLock::try_acquire(&path)? {
                None => return Ok(names.len() - index),
                // Nobody waits there any more.
                Some(_dead) => drop(files::remove(&path)?),
            }
        }
        Ok(0)
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        // Whoever comes next removes what is left here.
        drop(files::remove(&self.dir.join(&self.name)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_next_and_the_dead_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let queue = RunQueue { dir: dir.path().join("queue") };
        let enter = |second: i64, run: u32| {
            queue.enter(&RunId::from_random(run), Timestamp::from_second(second).unwrap()).unwrap()
        };
        let (second, first, third) = (enter(20, 1), enter(10, 2), enter(30, 3));
        assert_eq!([&first, &second, &third].map(|place| place.ahead().unwrap()), [0, 1, 2]);
        // A mark that nobody holds.
        let dead = queue.dir.join(format!("{:020}-dead00", 5));
        assert_eq!(files::create_empty(&dead).unwrap(), files::Published::Done);
        assert_eq!(first.ahead().unwrap(), 0);
        drop(first);
        assert_eq!([&second, &third].map(|place| place.ahead().unwrap()), [0, 1]);
        drop(second);
        assert_eq!(third.ahead().unwrap(), 0);
        drop(third);
        assert_eq!(files::list(&queue.dir).unwrap(), [""; 0]);
    }
}
