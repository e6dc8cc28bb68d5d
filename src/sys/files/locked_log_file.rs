//! A file that one process at a time appends whole frames to, and that another may remove.
//!
//! Whoever appends or removes holds the file's own lock. A reader needs none: what is there is never changed.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use nix::fcntl::Flock;

use super::locked_line_file::{lock, named};
use super::read::absent_is_none;
use super::{AS_PUT_THERE, FileError, FileId, Files, Published, only_plain};
use crate::domain::settings::Durability;
use crate::sys::test_switches::step;

/// The file with its lock held.
#[derive(Debug)]
#[must_use = "the file is free again as soon as this is dropped"]
pub struct LockedLogFile {
    path: PathBuf,
    file: Flock<std::fs::File>,
    id: FileId,
    /// Only who holds the lock changes it.
    length: u64,
}

/// The result of an attempt to lock a file.
#[derive(Debug)]
pub enum LogFileLock {
    /// There is no such file, perhaps because it was removed meanwhile.
    Absent,
    /// Another process held it for the whole time.
    Busy,
    Held(LockedLogFile),
}

impl LockedLogFile {
    /// Locks an existing file.
    pub fn open(path: &Path, limit: Duration) -> Result<LogFileLock, FileError> {
        let mut options = fs::OpenOptions::new();
        options.read(true).append(true).custom_flags(AS_PUT_THERE);
        let Some(opened) = absent_is_none(options.open(path))? else { return Ok(LogFileLock::Absent) };
        let Some(file) = lock(opened.into_file(), path, Instant::now() + limit)? else {
            return Ok(LogFileLock::Busy);
        };
        let metadata = file.metadata().map_err(|error| named("look at", error, path))?;
        only_plain(&metadata, path)?;
        let id = FileId::of(&metadata);
        let there = super::link_metadata(path)?;
        if there.is_none_or(|there| FileId::of(&there) != id) {
            return Ok(LogFileLock::Absent);
        }
        Ok(LogFileLock::Held(Self { path: path.to_path_buf(), file, id, length: metadata.len() }))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn id(&self) -> FileId {
        self.id
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// The content, if it has at most `most` bytes.
    pub fn read(&mut self, most: u64) -> Result<Option<Vec<u8>>, FileError> {
        if self.length > most {
            return Ok(None);
        }
        let mut content = Vec::new();
        let start = self.file.seek(SeekFrom::Start(0));
        let read = start.and_then(|_| (&mut *self.file).take(self.length).read_to_end(&mut content));
        read.map_err(|error| named("read", error, &self.path))?;
        Ok(Some(content))
    }

    /// Appends the bytes. If they can't be written, the file is cut to its old length.
    pub fn append(&mut self, bytes: &[u8], durability: Durability) -> Result<(), FileError> {
        step();
        if let Err(error) = self.file.write_all(bytes) {
            // If this fails, too, a reader finds a frame that was cut short.
            self.file.set_len(self.length).ok();
            return Err(named("write", error, &self.path).into());
        }
        self.length += bytes.len() as u64;
        if durability == Durability::Power {
            step();
            self.file.sync_data().map_err(|error| named("sync", error, &self.path))?;
        }
        Ok(())
    }
}

impl Files {
    /// Puts a whole file at `target` whose content names the file's own id. If there is one, nothing changes.
    pub fn publish_identified(
        &self,
        target: &Path,
        content: impl FnOnce(FileId) -> Vec<u8>,
    ) -> Result<Published, FileError> {
        let private = self.write_private(b"")?;
        let mut file = fs::OpenOptions::new().write(true).custom_flags(AS_PUT_THERE).open(&private.path)?;
        let content = content(FileId::of(&file.metadata()?));
        step();
        file.write_all(&content)?;
        if self.durability == Durability::Power {
            step();
            file.sync_all()?;
        }
        let published = private.publish(target)?;
        self.sync_parent(target)?;
        Ok(published)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::files::{read, remove};

    const LIMIT: Duration = Duration::from_secs(60);

    fn held(path: &Path) -> LockedLogFile {
        match LockedLogFile::open(path, LIMIT).unwrap() {
            LogFileLock::Held(file) => file,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_file_that_was_removed_is_not_appended_to() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::new(dir.path().join("tmp"), Durability::Process);
        let path = dir.path().join("log");
        assert!(matches!(LockedLogFile::open(&path, LIMIT).unwrap(), LogFileLock::Absent));
        let published = files.publish_identified(&path, |id| format!("{id:?}").into_bytes()).unwrap();
        assert_eq!(published, Published::Done);
        let first = held(&path);
        assert!(matches!(LockedLogFile::open(&path, Duration::ZERO).unwrap(), LogFileLock::Busy));
        let waiting = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| LockedLogFile::open(&path, LIMIT).unwrap());
            remove(&path).unwrap();
            drop(first);
            waiting.join().unwrap()
        });
        assert!(matches!(waiting, LogFileLock::Absent), "{waiting:?}");
    }

    #[test]
    fn what_is_appended_follows_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::new(dir.path().join("tmp"), Durability::Power);
        let path = dir.path().join("log");
        let done = files.publish_identified(&path, |_| b"one".to_vec()).unwrap();
        assert_eq!(done, Published::Done);
        let mut file = held(&path);
        file.append(b"two", Durability::Power).unwrap();
        assert_eq!(file.read(6).unwrap().unwrap(), b"onetwo");
        assert_eq!(file.read(5).unwrap(), None);
        assert_eq!(read(&path).unwrap().unwrap(), b"onetwo");
    }

    #[test]
    fn a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &path).unwrap();
        assert!(LockedLogFile::open(&path, LIMIT).is_err());
    }

    #[test]
    fn a_pipe_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let error = LockedLogFile::open(&path, LIMIT).unwrap_err();
        assert_eq!(error.source.kind(), std::io::ErrorKind::InvalidInput, "{error}");
    }
}
