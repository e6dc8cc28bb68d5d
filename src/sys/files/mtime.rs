//! Setting modification times of files and directories, which serve as signs of life and as hints to watchers.

use std::path::Path;

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;

use super::read::absent_is_none;
use super::{AS_PUT_THERE, FILE_MODE, FileError, plain, step};
use crate::sys::clock;

/// Sets a file's time to now, and creates the file if necessary.
pub fn touch(path: &Path) -> Result<(), FileError> {
    step();
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(FILE_MODE).custom_flags(AS_PUT_THERE);
    let file = plain(options.open(path)?)?;
    step();
    Ok(file.set_modified(clock::machine_time())?)
}

/// Sets the time of an existing file to now. `false`: there is none.
pub fn refresh(path: &Path) -> Result<bool, FileError> {
    step();
    let opened = fs::OpenOptions::new().write(true).custom_flags(AS_PUT_THERE).open(path);
    match absent_is_none(opened)? {
        Some(file) => {
            plain(file)?.set_modified(clock::machine_time()).map(|()| true).map_err(FileError::from)
        }
        None => Ok(false),
    }
}

/// Sets the time of a directory to now, which watchers of it notice.
pub fn touch_dir(path: &Path) -> Result<(), FileError> {
    step();
    let flags = nix::libc::O_DIRECTORY | nix::libc::O_NONBLOCK;
    let dir = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    Ok(dir.set_modified(clock::machine_time())?)
}
