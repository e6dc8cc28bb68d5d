//! The only module that changes the file system.
//!
//! A file that another process may read is written under a private name in `tmp/` and then *published* (must not exist
//! yet) or *replaced* (may exist) in one step, so that nobody ever sees half a file. A file that several processes may
//! want is *taken* by a rename, which exactly one of them wins. Every change calls [`step`] first, so that a test can
//! kill the process before any of them.
//!
//! Publishing is one `renameat2` with `RENAME_NOREPLACE`; where the kernel or the file system does not have it, a hard
//! link and a removal. A file of ours is opened for writing without following links, so nothing is written through a
//! link that somebody put there.

mod append;
mod bounded_log;
mod foreign_files;
mod lines;
mod locked_line_file;
mod locked_log_file;
mod mtime;
mod process_mark;
mod ranged;
mod read;
mod scratch;
#[cfg(test)]
mod tests;
mod trees;
mod walk;

use std::fs::Metadata;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;

use crate::domain::settings::Durability;
use crate::domain::{Liveness, RecordedProcess};

use super::test_switches::{self, step};
use super::{clock, process};

pub use append::append_line;
pub use bounded_log::BoundedLog;
pub use foreign_files::{
    destination, is_of_another, link, make_room, missing_above, publish_beside, publish_link, put_back,
    read_link, read_only, remove_through, replace_beside, replace_with_link, sweep_beside, sweep_in,
    write_through, write_through_if,
};
pub use lines::{FileLine, LineFile, LinePosition, LinesSince, MAX_LINE};
pub use locked_line_file::LockedLineFile;
pub use locked_log_file::{LockedLogFile, LogFileLock};
pub use mtime::{refresh, touch, touch_dir};
pub use process_mark::{mark_of, own_mark, owner_of};
pub use ranged::RangedFile;
pub use read::{
    BoundedRead, DirectoryEntry, FileId, FileStamp, entries, exists, has_only_names, has_second_name,
    is_dev_null, link_metadata, linked, list, list_from, metadata, read, read_at_most, read_large, read_note,
    stamps,
};
pub use scratch::{Scratch, create_new_dir};
pub use trees::{copy_new, copy_with_time, create_shared_dir, remove_tree, sweep_directories};
pub use walk::Walk;

use read::absent_is_none;

/// Modes of our directories and files: accessible only to the user.
pub const DIR_MODE: u32 = 0o700;
pub const FILE_MODE: u32 = 0o600;

/// Flags for opening our own files for writing: a link in place of one could lead anywhere, and opening a pipe would
/// block.
const AS_PUT_THERE: i32 = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;

/// An I/O error. The source names the path and the operation.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct FileError {
    #[source]
    pub source: io::Error,
}

impl FileError {
    /// Whether the file became shorter while it was read.
    pub fn is_shrunk(&self) -> bool {
        self.source.kind() == io::ErrorKind::UnexpectedEof
    }

    /// Whether the file is larger than any that we read.
    pub fn is_oversized(&self) -> bool {
        self.source.kind() == io::ErrorKind::InvalidData
    }

    /// Whether the file system is read-only or we lack permission.
    pub fn is_forbidden(&self) -> bool {
        matches!(self.source.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied)
    }

    /// Whether the disk or the user's quota is full, or a size limit was reached.
    pub fn is_full(&self) -> bool {
        matches!(
            self.source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        )
    }
}

impl From<io::Error> for FileError {
    fn from(source: io::Error) -> Self {
        Self { source }
    }
}

/// Whether a file was created, or one existed already.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use = "the file may belong to somebody else"]
pub enum Published {
    Done,
    Exists,
}

/// Writes whole files into directories on one file system, through a private directory on the same one.
#[derive(Clone, Debug)]
pub struct Files {
    tmp: PathBuf,
    durability: Durability,
}

impl Files {
    pub fn new(tmp: PathBuf, durability: Durability) -> Self {
        Self { tmp, durability }
    }

    /// Puts a whole file at `target`. If there is one, nothing changes.
    pub fn publish(&self, target: &Path, content: &[u8]) -> Result<Published, FileError> {
        let private = self.write_private(content)?;
        let published = private.publish(target)?;
        self.sync_parent(target)?;
        Ok(published)
    }

    /// Puts a whole file at `target`, replacing any existing one.
    pub fn replace(&self, target: &Path, content: &[u8]) -> Result<(), FileError> {
        self.put(self.prepare(content)?, target)
    }

    /// Writes a private file, to be put into place later. It is removed if it is not.
    pub fn prepare(&self, content: &[u8]) -> Result<PreparedFile, FileError> {
        Ok(PreparedFile(self.write_private(content)?))
    }

    /// Puts a prepared file at `target`, replacing any existing one.
    pub fn put(&self, prepared: PreparedFile, target: &Path) -> Result<(), FileError> {
        prepared.0.replace(target)?;
        self.sync_parent(target)
    }

    /// Creates a private file that exists as long as the value, to be linked to a public name.
    pub fn keep(&self, content: &[u8]) -> Result<LinkableFile, FileError> {
        let private = self.write_private(content)?;
        let file = fs::OpenOptions::new().write(true).open(&private.path)?;
        Ok(LinkableFile { private, file })
    }

    /// Puts a whole file at two paths, as links to one file: first at `target`, unless there is a file, then at
    /// `record`. `None`: the directory of `target` does not exist.
    pub fn publish_twice(
        &self,
        target: &Path,
        record: &Path,
        content: &[u8],
    ) -> Result<Option<Published>, FileError> {
        let private = self.write_private(content)?;
        step();
        #[expect(clippy::disallowed_methods, reason = "this module implements it")]
        match fs::hard_link(&private.path, target) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(Some(Published::Exists)),
            Err(error) => return Err(error.into()),
        }
        // An error must not be returned while the file is there, because a retry would create a second one. So the file
        // is removed first. If somebody has taken it by now, this was not a failure.
        let recorded = self.sync_parent(target).and_then(|()| self.record(private, record));
        match recorded {
            Err(error) if remove(target)? => {
                remove(record)?;
                Err(error)
            }
            _ => Ok(Some(Published::Done)),
        }
    }

    /// Renames a private file to its record, unless there is one.
    fn record(&self, private: Private, record: &Path) -> Result<(), FileError> {
        match rename_without_replacing(&private.path, record) {
            Ok(()) => std::mem::forget(private),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
        self.sync_parent(record)
    }

    /// [`Files::take`] into a directory that is created if necessary.
    pub fn take_into(&self, from: &Path, dir: &Path, to: &Path) -> Result<bool, FileError> {
        match self.take(from, to) {
            // The directory is missing. Creating it does no harm if another process has done so by now.
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => {
                create_dir(dir)?;
                self.take(from, to)
            }
            // Another process created the directory after the first attempt and before the look for it.
            Ok(false) if exists(from)? => self.take(from, to),
            taken => taken,
        }
    }

    /// Moves a file that other processes may want, too. `false`: another process was first.
    pub fn take(&self, from: &Path, to: &Path) -> Result<bool, FileError> {
        step();
        #[expect(clippy::disallowed_methods, reason = "this module implements it")]
        match fs::rename(from, to) {
            Ok(()) => {
                self.sync_parent(to)?;
                self.sync_parent(from)?;
                Ok(true)
            }
            // If the target directory exists, the source was missing, even if the process that took it has put it back
            // by now.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let has_place = to.parent().map_or(Ok(true), exists)?;
                if has_place || !exists(from)? { Ok(false) } else { Err(error.into()) }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Moves a file back to where it was. If there is another one by now, nothing changes.
    pub fn put_back(&self, from: &Path, to: &Path) -> Result<Published, FileError> {
        match rename_without_replacing(from, to) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(Published::Exists),
            Err(error) => return Err(error.into()),
        }
        self.sync_parent(to)?;
        Ok(Published::Done)
    }

    /// Removes private files of processes that are gone. Returns their number.
    pub fn sweep(&self) -> Result<usize, FileError> {
        let mut swept = 0;
        for private in self.strays()? {
            if private.liveness == Liveness::Gone && remove(&private.path)? {
                swept += 1;
            }
        }
        Ok(swept)
    }

    /// The private files of all processes, including live ones.
    pub fn strays(&self) -> Result<Vec<LeftoverFile>, FileError> {
        let mut strays = Vec::new();
        for name in list(&self.tmp)? {
            let liveness = match owner_of(&name) {
                Some(owner) => process::liveness(&RecordedProcess::Pinned(owner)),
                None => Liveness::Unknown,
            };
            strays.push(LeftoverFile { path: self.tmp.join(&name), liveness });
        }
        Ok(strays)
    }

    fn write_private(&self, content: &[u8]) -> Result<Private, FileError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = self.tmp.join(format!("{}.{count}", own_mark()));
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true).mode(FILE_MODE);
        step();
        let mut file = match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create_dir(&self.tmp)?;
                step();
                options.open(&path)?
            }
            opened => opened?,
        };
        let private = Private { path };
        step();
        file.write_all(content)?;
        if self.durability == Durability::Power {
            step();
            file.sync_all()?;
        }
        Ok(private)
    }

    fn sync_parent(&self, path: &Path) -> Result<(), FileError> {
        if let (Durability::Power, Some(parent)) = (self.durability, path.parent()) {
            step();
            if test_switches::value(test_switches::FAIL_SYNC).is_some_and(|place| parent.ends_with(place)) {
                return Err(io::Error::from(io::ErrorKind::Other).into());
            }
            fs::File::open(parent)?.sync_all()?;
        }
        Ok(())
    }
}

/// A file in `tmp/`.
#[derive(Debug)]
pub struct LeftoverFile {
    pub path: PathBuf,
    /// Whether the process that created it is alive; unknown if the name does not identify a process.
    pub liveness: Liveness,
}

/// A private file with its whole content, for [`Files::put`].
#[derive(Debug)]
#[must_use = "the file is removed when this is dropped"]
pub struct PreparedFile(Private);

/// A private file that can be published repeatedly by a hard link.
#[derive(Debug)]
pub struct LinkableFile {
    private: Private,
    file: fs::File,
}

impl LinkableFile {
    /// Links it to `target` with the current time, unless there is a file.
    pub fn show(&self, target: &Path) -> Result<Published, FileError> {
        step();
        self.file.set_modified(clock::machine_time())?;
        step();
        #[expect(clippy::disallowed_methods, reason = "this module implements it")]
        match fs::hard_link(&self.private.path, target) {
            Ok(()) => Ok(Published::Done),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Published::Exists),
            Err(error) => Err(error.into()),
        }
    }

    pub fn metadata(&self) -> Result<Metadata, FileError> {
        Ok(self.file.metadata()?)
    }
}

/// A private file that is published, replaces another file, or is removed when dropped.
#[derive(Debug)]
struct Private {
    path: PathBuf,
}

impl Private {
    fn publish(self, target: &Path) -> Result<Published, FileError> {
        match rename_without_replacing(&self.path, target) {
            Ok(()) => {
                std::mem::forget(self);
                Ok(Published::Done)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Published::Exists),
            Err(error) => Err(error.into()),
        }
    }

    fn replace(self, target: &Path) -> Result<(), FileError> {
        step();
        #[expect(clippy::disallowed_methods, reason = "this module implements it")]
        fs::rename(&self.path, target)?;
        std::mem::forget(self);
        Ok(())
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // If this fails, too, the file is swept once this process is gone.
        drop(remove(&self.path));
    }
}

/// Renames a file, but fails if the target exists. Uses a hard link where the kernel cannot do it in one step.
fn rename_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use nix::errno::Errno;
        use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
        step();
        match renameat2(AT_FDCWD, from, AT_FDCWD, to, RenameFlags::RENAME_NOREPLACE) {
            Ok(()) => return Ok(()),
            // Not supported by the kernel or the file system.
            Err(Errno::EINVAL | Errno::ENOSYS | Errno::EOPNOTSUPP) => {}
            Err(errno) => {
                let error = io::Error::from(errno);
                let text = format!("cannot move a file to `{}`: {error}", to.display());
                return Err(io::Error::new(error.kind(), text));
            }
        }
    }
    step();
    #[expect(clippy::disallowed_methods, reason = "this module implements it")]
    fs::hard_link(from, to)?;
    step();
    #[expect(clippy::disallowed_methods, reason = "this module implements it")]
    fs::remove_file(from)
}

/// Overwrites the start of an existing file.
pub fn overwrite(path: &Path, content: &[u8]) -> Result<(), FileError> {
    let mut file = plain(fs::OpenOptions::new().write(true).custom_flags(AS_PUT_THERE).open(path)?)?;
    step();
    Ok(file.write_all(content)?)
}

/// Creates an empty file, unless there is one.
pub fn create_empty(path: &Path) -> Result<Published, FileError> {
    step();
    match fs::OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path) {
        Ok(_) => Ok(Published::Done),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Published::Exists),
        Err(error) => Err(error.into()),
    }
}

/// Creates a directory and its missing parents, accessible only to the user.
pub fn create_dir(path: &Path) -> Result<(), FileError> {
    step();
    #[expect(clippy::disallowed_methods, reason = "this module implements it")]
    let created = std::fs::DirBuilder::new().recursive(true).mode(DIR_MODE).create(path);
    created.map_err(|error| {
        let text = format!("cannot create the directory `{}`: {error}", path.display());
        io::Error::new(error.kind(), text).into()
    })
}

/// Removes a file. `false`: there was none.
pub fn remove(path: &Path) -> Result<bool, FileError> {
    step();
    #[expect(clippy::disallowed_methods, reason = "this module implements it")]
    found(fs::remove_file(path))
}

/// Removes an empty directory. `false`: there was none, or it is not empty.
pub fn remove_dir(path: &Path) -> Result<bool, FileError> {
    step();
    #[expect(clippy::disallowed_methods, reason = "this module implements it")]
    match fs::remove_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
        result => found(result),
    }
}

/// Sets the permission bits.
pub fn set_mode(path: &Path, mode: u32) -> Result<(), FileError> {
    step();
    #[expect(clippy::disallowed_methods, reason = "this module implements it")]
    Ok(fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?)
}

/// Opens a lock file, and creates it if necessary. Its content has no meaning. A directory works as well.
pub fn open_lock_file(path: &Path) -> Result<fs::File, FileError> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).custom_flags(AS_PUT_THERE);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            step();
            Ok(options.create(true).mode(FILE_MODE).open(path)?)
        }
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => Ok(fs::File::open(path)?),
        opened => Ok(opened?),
    }
}

/// Rejects anything but a plain file, which somebody else may have put there.
fn plain(file: fs::File) -> Result<fs::File, FileError> {
    only_plain(&file.metadata()?, file.path())?;
    Ok(file)
}

fn only_plain(metadata: &std::fs::Metadata, path: &Path) -> Result<(), FileError> {
    if metadata.is_file() {
        return Ok(());
    }
    let text = format!("`{}` is not a plain file", path.display());
    Err(io::Error::new(io::ErrorKind::InvalidInput, text).into())
}

fn found(result: io::Result<()>) -> Result<bool, FileError> {
    absent_is_none(result).map(|done| done.is_some())
}
