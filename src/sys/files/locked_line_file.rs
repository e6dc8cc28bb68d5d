//! A locked file of lines that several processes append to and any may compact.
//!
//! A writer holds the file's own lock, so that no line is appended to a file that has been replaced. A reader needs no
//! lock: a line is appended by one write, and a replacement is a whole file.

use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fs_err::os::unix::fs::OpenOptionsExt as _;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::read::LONGEST_NOTE;
use super::{AS_PUT_THERE, FILE_MODE, FileError, Files, only_plain};
use crate::sys::clock;
use crate::sys::test_switches::step;

/// Pause between attempts to lock. Others hold the lock for microseconds.
const PAUSE: Duration = Duration::from_micros(200);

/// The file with its lock held.
#[derive(Debug)]
#[must_use = "the file is free again as soon as this is dropped"]
pub struct LockedLineFile {
    path: PathBuf,
    file: Flock<std::fs::File>,
    /// Only who holds the lock changes it.
    length: u64,
}

impl LockedLineFile {
    /// Opens and locks the file, and creates it if necessary. `None`: another process held the lock for the whole
    /// `limit`.
    pub fn open(path: &Path, limit: Duration) -> Result<Option<Self>, FileError> {
        let give_up = Instant::now() + limit;
        loop {
            step();
            let mut options = fs_err::OpenOptions::new();
            options.read(true).append(true).create(true).mode(FILE_MODE).custom_flags(AS_PUT_THERE);
            let opened = options.open(path)?.into_file();
            let Some(file) = lock(opened, path, give_up)? else { return Ok(None) };
            let metadata = file.metadata().map_err(|error| named("look at", error, path))?;
            only_plain(&metadata, path)?;
            // Without a name it was replaced or removed before we got the lock.
            if metadata.nlink() > 0 {
                return Ok(Some(Self { path: path.to_path_buf(), file, length: metadata.len() }));
            }
        }
    }

    /// The content, up to 8 MiB; a longer file is not ours.
    pub fn read(&mut self) -> Result<Vec<u8>, FileError> {
        let mut content = Vec::new();
        let start = self.file.seek(SeekFrom::Start(0));
        let read = start.and_then(|_| (&mut *self.file).take(LONGEST_NOTE).read_to_end(&mut content));
        read.map_err(|error| named("read", error, &self.path))?;
        Ok(content)
    }

    /// Appends a line, which contains no newline, and sets the file's time to now. Returns the file's length.
    pub fn add(&mut self, line: &[u8]) -> Result<u64, FileError> {
        // A leading newline ends what a killed writer may have left of its line.
        let whole = [b"\n", line, b"\n"].concat();
        step();
        let written = self.file.write_all(&whole);
        step();
        let dated = written.and_then(|()| self.file.set_modified(clock::machine_time()));
        dated.map_err(|error| named("write", error, &self.path))?;
        self.length += whole.len() as u64;
        Ok(self.length)
    }

    /// Replaces the file.
    pub fn replace(self, files: &Files, content: &[u8]) -> Result<(), FileError> {
        files.replace(&self.path, content)
    }
}

pub(super) fn lock(
    mut file: std::fs::File,
    path: &Path,
    give_up: Instant,
) -> Result<Option<Flock<std::fs::File>>, FileError> {
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(held) => return Ok(Some(held)),
            Err((same, Errno::EWOULDBLOCK | Errno::EINTR)) => file = same,
            Err((_, errno)) => return Err(named("lock", errno.into(), path).into()),
        }
        if Instant::now() >= give_up {
            return Ok(None);
        }
        clock::pause(PAUSE);
    }
}

pub(super) fn named(verb: &str, error: std::io::Error, path: &Path) -> std::io::Error {
    std::io::Error::new(error.kind(), format!("cannot {verb} `{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::settings::Durability;
    use crate::sys::files::read;

    const LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn no_line_is_lost_when_the_file_is_replaced_all_the_time() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::new(dir.path().join("tmp"), Durability::Process);
        let path = dir.path().join("lines");
        let count = |content: &[u8]| -> u64 {
            String::from_utf8_lossy(content).lines().filter_map(|line| line.parse::<u64>().ok()).sum()
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..250 {
                        LockedLineFile::open(&path, LIMIT).unwrap().unwrap().add(b"1").unwrap();
                    }
                });
            }
            scope.spawn(|| {
                for _ in 0..250 {
                    let mut file = LockedLineFile::open(&path, LIMIT).unwrap().unwrap();
                    let sum = count(&file.read().unwrap());
                    file.replace(&files, format!("{sum}\n").as_bytes()).unwrap();
                }
            });
        });
        assert_eq!(count(&read(&path).unwrap().unwrap()), 1000);
    }

    #[test]
    fn whoever_holds_it_for_long_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines");
        let held = LockedLineFile::open(&path, LIMIT).unwrap().unwrap();
        assert!(LockedLineFile::open(&path, Duration::from_millis(1)).unwrap().is_none());
        drop(held);
        assert!(LockedLineFile::open(&path, Duration::ZERO).unwrap().is_some());
    }

    #[test]
    fn a_line_that_was_cut_short_spoils_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines");
        LockedLineFile::open(&path, LIMIT).unwrap().unwrap().file.write_all(b"\n{\"half\":").unwrap();
        let mut file = LockedLineFile::open(&path, LIMIT).unwrap().unwrap();
        assert_eq!(file.add(b"whole").unwrap(), 16);
        assert_eq!(file.read().unwrap(), b"\n{\"half\":\nwhole\n");
    }
}
