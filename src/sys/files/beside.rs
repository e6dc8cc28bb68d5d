//! Files in directories that are not ours. The private file lies beside the target there, because nothing else is sure to
//! be on the same file system; who dies leaves it, and the next one sweeps it away.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt as _;

use super::look::absent_is_none;
use super::{
    FILE_MODE, FileError, Liveness, Private, Published, Recorded, Write, fs, io, list, own_mark, owner_of,
    process, remove, step,
};

/// Puts a whole file with that mode at `target`, unless there is one.
pub fn publish_beside(target: &Path, content: &[u8], mode: u32) -> Result<Published, FileError> {
    write_beside(target, content, mode)?.publish(target)
}

/// Puts a whole file with that mode at `target`, in place of whatever is there; a link is not followed.
pub fn replace_beside(target: &Path, content: &[u8], mode: u32) -> Result<(), FileError> {
    write_beside(target, content, mode)?.replace(target)
}

/// Gives a file a second name, unless there is something.
pub fn link(file: &Path, target: &Path) -> Result<Published, FileError> {
    step();
    #[expect(clippy::disallowed_methods, reason = "this is the module that may")]
    exists_is_told(fs::hard_link(file, target))
}

/// Makes a symbolic link with that text, unless there is something.
pub fn publish_link(target: &Path, text: &Path) -> Result<Published, FileError> {
    step();
    exists_is_told(fs_err::os::unix::fs::symlink(text, target))
}

/// Makes a symbolic link with that text, in place of whatever is there.
pub fn replace_with_link(target: &Path, text: &Path) -> Result<(), FileError> {
    let private = Private { path: beside(target) };
    step();
    fs_err::os::unix::fs::symlink(text, &private.path)?;
    private.replace(target)
}

/// Moves a file to where another is, which is gone then.
pub fn put_back(file: &Path, target: &Path) -> Result<(), FileError> {
    step();
    #[expect(clippy::disallowed_methods, reason = "this is the module that may")]
    Ok(fs::rename(file, target)?)
}

/// The text of a symbolic link; `None` if there is nothing, or something else.
pub fn read_link(path: &Path) -> Result<Option<PathBuf>, FileError> {
    match fs::read_link(path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(None),
        read => absent_is_none(read),
    }
}

/// Removes what processes that are gone left half done in that directory.
pub fn sweep_beside(dir: &Path) -> Result<(), FileError> {
    for name in list(dir)? {
        let mark = name.strip_prefix('.').and_then(|name| name.strip_suffix(".msg"));
        let owner = mark.and_then(owner_of).map(Recorded::Pinned);
        if owner.is_some_and(|owner| process::liveness(&owner) == Liveness::Gone) {
            remove(&dir.join(name))?;
        }
    }
    Ok(())
}

/// The same name that [`super::rewrite`] uses: no process does two such things at once.
fn beside(target: &Path) -> PathBuf {
    target.with_file_name(format!(".{}.msg", own_mark()))
}

fn write_beside(target: &Path, content: &[u8], mode: u32) -> Result<Private, FileError> {
    let path = beside(target);
    step();
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&path)?;
    let private = Private { path };
    step();
    file.write_all(content)?;
    file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    Ok(private)
}

fn exists_is_told(result: io::Result<()>) -> Result<Published, FileError> {
    match result {
        Ok(()) => Ok(Published::Done),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Published::Exists),
        Err(error) => Err(error.into()),
    }
}
