//! Reading files, directories and metadata. Nothing here changes anything.
//!
//! Anybody who can write to the mesh may have put a pipe, a device or a huge file in the place of a file. So no open
//! waits for the other end of a pipe, and no more than 64 MiB are read into memory. An optional file (`read_note`) that
//! is not a plain file or too large counts as absent; any other is an error that names the path.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::io::{self, Read as _};
use std::os::fd::AsFd;
use std::path::Path;

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use nix::sys::stat;

use super::FileError;

/// The largest file that we read whole, in bytes. The largest of ours is `completions.json`, at about 200 bytes per
/// task.
const MOST: u64 = 64 * 1024 * 1024;

/// The largest optional file that we read, in bytes.
pub(super) const LONGEST_NOTE: u64 = 8 * 1024 * 1024;

/// The content of a file; `None` if there is none.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    let Some(mut file) = open(path)? else { return Ok(None) };
    read_whole(&mut file, MOST)?.map_or_else(|| Err(oversized(path)), |content| Ok(Some(content)))
}

/// Opens a file for reading. Opening a pipe that somebody put there must not wait for a writer.
fn open(path: &Path) -> Result<Option<fs::File>, FileError> {
    absent_is_none(fs::OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path))
}

fn oversized(path: &Path) -> FileError {
    let text = format!("`{}` is larger than {} MiB", path.display(), MOST >> 20);
    io::Error::new(io::ErrorKind::InvalidData, text).into()
}

/// What was read of a file whose size is limited.
#[derive(Debug)]
pub enum BoundedRead {
    Absent,
    TooLarge,
    Content(Vec<u8>),
}

impl BoundedRead {
    /// The content; `None` if there is no file, or it is too large.
    pub fn content(self) -> Option<Vec<u8>> {
        match self {
            Self::Content(bytes) => Some(bytes),
            Self::Absent | Self::TooLarge => None,
        }
    }
}

/// The content of a plain file of at most `most` bytes, without following a link.
pub fn read_at_most(path: &Path, most: u64) -> Result<BoundedRead, FileError> {
    let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
    let opened = fs::OpenOptions::new().read(true).custom_flags(flags).open(path);
    let Some(mut file) = absent_is_none(opened)? else { return Ok(BoundedRead::Absent) };
    Ok(read_whole(&mut file, most)?.map_or(BoundedRead::TooLarge, BoundedRead::Content))
}

/// The content of an optional file; `None` also if it is not a plain file or too large.
pub fn read_note(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    let is_plain = |metadata: Metadata| metadata.is_file() && metadata.len() <= LONGEST_NOTE;
    if !link_metadata(path)?.is_some_and(is_plain) {
        return Ok(None);
    }
    Ok(read_at_most(path, LONGEST_NOTE)?.content())
}

/// Reads a whole file; `None` if it is longer than `most`. Nearly all of our files fit into one read, so the length is
/// not queried first: a mesh is many small files.
fn read_whole(file: &mut fs::File, most: u64) -> Result<Option<Vec<u8>>, FileError> {
    let file: &fs::File = file;
    read_to_end(&mut &*file, most, || Ok(file.metadata()?.len()))
}

/// Reads until a read returns nothing. A short read is not the end: some file systems return less than requested.
fn read_to_end(
    reader: &mut impl io::Read,
    most: u64,
    length: impl Fn() -> io::Result<u64>,
) -> Result<Option<Vec<u8>>, FileError> {
    let mut buffer = [0; 4096];
    let mut content = Vec::new();
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(Some(content)),
            Ok(count) => {
                content.extend_from_slice(&buffer[..count]);
                if content.len() as u64 > most {
                    return Ok(None);
                }
                // For a longer file it is worth querying the length: nothing is read in vain, and the rest at once.
                if content.len() == buffer.len() {
                    let length = length()?;
                    if length > most {
                        return Ok(None);
                    }
                    let read = content.len() as u64;
                    content.reserve_exact(length.saturating_sub(read) as usize + 1);
                    io::Read::take(&mut *reader, most - read + 1).read_to_end(&mut content)?;
                    return Ok((content.len() as u64 <= most).then_some(content));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The content of a file that may be large; `None` if there is none.
pub fn read_large(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    let Some(file) = open(path)? else { return Ok(None) };
    let length = file.metadata()?.len();
    if length > MOST {
        return Err(oversized(path));
    }
    let mut content = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    // A device has no length, and may have no end. The file itself is read because a wrapper would fill the space with
    // zeros first.
    let mut limited = io::Read::take(file.file(), MOST + 1);
    io::Read::read_to_end(&mut limited, &mut content).map_err(|error| {
        let text = format!("failed to read from file `{}`: {error}", path.display());
        io::Error::new(error.kind(), text)
    })?;
    if content.len() as u64 > MOST {
        return Err(oversized(path));
    }
    Ok(Some(content))
}

/// The result of `stat`; `None` if there is nothing.
pub fn metadata(path: &Path) -> Result<Option<Metadata>, FileError> {
    absent_is_none(fs::metadata(path))
}

/// The result of `lstat`; `None` if there is nothing.
pub fn link_metadata(path: &Path) -> Result<Option<Metadata>, FileError> {
    absent_is_none(fs::symlink_metadata(path))
}

pub fn exists(path: &Path) -> Result<bool, FileError> {
    Ok(link_metadata(path)?.is_some())
}

/// Whether the file has more than one hard link.
pub fn has_second_name(path: &Path) -> Result<bool, FileError> {
    use std::os::unix::fs::MetadataExt;
    Ok(link_metadata(path)?.is_some_and(|metadata| metadata.nlink() > 1))
}

/// Identifies a file, whatever its name.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct FileId {
    pub device: u64,
    pub inode: u64,
}

impl FileId {
    pub fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// The id of the plain file at that path, if it has several hard links.
pub fn linked(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::symlink_metadata(path).ok()?;
    (metadata.is_file() && metadata.nlink() > 1).then(|| FileId::of(&metadata))
}

/// Whether that is `/dev/null`, which a standard output that was closed before we started becomes.
pub fn is_dev_null(output: &impl AsFd) -> bool {
    let (ours, null) = (stat::fstat(output), stat::stat("/dev/null"));
    let is_device =
        |file: &stat::FileStat| stat::SFlag::from_bits_truncate(file.st_mode).contains(stat::SFlag::S_IFCHR);
    ours.is_ok_and(|ours| null.is_ok_and(|null| is_device(&null) && ours.st_rdev == null.st_rdev))
}

/// The names in a directory, sorted; empty if there is no directory. Names that are not UTF-8 are left out: none of
/// ours are.
pub fn list(path: &Path) -> Result<Vec<String>, FileError> {
    list_from(path, "")
}

/// The same, without the names that sort before `first`. Those cost little more than listing them.
pub fn list_from(path: &Path, first: &str) -> Result<Vec<String>, FileError> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        if let Ok(name) = entry?.file_name().into_string()
            && name.as_str() >= first
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Whether `holds` is true for every name in the directory. Stops at the first for which it is not.
pub fn has_only_names(path: &Path, mut holds: impl FnMut(&OsStr) -> bool) -> Result<bool, FileError> {
    for entry in fs::read_dir(path)? {
        if !holds(&entry?.file_name()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Metadata that shows whether a file was changed.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, Eq, PartialEq, serde::Serialize)]
pub struct FileStamp {
    pub inode: u64,
    pub size: u64,
    /// Nanoseconds since the epoch.
    pub modified: i64,
    pub changed: i64,
}

impl FileStamp {
    pub fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            inode: metadata.ino(),
            size: metadata.len(),
            modified: nanos(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// The later of the two times.
    pub fn newest(&self) -> std::time::SystemTime {
        let nanos = self.modified.max(self.changed).try_into().unwrap_or(0);
        std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_nanos(nanos)
    }
}

/// Nanoseconds since the epoch. Times out of range become the minimum or maximum.
fn nanos(seconds: i64, nanos: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

/// The stamps of files in one directory, in the order of `names`; `None` for a missing file. Uses the open directory,
/// which is faster for a thousand files.
pub fn stamps(dir: &Path, names: &[String]) -> Result<Vec<Option<FileStamp>>, FileError> {
    use nix::fcntl::AtFlags;
    let Some(open) = absent_is_none(fs::File::open(dir))? else { return Ok(vec![None; names.len()]) };
    let stamp = |name: &String| match nix::sys::stat::fstatat(open.file(), name.as_str(), AtFlags::empty()) {
        Ok(stat) => Ok(Some(FileStamp {
            inode: stat.st_ino,
            size: stat.st_size.try_into().unwrap_or(0),
            modified: nanos(stat.st_mtime, stat.st_mtime_nsec),
            changed: nanos(stat.st_ctime, stat.st_ctime_nsec),
        })),
        Err(errno) => {
            let error = io::Error::from(errno);
            let text = format!("cannot look at `{}`: {error}", dir.join(name).display());
            absent_is_none(Err(io::Error::new(error.kind(), text)))
        }
    };
    names.iter().map(stamp).collect()
}

/// A name in a directory, and whether it is a plain file.
#[derive(Clone, Debug)]
pub struct DirectoryEntry {
    pub name: String,
    pub is_file: bool,
}

/// Like [`list`], with the kind of each entry.
pub fn entries(path: &Path) -> Result<Vec<DirectoryEntry>, FileError> {
    let Some(read) = absent_is_none(fs::read_dir(path))? else { return Ok(Vec::new()) };
    let mut entries = Vec::new();
    for entry in read {
        let entry = entry?;
        if let Ok(name) = entry.file_name().into_string() {
            entries.push(DirectoryEntry { name, is_file: entry.file_type()?.is_file() });
        }
    }
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// Turns "not found" into `None`.
pub(super) fn absent_is_none<T>(result: io::Result<T>) -> Result<Option<T>, FileError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // A path below a file does not exist either.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a few bytes at a time, as some network file systems do.
    struct Slow<'a>(&'a [u8]);

    impl io::Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(buffer.len()).min(7);
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn a_short_read_is_not_the_end() {
        for length in [0, 6, 7, 8, 4095, 4096, 5000] {
            let whole = vec![b'x'; length];
            let read = read_to_end(&mut Slow(&whole), 1 << 20, || Ok(length as u64)).unwrap();
            assert_eq!(read, Some(whole), "{length}");
        }
        assert_eq!(read_to_end(&mut Slow(&[b'x'; 100]), 50, || Ok(100)).unwrap(), None);
    }
}
