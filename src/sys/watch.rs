//! Watching directories for changes.
//!
//! Events are only hints: the directory itself is what counts. So nothing is kept of events but one flag. The first
//! event sets it, and later events, until the directory is read, find it set. A burst of events causes few reads, and a
//! steady stream postpones none.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, bounded};
use notify::event::{EventKind, ModifyKind, RemoveKind, RenameMode};
use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher};

/// Why a directory cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error("`{}` is not there", .0.display())]
    Absent(PathBuf),
    /// Waiting won't help: no watches are left, or this system has none.
    #[error("no more directories can be watched: {0}")]
    Exhausted(String),
    #[error("`{}` can't be watched: {reason}", .path.display())]
    Failed { path: PathBuf, reason: String },
}

/// Which events give a hint.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Interest {
    /// New entries only.
    Arrivals,
    /// All changes.
    Changes,
}

/// A watch on some directories, without their subdirectories.
pub struct DirWatch {
    hints: Receiver<()>,
    trouble: Arc<AtomicBool>,
    armed: Vec<(PathBuf, u64)>,
    _watcher: RecommendedWatcher,
}

impl DirWatch {
    /// Starts watching. Events from now on give a hint; the caller must read what is already there.
    pub fn arm(dirs: &[PathBuf], interest: Interest) -> Result<Self, WatchError> {
        Self::arm_for(dirs, interest, |_| true)
    }

    /// The same, for entries with certain paths alone.
    pub fn arm_for(
        dirs: &[PathBuf],
        interest: Interest,
        is_wanted: impl Fn(&Path) -> bool + Send + 'static,
    ) -> Result<Self, WatchError> {
        let (sender, hints) = bounded(1);
        let trouble = Arc::new(AtomicBool::new(false));
        let handler = {
            let (trouble, dirs) = (Arc::clone(&trouble), dirs.to_vec());
            move |event: notify::Result<Event>| {
                if is_trouble(&event, &dirs) {
                    trouble.store(true, Ordering::SeqCst);
                } else if !is_hint(&event, &dirs, interest, &is_wanted) {
                    return;
                }
                // If the flag is already set, the next read will see this change, too.
                let _ = sender.try_send(());
            }
        };
        let mut watcher = RecommendedWatcher::new(handler, Config::default())
            .map_err(|error| WatchError::Exhausted(error.to_string()))?;
        let mut armed = Vec::new();
        for dir in dirs {
            watcher.watch(dir, RecursiveMode::NonRecursive).map_err(|error| failure(dir, error))?;
            let inode = inode(dir).ok_or_else(|| WatchError::Absent(dir.clone()))?;
            armed.push((dir.clone(), inode));
        }
        Ok(Self { hints, trouble, armed, _watcher: watcher })
    }

    /// Receives a value when there may be something new.
    pub fn hints(&self) -> &Receiver<()> {
        &self.hints
    }

    /// Whether these directories are still watched: no event was lost, and none was removed or created again.
    pub fn is_sound(&self, dirs: &[PathBuf]) -> bool {
        let same = self.armed.iter().map(|(dir, _)| dir).eq(dirs);
        same && !self.trouble.load(Ordering::SeqCst)
            && self.armed.iter().all(|(dir, ino)| inode(dir) == Some(*ino))
    }
}

impl std::fmt::Debug for DirWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DirWatch").field("armed", &self.armed).finish_non_exhaustive()
    }
}

/// Whether there may be something new. Access events come from reading, and dot-files are messages that readers have
/// taken.
fn is_hint(
    event: &notify::Result<Event>,
    dirs: &[PathBuf],
    interest: Interest,
    is_wanted: &dyn Fn(&Path) -> bool,
) -> bool {
    let Ok(event) = event else { return true };
    let is_new = match event.kind {
        EventKind::Access(_) => return false,
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => {
            interest == Interest::Changes
        }
        _ => true,
    };
    let is_hidden =
        |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    event.paths.iter().any(|path| dirs.contains(path) || (is_new && !is_hidden(path) && is_wanted(path)))
}

/// Whether it is an overflow, an error, or one of the directories itself being removed or moved away.
fn is_trouble(event: &notify::Result<Event>, dirs: &[PathBuf]) -> bool {
    let Ok(event) = event else { return true };
    let of_itself = || event.paths.iter().any(|path| dirs.contains(path));
    event.need_rescan()
        || match event.kind {
            EventKind::Remove(RemoveKind::Folder | RemoveKind::Any | RemoveKind::Other) => of_itself(),
            EventKind::Modify(ModifyKind::Name(_)) => of_itself(),
            _ => false,
        }
}

fn failure(dir: &Path, error: notify::Error) -> WatchError {
    match error.kind {
        notify::ErrorKind::PathNotFound => WatchError::Absent(dir.to_path_buf()),
        notify::ErrorKind::MaxFilesWatch => WatchError::Exhausted(error.to_string()),
        notify::ErrorKind::Io(ref source) if source.kind() == std::io::ErrorKind::NotFound => {
            WatchError::Absent(dir.to_path_buf())
        }
        _ => WatchError::Failed { path: dir.to_path_buf(), reason: error.to_string() },
    }
}

fn inode(dir: &Path) -> Option<u64> {
    std::fs::metadata(dir).ok().map(|metadata| metadata.ino())
}
