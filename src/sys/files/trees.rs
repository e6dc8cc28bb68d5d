//! Whole trees of files, and copies of files: the work trees of runs.

use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use fs_err::os::unix::fs::OpenOptionsExt as _;

use super::read::absent_is_none;
use super::{
    AS_PUT_THERE, FILE_MODE, FileError, Published, fs, io, link_metadata, list, owner_of, process, step,
};
use crate::domain::{Liveness, RecordedProcess};

/// Copies a plain file to `to`, with its mode, unless something is there. Where the file system can, both share their
/// blocks.
pub fn copy_new(from: &Path, to: &Path) -> Result<Published, FileError> {
    let mut source = fs::OpenOptions::new().read(true).custom_flags(AS_PUT_THERE).open(from)?;
    let metadata = source.metadata()?;
    super::only_plain(&metadata, from)?;
    step();
    // No more than the owner may read it before it has its mode.
    let mut target = match fs::OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(Published::Exists),
        opened => opened?,
    };
    step();
    io::copy(source.file_mut(), target.file_mut()).map_err(|error| named(&error, "cannot copy", from))?;
    target.set_permissions(std::fs::Permissions::from_mode(metadata.mode() & 0o777))?;
    Ok(Published::Done)
}

/// Copies a file, if there is one, with its modification time, which is part of what git's index means.
pub fn copy_with_time(from: &Path, to: &Path) -> Result<(), FileError> {
    let Some(mut source) = absent_is_none(fs::OpenOptions::new().read(true).open(from))? else {
        return Ok(());
    };
    let modified = source.metadata()?.modified()?;
    step();
    let mut target =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(to)?;
    io::copy(source.file_mut(), target.file_mut()).map_err(|error| named(&error, "cannot copy", from))?;
    Ok(target.set_modified(modified)?)
}

/// Creates a directory with the usual mode of this user's files, unlike a directory of ours.
pub fn create_shared_dir(path: &Path) -> Result<(), FileError> {
    step();
    #[expect(clippy::disallowed_methods, reason = "this module implements it")]
    std::fs::create_dir(path).map_err(|error| named(&error, "cannot create", path))
}

/// Removes a directory and all that is in it, also what is in directories without write permission. Links are removed,
/// never followed. It is fine if there is nothing.
pub fn remove_tree(path: &Path) -> Result<(), FileError> {
    let Some(there) = link_metadata(path)? else { return Ok(()) };
    step();
    if there.is_dir() { remove_directory(path, &there) } else { super::remove(path).map(drop) }
}

fn remove_directory(path: &Path, there: &Metadata) -> Result<(), FileError> {
    #[expect(clippy::disallowed_methods, reason = "this module implements it")]
    match std::fs::remove_dir_all(path) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
        Err(error) => return Err(named(&error, "cannot remove", path)),
    }
    open_up(path, there)?;
    #[expect(clippy::disallowed_methods, reason = "this module implements it")]
    std::fs::remove_dir_all(path).map_err(|error| named(&error, "cannot remove", path))
}

/// Gives the owner all permissions for a directory and those below it.
fn open_up(path: &Path, there: &Metadata) -> Result<(), FileError> {
    if there.mode() & 0o700 != 0o700 {
        super::set_mode(path, there.mode() & 0o777 | 0o700)?;
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path(), &entry.metadata()?)?;
        }
    }
    Ok(())
}

/// Removes directories in `parent` whose names begin with the mark of a process that is gone.
pub fn sweep_directories(parent: &Path) -> Result<(), FileError> {
    for name in list(parent)? {
        let owner = owner_of(&name).map(RecordedProcess::Pinned);
        if owner.is_some_and(|owner| process::liveness(&owner) == Liveness::Gone) {
            remove_tree(&parent.join(name))?;
        }
    }
    Ok(())
}

fn named(error: &io::Error, what: &str, path: &Path) -> FileError {
    io::Error::new(error.kind(), format!("{what} `{}`: {error}", path.display())).into()
}
