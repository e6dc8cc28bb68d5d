//! What the loop waits for besides the server: changes in the mesh, and the end.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::sys::signals::StopRequest;
use crate::sys::watch::{DirWatch, Interest};

/// How often a change is looked for where none is reported.
const SLOW_TICK: Duration = Duration::from_secs(1);
/// The same where changes are reported.
const WATCHED_TICK: Duration = Duration::from_secs(5);

/// Hints that something changed. The directories are the truth.
pub(super) struct Hints {
    changed: Arc<Notify>,
    stopped: Arc<Notify>,
    watch: Option<(DirWatch, Vec<PathBuf>)>,
}

impl Hints {
    /// Begins to wait for the end in a thread of its own.
    pub(super) fn start(stop: &StopRequest) -> Self {
        let stopped = Arc::new(Notify::new());
        let (receiver, told) = (stop.wake().clone(), Arc::clone(&stopped));
        // It ends with the process.
        std::thread::spawn(move || {
            if receiver.recv().is_ok() {
                told.notify_one();
            }
        });
        Self { changed: Arc::new(Notify::new()), stopped, watch: None }
    }

    /// Watches these directories from now on.
    pub(super) fn watch(&mut self, mut dirs: Vec<PathBuf>) {
        dirs.sort();
        dirs.dedup();
        if self.watch.as_ref().is_some_and(|(watch, known)| *known == dirs && watch.is_sound(&dirs)) {
            return;
        }
        // What can't be watched is looked at once a second.
        self.watch = DirWatch::arm(&dirs, Interest::Changes).ok().map(|watch| (watch, dirs));
        if let Some((watch, _)) = &self.watch {
            let (hints, changed) = (watch.hints().clone(), Arc::clone(&self.changed));
            // It ends when the watch is dropped.
            std::thread::spawn(move || {
                while hints.recv().is_ok() {
                    changed.notify_one();
                }
            });
        }
    }

    /// Something has changed, or it is time to look.
    pub(super) async fn changed(&self) {
        let tick = if self.watch.is_some() { WATCHED_TICK } else { SLOW_TICK };
        drop(tokio::time::timeout(tick, self.changed.notified()).await);
    }

    pub(super) async fn stopped(&self) {
        self.stopped.notified().await;
        // Whoever waits again is told again.
        self.stopped.notify_one();
    }
}
