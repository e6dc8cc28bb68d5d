//! `feed/`: the timeline of the mesh, one event per line, in pi-messenger's format.
//!
//! The feed consists of segments, `feed/<number>.jsonl`, where the number is the count of events before the segment.
//! Events are appended to the newest segment. When it is full, an empty one with a higher number is created, and old
//! segments are deleted whole. No file is ever renamed or rewritten, so a position in the feed (a segment and an
//! offset) stays valid.
//!
//! Writers take turns with `feed/.lock`. The lock prevents appending to a segment after the next one was created, and
//! so the loss of a new event with an old segment. Lines are whole without it. So a writer that does not get the lock
//! in time, because its holder was stopped, appends anyway and does not clean up.
//!
//! `remote/feed/` is made in the same way, of what happened on other machines. Only the link process writes it.

mod project_feed;
mod read;

use std::path::PathBuf;
use std::time::Duration;

use super::error::StoreError;
use super::handles::RemoteRecords;
use super::lock_order::{LockOrderGuard, LockRank, holds_a_lock};
use super::mesh::Mesh;
use super::wire::event;
use crate::domain::Event;
use crate::sys::files::{self, LineFile};
use crate::sys::flock::{FileLock, LockError};
use crate::sys::test_switches;

pub use project_feed::{ProjectFeedPosition, ProjectFeeds};
pub use read::{EventBatch, FeedPosition};

/// How long a writer waits for the lock: longer than it is ever held, unless its holder was stopped.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// Attempts for a writer without the lock, in case its segment is deleted under it.
const TRIES: usize = 8;
/// Segment size in bytes per event to keep: about a third of an event, so that the feed has a few segments and exceeds
/// its limit only a little.
const BYTES_PER_KEPT: u64 = 32;
const LEAST_BYTES: u64 = 1024;
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// A feed of events.
#[derive(Clone, Copy, Debug)]
pub struct FeedLog<'m> {
    mesh: &'m Mesh,
    origin: FeedOrigin,
}

/// Where the events of a feed happened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum FeedOrigin {
    /// On this machine: `feed/`.
    Here,
    /// On other machines: `remote/feed/`.
    Elsewhere,
}

impl Mesh {
    /// The feed of events on this machine: `feed/`.
    pub fn feed(&self) -> FeedLog<'_> {
        FeedLog { mesh: self, origin: FeedOrigin::Here }
    }
}

impl<'m> RemoteRecords<'m> {
    /// The feed of events on other machines, in the order of their arrival: `remote/feed/`.
    pub fn feed(self) -> FeedLog<'m> {
        FeedLog { mesh: self.mesh, origin: FeedOrigin::Elsewhere }
    }
}

impl FeedLog<'_> {
    /// Appends events under one lock. At least the last `keep` events before each are kept, and not many more.
    pub fn append(self, events: &[Event], keep: u64) -> Result<(), StoreError> {
        let lines: Vec<Vec<u8>> = events.iter().map(event::line).collect();
        self.append_lines(&lines, keep)
    }

    /// The same for lines of events.
    pub(in crate::store) fn append_lines(self, lines: &[Vec<u8>], keep: u64) -> Result<(), StoreError> {
        debug_assert!(!holds_a_lock(), "the feed is written while a lock is held: see ops/effects.rs");
        if lines.is_empty() {
            return Ok(());
        }
        let dir = self.dir();
        if !files::exists(&dir)? {
            files::create_dir(&dir)?;
        }
        let order = LockOrderGuard::begin(LockRank::Feed, LOCK_TIMEOUT.min(self.mesh.options.lock_timeout));
        test_switches::count("lock-feed");
        let held = match FileLock::acquire(&dir.join(".lock"), order.left()) {
            Err(LockError::TimedOut { .. }) => None,
            held => Some(held?),
        };
        lines.iter().try_for_each(|line| match held {
            Some(_) => self.append_in_turn(line, keep),
            None => self.append_out_of_turn(line),
        })
    }

    fn dir(self) -> PathBuf {
        match self.origin {
            FeedOrigin::Here => self.mesh.layout.feed(),
            FeedOrigin::Elsewhere => self.mesh.layout.remote("feed"),
        }
    }

    fn append_in_turn(self, line: &[u8], keep: u64) -> Result<(), StoreError> {
        let mut segments = self.segments()?;
        let mut newest = segments.last().copied().unwrap_or(Segment(0));
        if self.is_full(newest, keep)? {
            newest = self.start_after(newest)?;
            segments.push(newest);
            self.remove_old(&segments, keep)?;
        }
        Ok(files::append_line(&self.path_of(newest), line)?)
    }

    fn append_out_of_turn(self, line: &[u8]) -> Result<(), StoreError> {
        for _ in 0..TRIES {
            let path = self.path_of(self.segments()?.last().copied().unwrap_or(Segment(0)));
            files::append_line(&path, line)?;
            if files::exists(&path)? {
                return Ok(());
            }
        }
        let reason = "its segments are removed faster than they are written".to_string();
        Err(StoreError::Corrupt { path: self.dir(), reason })
    }

    /// All segments, oldest first.
    fn segments(self) -> Result<Vec<Segment>, StoreError> {
        let names = files::list(&self.dir())?;
        let mut segments: Vec<Segment> = names.iter().filter_map(|name| Segment::of_file(name)).collect();
        segments.sort_unstable();
        Ok(segments)
    }

    fn path_of(self, segment: Segment) -> PathBuf {
        self.dir().join(segment.file())
    }

    fn is_full(self, segment: Segment, keep: u64) -> Result<bool, StoreError> {
        let full = keep.saturating_mul(BYTES_PER_KEPT).clamp(LEAST_BYTES, MOST_BYTES);
        Ok(files::metadata(&self.path_of(segment))?.is_some_and(|metadata| metadata.len() >= full))
    }

    /// Creates the segment that follows a full one.
    fn start_after(self, full: Segment) -> Result<Segment, StoreError> {
        let lines = LineFile::open(&self.path_of(full))?;
        let count = lines.map_or(Ok(0), |lines| lines.count())?;
        let next = Segment(full.0.saturating_add(count.max(1)));
        // An existing one was created by a writer that was killed or had no lock: it is just as good.
        let _made = files::create_empty(&self.path_of(next))?;
        Ok(next)
    }

    /// Deletes the segments that are wholly before the last `keep` events.
    fn remove_old(self, segments: &[Segment], keep: u64) -> Result<(), StoreError> {
        let Some(newest) = segments.last() else { return Ok(()) };
        for pair in segments.windows(2) {
            if newest.0 - pair[1].0 < keep {
                break;
            }
            files::remove(&self.path_of(pair[0]))?;
        }
        Ok(())
    }
}

/// A file of the feed, identified by the number of events before it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, serde::Deserialize, serde::Serialize)]
struct Segment(u64);

impl Segment {
    fn file(self) -> String {
        format!("{:012}.jsonl", self.0)
    }

    fn of_file(name: &str) -> Option<Self> {
        let segment = Self(name.strip_suffix(".jsonl")?.parse().ok()?);
        (segment.file() == name).then_some(segment)
    }
}
