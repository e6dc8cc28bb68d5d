//! `awareness/<repository>.track`: lines of what agents did. Hooks append to it; the process that counts replaces it.
//!
//! ```text
//! track 3                the generation, which the counts name
//! …                      lines that are counted, and are kept for forecasts and for people
//! counted
//! …                      lines that are not counted yet
//! ```
//!
//! Counting replaces two files: first the counts, then the track. If it is killed in between, the counts name the next
//! generation of the track and how much of this one they hold, so that nothing is counted twice. An event that was not
//! over then loses its prompt.

use std::time::Duration;

use memchr::memmem;

use super::counter_file::{self, CountedPart, CounterFile};
use super::repository_counts::RepositoryCounts;
use crate::domain::awareness::RepositoryId;
use crate::domain::awareness::recent_events::TrackEvents;
use crate::domain::awareness::track::{TrackLine, WrittenLine, escape};
use crate::store::error::StoreError;
use crate::store::handles::AwarenessFiles;
use crate::store::lock_order::{LockOrderGuard, LockRank};
use crate::sys::clock;
use crate::sys::files::{self, LockedLineFile};
use crate::sys::flock::{FileLock, LockError};
use crate::sys::test_switches;

/// How long to wait for the lock on the file. Nobody holds it longer than it takes to write it.
const LOCK_TIMEOUT: Duration = Duration::from_millis(300);
/// The least time between two processes that count.
const BETWEEN_COUNTS: Duration = Duration::from_secs(60);
/// A track of more bytes than this is cut. A longer file would not be read.
const LONGEST: u64 = 6 * 1024 * 1024;
const COUNTED: &str = "counted";
const MARK: &[u8] = b"\ncounted\n";

/// A track as it was read.
#[derive(Clone, Debug, Default)]
pub struct Track {
    pub lines: Vec<TrackLine>,
    /// Where each line begins, in bytes.
    offsets: Vec<u64>,
    head: TrackHead,
}

/// Which part of a track is counted.
#[derive(Clone, Copy, Debug, Default)]
struct TrackHead {
    generation: u64,
    /// Where the mark behind the counted lines is, in bytes.
    mark: u64,
    /// Of all whole lines.
    length: u64,
}

impl TrackHead {
    fn of(content: &[u8]) -> Self {
        let generation = content.strip_prefix(b"track ").and_then(|rest| {
            let digits = rest.split(|byte| *byte == b'\n').next()?;
            std::str::from_utf8(digits).ok()?.parse().ok()
        });
        let mark = memmem::rfind(content, MARK).map_or(0, |at| at as u64 + 1);
        Self { generation: generation.unwrap_or_default(), mark, length: content.len() as u64 }
    }

    /// Lines that begin before this byte are in those counts.
    fn counted_until(self, counts: Option<CountedPart>) -> u64 {
        match counts {
            Some(part) if part.generation == self.generation => self.mark,
            Some(part) if part.generation == self.generation + 1 => part.length.max(self.mark),
            // The counts are lost, and so is what was in them.
            _ => 0,
        }
    }
}

impl Track {
    /// The number of lines that are in those counts. They are the first ones.
    pub fn counted_lines(&self, counts: Option<CountedPart>) -> usize {
        self.lines_before(self.head.counted_until(counts))
    }

    fn lines_before(&self, end: u64) -> usize {
        self.offsets.partition_point(|offset| *offset < end)
    }
}

/// The text of a track.
#[derive(Clone, Debug, Default)]
pub struct TrackText {
    content: Vec<u8>,
    head: TrackHead,
}

impl TrackText {
    fn new(mut content: Vec<u8>) -> Self {
        // Somebody may be appending a line at this moment.
        content.truncate(memchr::memrchr(b'\n', &content).map_or(0, |last| last + 1));
        let head = TrackHead::of(&content);
        Self { content, head }
    }

    /// The lines with the bytes at which they begin.
    fn lines(&self) -> impl Iterator<Item = (u64, &str)> {
        let ends = memchr::memchr_iter(b'\n', &self.content);
        let lines = ends.scan(0, |start, end| {
            let line = std::mem::replace(start, end + 1)..end;
            Some((line.start as u64, &self.content[line]))
        });
        lines.filter_map(|(offset, line)| Some((offset, std::str::from_utf8(line).ok()?)))
    }

    pub fn parse(&self) -> Track {
        let parsed = self.lines().filter_map(|(offset, line)| Some((offset, TrackLine::parse(line)?)));
        let (offsets, lines) = parsed.unzip();
        Track { lines, offsets, head: self.head }
    }

    pub fn recent_events(&self) -> TrackEvents<'_> {
        let mut events = TrackEvents::default();
        for (offset, line) in self.lines() {
            if let Some(line) = WrittenLine::parse(line) {
                events.add(offset, &line);
            }
        }
        events
    }

    /// Lines that begin before this byte are in those counts.
    pub fn counted_until(&self, counts: Option<CountedPart>) -> u64 {
        self.head.counted_until(counts)
    }

    /// How many bytes are not counted.
    pub fn uncounted_bytes(&self, counts: Option<CountedPart>) -> u64 {
        self.head.length.saturating_sub(self.counted_until(counts))
    }
}

/// The right to count a repository: no other process does.
#[derive(Debug)]
#[must_use = "another process may count as soon as this is dropped"]
pub struct CountingLock<'m> {
    files: AwarenessFiles<'m>,
    repository: RepositoryId,
    _held: FileLock,
}

/// What becomes of the lines of a track when they are counted.
#[derive(Clone, Debug, Default)]
pub struct CountedTrack {
    /// Lines that are counted, and are kept.
    pub kept: Vec<TrackLine>,
    /// Lines of events that are not over.
    pub open: Vec<TrackLine>,
}

impl<'m> AwarenessFiles<'m> {
    /// Appends a line. `None`: another process held the file for the whole wait, and the line is not recorded.
    pub fn append(self, repository: &RepositoryId, line: &TrackLine) -> Result<Option<u64>, StoreError> {
        let Some((mut file, _turn)) = self.locked(repository)? else { return Ok(None) };
        let length = file.add(line.encode().as_bytes())?;
        if length > LONGEST {
            // Nobody counts here. What is oldest is lost, so that the rest can be read.
            let mut track = TrackText::new(file.read()?).parse();
            let first = track.lines.len() - track.lines.len() / 8;
            let counted = track.lines_before(track.head.mark).saturating_sub(first);
            let rest = track.lines.split_off(first);
            let content = encode(track.head.generation, &rest[..counted], &rest[counted..]);
            file.replace(&self.mesh.files, &content)?;
        }
        Ok(Some(length))
    }

    /// When the counts were made; `None` if there are none.
    pub fn counted_at(self, repository: &RepositoryId) -> Result<Option<std::time::SystemTime>, StoreError> {
        let metadata = files::metadata(&self.mesh.layout.counts(repository))?;
        Ok(metadata.and_then(|metadata| metadata.modified().ok()))
    }

    pub fn track(self, repository: &RepositoryId) -> Result<Track, StoreError> {
        Ok(self.track_text(repository)?.parse())
    }

    /// The text of the track, for whoever needs little of it.
    pub fn track_text(self, repository: &RepositoryId) -> Result<TrackText, StoreError> {
        test_switches::count("track");
        let content = files::read_note(&self.mesh.layout.track(repository))?;
        Ok(TrackText::new(content.unwrap_or_default()))
    }

    /// The lines that name one of these files. A hook asks after every edit, so the others are not parsed.
    pub fn lines_naming(
        self,
        repository: &RepositoryId,
        files: &[&[u8]],
    ) -> Result<Vec<TrackLine>, StoreError> {
        let content = files::read_note(&self.mesh.layout.track(repository))?.unwrap_or_default();
        let names: Vec<String> = files.iter().map(|file| escape(file)).collect();
        let lines = content.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
        let naming = lines.filter(|line| names.iter().any(|name| line.contains(name)));
        Ok(naming.filter_map(TrackLine::parse).collect())
    }

    /// `None`: nothing is counted yet.
    pub fn counts(self, repository: &RepositoryId) -> Result<Option<CounterFile>, StoreError> {
        CounterFile::open(&self.mesh.layout.counts(repository))
    }

    /// Whether a process may be started that counts: none was within the last minute. If so, it counts as started.
    pub fn is_count_due(self, repository: &RepositoryId) -> Result<bool, StoreError> {
        let path = self.mesh.layout.counting_lock(repository);
        let started = files::metadata(&path)?.and_then(|metadata| metadata.modified().ok());
        // A time in the future says nothing: the clock was set back.
        let is_past = |started: &std::time::SystemTime| *started <= clock::machine_time() + BETWEEN_COUNTS;
        if started.filter(is_past).is_some_and(|started| clock::age(started) < BETWEEN_COUNTS) {
            return Ok(false);
        }
        files::create_dir(&self.mesh.layout.directory("awareness"))?;
        files::touch(&path)?;
        Ok(true)
    }

    /// `None`: another process is counting.
    pub fn lock_counting(self, repository: &RepositoryId) -> Result<Option<CountingLock<'m>>, StoreError> {
        files::create_dir(&self.mesh.layout.directory("awareness"))?;
        let held = FileLock::try_acquire(&self.mesh.layout.counting_lock(repository))?;
        let repository = repository.clone();
        Ok(held.map(|held| CountingLock { files: self, repository, _held: held }))
    }

    fn locked(
        self,
        repository: &RepositoryId,
    ) -> Result<Option<(LockedLineFile, LockOrderGuard)>, StoreError> {
        let path = self.mesh.layout.track(repository);
        let order = LockOrderGuard::begin(LockRank::Track, LOCK_TIMEOUT);
        let directory = self.mesh.layout.directory("awareness");
        let file = match LockedLineFile::open(&path, order.left()) {
            Err(_) if !files::exists(&directory)? => {
                files::create_dir(&directory)?;
                LockedLineFile::open(&path, order.left())?
            }
            opened => opened?,
        };
        Ok(file.map(|file| (file, order)))
    }
}

/// The content of a track.
fn encode(generation: u64, counted: &[TrackLine], rest: &[TrackLine]) -> Vec<u8> {
    let text = |lines: &[TrackLine]| lines.iter().map(|line| line.encode() + "\n").collect::<String>();
    format!("track {generation}\n{}{COUNTED}\n{}", text(counted), text(rest)).into_bytes()
}

impl CountingLock<'_> {
    /// Replaces the counts, and the lines of `read` by what is left of them. Lines that hooks appended meanwhile stay.
    pub fn replace(
        &self,
        read: &Track,
        counts: &RepositoryCounts,
        rest: &CountedTrack,
    ) -> Result<(), StoreError> {
        let (mesh, repository) = (self.files.mesh, &self.repository);
        let counted = CountedPart { generation: read.head.generation + 1, length: read.head.length };
        let prepared = mesh.files.prepare(&counter_file::encode(counts, counted))?;
        let Some((mut file, _turn)) = self.files.locked(repository)? else {
            let path = mesh.layout.track(repository);
            return Err(LockError::TimedOut { path, holder: None, limit: LOCK_TIMEOUT }.into());
        };
        let content = file.read()?;
        let newer = content.get(read.head.length as usize..).unwrap_or_default();
        let mut track = encode(counted.generation, &rest.kept, &rest.open);
        track.extend(newer);
        mesh.files.put(prepared, &mesh.layout.counts(repository))?;
        Ok(file.replace(&mesh.files, &track)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::AgentName;
    use crate::domain::awareness::counters::AgentId;
    use crate::domain::awareness::topics::Topic;
    use crate::domain::awareness::track::{Deed, TrackStamp, TreeId};
    use crate::domain::settings::Durability;
    use crate::store::{Mesh, MeshLocation, MeshOptions};

    fn line(at: i64) -> TrackLine {
        let deed = Deed::Changed { tree: TreeId(0), files: vec![format!("file{at}").into_bytes()] };
        TrackLine {
            stamp: TrackStamp { at, agent: AgentId(1), name: AgentName::new("Robin").unwrap() },
            deed,
        }
    }

    fn times(lines: &[TrackLine]) -> Vec<i64> {
        lines.iter().map(|line| line.stamp.at).collect()
    }

    #[test]
    fn lines_that_come_while_others_are_counted_stay() {
        let dir = tempfile::tempdir().unwrap();
        let options = MeshOptions { durability: Durability::Process, lock_timeout: Duration::from_secs(60) };
        let mesh = Mesh::create(&MeshLocation::at(&dir.path().join("mesh")), options).unwrap();
        let (store, repository) = (mesh.awareness(), RepositoryId::of(b"/work"));
        for at in 1..=3 {
            store.append(&repository, &line(at)).unwrap().unwrap();
        }
        let lock = store.lock_counting(&repository).unwrap().unwrap();
        assert!(store.lock_counting(&repository).unwrap().is_none(), "one process counts");
        let read = store.track(&repository).unwrap();
        assert_eq!((times(&read.lines), read.counted_lines(None)), (vec![1, 2, 3], 0));
        assert!(store.track_text(&repository).unwrap().uncounted_bytes(None) > 0);
        store.append(&repository, &line(4)).unwrap().unwrap();
        let rest = CountedTrack { kept: vec![line(2)], open: vec![line(3)] };
        lock.replace(&read, &RepositoryCounts::default(), &rest).unwrap();
        let counts = store.counts(&repository).unwrap().unwrap().counted;
        let after = store.track(&repository).unwrap();
        assert_eq!(times(&after.lines), [2, 3, 4]);
        assert_eq!(after.counted_lines(Some(counts)), 1);
        // As if the process was killed before it replaced the track.
        assert_eq!(read.counted_lines(Some(CountedPart { generation: 1, length: read.head.length })), 3);
        assert_eq!(after.counted_lines(Some(CountedPart { generation: 9, length: 0 })), 0);
    }

    #[test]
    fn a_forecast_knows_which_events_are_counted() {
        let prompt = |at| TrackLine {
            deed: Deed::Prompted { topics: vec![Topic::new("login")], text: None },
            ..line(at)
        };
        let read = TrackLine { deed: Deed::Read { tree: TreeId(0), files: vec![b"x".to_vec()] }, ..line(3) };
        let text =
            TrackText::new(encode(4, &[prompt(1), line(2), read.clone()], &[read, prompt(5), line(6)]));
        let counted = |part| {
            let (events, until) = (text.recent_events().events, text.counted_until(part));
            events.iter().map(|event| (event.at, event.offset < until)).collect::<Vec<_>>()
        };
        let part = |generation, length| Some(CountedPart { generation, length });
        assert_eq!(counted(part(4, 0)), [(2, true), (6, false)]);
        assert_eq!(counted(part(5, 0)), [(2, true), (6, false)]);
        assert_eq!(counted(part(5, text.head.length)), [(2, true), (6, true)]);
        assert_eq!(counted(part(6, 0)), [(2, false), (6, false)]);
        assert_eq!(counted(None), [(2, false), (6, false)]);
        assert_eq!(text.uncounted_bytes(part(5, text.head.length)), 0);
        assert_eq!(text.parse().counted_lines(part(4, 0)), 3);
    }

    #[test]
    fn a_track_that_nobody_counts_loses_what_is_oldest() {
        let dir = tempfile::tempdir().unwrap();
        let options = MeshOptions { durability: Durability::Process, lock_timeout: Duration::from_secs(60) };
        let mesh = Mesh::create(&MeshLocation::at(&dir.path().join("mesh")), options).unwrap();
        let (store, repository) = (mesh.awareness(), RepositoryId::of(b"/work"));
        let long = |at: i64| {
            let deed = Deed::Changed { tree: TreeId(0), files: vec![vec![b'x'; 256 * 1024]] };
            TrackLine { deed, ..line(at) }
        };
        for at in 0..60 {
            store.append(&repository, &long(at)).unwrap().unwrap();
            let read = store.track(&repository).unwrap();
            assert_eq!(times(&read.lines).last(), Some(&at), "the latest is always there");
        }
    }

    #[test]
    fn a_line_that_is_being_appended_is_not_read_yet() {
        let whole = format!("\n{}\n", line(1).encode());
        let half = format!("{whole}\n{}", &line(2).encode()[..20]);
        let track = TrackText::new(half.into_bytes()).parse();
        assert_eq!((times(&track.lines), track.head.length), (vec![1], whole.len() as u64 + 1));
    }
}
