//! Files of somebody else's, such as the settings of a harness: written where links lead, with the mode that they have,
//! by way of a private file beside them.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;

use super::{FILE_MODE, FileError, Private, create_dir, list, own_mark, owner_of, remove};
use crate::domain::{Liveness, Recorded};
use crate::sys::seams::step;
use crate::sys::{paths, process};

/// Ends the names of private files, so that nobody takes them for settings.
const SUFFIX: &str = ".msg";

/// Where a file is, or would be made: links lead there, also one that leads to nothing yet.
pub fn destination(path: &Path) -> PathBuf {
    PathBuf::from(paths::resolve(path).as_str())
}

/// Puts a whole file at `path`, in place of what is there. It is on the disk before it is in place: there is no second
/// copy of somebody's settings.
pub fn write_through(path: &Path, content: &[u8]) -> Result<(), FileError> {
    let real = destination(path);
    let mode = super::metadata(&real)?.map(|metadata| metadata.permissions());
    let dir = real.parent().unwrap_or(Path::new("/"));
    let private = dir.join(format!(".{}{SUFFIX}", own_mark()));
    step();
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&private)?;
    let private = Private { path: private };
    step();
    file.write_all(content)?;
    if let Some(mode) = mode {
        file.set_permissions(mode)?;
    }
    file.sync_all()?;
    private.replace(&real)
}

/// Removes a file where links lead; the links stay.
pub fn remove_through(path: &Path) -> Result<bool, FileError> {
    remove(&destination(path))
}

/// The directories that are missing above `path`, outermost first.
pub fn missing_above(path: &Path) -> Result<Vec<PathBuf>, FileError> {
    let real = destination(path);
    let mut missing = Vec::new();
    for dir in real.ancestors().skip(1) {
        if super::exists(dir)? {
            break;
        }
        missing.insert(0, dir.to_path_buf());
    }
    Ok(missing)
}

/// Makes the directories above `path` that are missing.
pub fn make_room(path: &Path) -> Result<(), FileError> {
    match destination(path).parent() {
        Some(dir) if !super::exists(dir)? => create_dir(dir),
        _ => Ok(()),
    }
}

/// Removes what processes that are gone left beside `path`.
pub fn sweep_beside(path: &Path) -> Result<(), FileError> {
    let real = destination(path);
    let Some(dir) = real.parent() else { return Ok(()) };
    for name in list(dir)? {
        let mark = name.strip_prefix('.').and_then(|name| name.strip_suffix(SUFFIX));
        let Some(owner) = mark.and_then(owner_of) else { continue };
        if process::liveness(&Recorded::Pinned(owner)) == Liveness::Gone {
            remove(&dir.join(name))?;
        }
    }
    Ok(())
}

/// What keeps a file from being changed, if anything does: the file itself, or the directory that it is in, or would be.
pub fn read_only(path: &Path) -> Result<Option<PathBuf>, FileError> {
    let real = destination(path);
    let is_locked = |path: &Path| -> Result<Option<bool>, FileError> {
        let Some(metadata) = super::metadata(path)? else { return Ok(None) };
        // Root may write anyway, but whoever took the bit away meant it.
        let denied = nix::unistd::access(path, nix::unistd::AccessFlags::W_OK).is_err();
        Ok(Some(denied || metadata.permissions().mode() & 0o200 == 0))
    };
    if is_locked(&real)? == Some(true) {
        return Ok(Some(real));
    }
    for dir in real.ancestors().skip(1) {
        if let Some(locked) = is_locked(dir)? {
            return Ok(locked.then(|| dir.to_path_buf()));
        }
    }
    Ok(None)
}
