//! Writing files in directories that are not ours: settings of harnesses, git hooks.
//!
//! The private file is created beside the target, because no other directory is certain to be on the same file system.
//! A process that dies leaves it there, and the next one removes it.

use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt as _;

use super::read::absent_is_none;
use super::{
    FILE_MODE, FileError, Liveness, Private, Published, RecordedProcess, Write, create_dir, fs, io, list,
    own_mark, owner_of, process, remove, step,
};
use crate::sys::paths;

/// Suffix of private files, so that nobody takes them for anything else.
const SUFFIX: &str = ".msg";

/// Where a file is, or would be created: the end of all links, including a dangling one.
pub fn destination(path: &Path) -> PathBuf {
    paths::follow(path)
}

/// Puts a whole file at the end of all links from `path`, replacing the old one and keeping its mode and owner. It is
/// synced to disk before it is moved into place, because there is no second copy of the user's settings.
pub fn write_through(path: &Path, content: &[u8]) -> Result<(), FileError> {
    write_through_if(path, content, || Ok(true)).map(drop)
}

/// The same, but only if `still_holds` returns true right before the file is moved into place. `false`: it did not.
pub fn write_through_if(
    path: &Path,
    content: &[u8],
    still_holds: impl FnOnce() -> Result<bool, FileError>,
) -> Result<bool, FileError> {
    let real = destination(path);
    let there = super::metadata(&real)?;
    let mode = there.as_ref().map_or(FILE_MODE, |there| there.permissions().mode());
    let (private, file) = write_beside(&real, content, mode, there.as_ref())?;
    file.sync_all()?;
    if !still_holds()? {
        return Ok(false);
    }
    private.replace(&real)?;
    Ok(true)
}

/// Whether the file belongs to another user and would become ours if we replaced it. Only root can keep the owner.
pub fn is_of_another(path: &Path) -> Result<bool, FileError> {
    let me = nix::unistd::geteuid();
    let there = super::metadata(&destination(path))?;
    Ok(!me.is_root() && there.is_some_and(|there| there.uid() != me.as_raw()))
}

/// Gives a private file the owner and group of the file that it will replace.
fn keep_owner(file: &fs::File, there: &Metadata) -> Result<(), FileError> {
    let own = file.metadata()?;
    let uid = (own.uid() != there.uid()).then(|| there.uid());
    let gid = (own.gid() != there.gid()).then(|| there.gid());
    if uid.is_none() && gid.is_none() {
        return Ok(());
    }
    step();
    std::os::unix::fs::fchown(file.file(), uid, gid).map_err(|error| {
        let (path, uid, gid) = (file.path().display(), there.uid(), there.gid());
        let text = format!("`{path}` can't be left to its owner ({uid}:{gid}): {error}");
        io::Error::new(error.kind(), text).into()
    })
}

/// Removes the file at the end of all links; the links stay.
pub fn remove_through(path: &Path) -> Result<bool, FileError> {
    remove(&destination(path))
}

/// The missing directories above `path`, outermost first.
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

/// Creates the missing directories above `path`.
pub fn make_room(path: &Path) -> Result<(), FileError> {
    match destination(path).parent() {
        Some(dir) if !super::exists(dir)? => create_dir(dir),
        _ => Ok(()),
    }
}

/// The path that is write-protected, if any: the file itself, or the nearest existing directory above it.
pub fn read_only(path: &Path) -> Result<Option<PathBuf>, FileError> {
    let real = destination(path);
    let is_locked = |path: &Path| -> Result<Option<bool>, FileError> {
        let Some(metadata) = super::metadata(path)? else { return Ok(None) };
        // Root could write anyway, but somebody removed the permission on purpose.
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

/// Puts a whole file with that mode at `target`, unless there is one.
pub fn publish_beside(target: &Path, content: &[u8], mode: u32) -> Result<Published, FileError> {
    write_beside(target, content, mode, None)?.0.publish(target)
}

/// Puts a whole file with that mode at `target`, replacing any existing one. A link is replaced, not followed.
pub fn replace_beside(target: &Path, content: &[u8], mode: u32) -> Result<(), FileError> {
    // A link has an owner, too, but that does not show who should own the file.
    let there = super::link_metadata(target)?.filter(Metadata::is_file);
    write_beside(target, content, mode, there.as_ref())?.0.replace(target)
}

/// Creates a hard link to a file at `target`, unless something is there.
pub fn link(file: &Path, target: &Path) -> Result<Published, FileError> {
    step();
    #[expect(clippy::disallowed_methods, reason = "this module implements it")]
    exists_is_told(fs::hard_link(file, target))
}

/// Creates a symbolic link with that text, unless something is there.
pub fn publish_link(target: &Path, text: &Path) -> Result<Published, FileError> {
    step();
    exists_is_told(fs_err::os::unix::fs::symlink(text, target))
}

/// Creates a symbolic link with that text, replacing whatever is there.
pub fn replace_with_link(target: &Path, text: &Path) -> Result<(), FileError> {
    let private = Private { path: beside(target) };
    step();
    fs_err::os::unix::fs::symlink(text, &private.path)?;
    private.replace(target)
}

/// Moves a file to `target`, replacing the one that is there.
pub fn put_back(file: &Path, target: &Path) -> Result<(), FileError> {
    step();
    #[expect(clippy::disallowed_methods, reason = "this module implements it")]
    Ok(fs::rename(file, target)?)
}

/// The text of a symbolic link; `None` if there is nothing or something else.
pub fn read_link(path: &Path) -> Result<Option<PathBuf>, FileError> {
    match fs::read_link(path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(None),
        read => absent_is_none(read),
    }
}

/// Removes private files of dead processes in the directory of the file at the end of all links from `path`.
pub fn sweep_beside(path: &Path) -> Result<(), FileError> {
    destination(path).parent().map_or(Ok(()), sweep_in)
}

/// Removes private files of dead processes in that directory.
pub fn sweep_in(dir: &Path) -> Result<(), FileError> {
    for name in list(dir)? {
        let mark = name.strip_prefix('.').and_then(|name| name.strip_suffix(SUFFIX));
        let owner = mark.and_then(owner_of).map(RecordedProcess::Pinned);
        if owner.is_some_and(|owner| process::liveness(&owner) == Liveness::Gone) {
            remove(&dir.join(name))?;
        }
    }
    Ok(())
}

/// The path of the private file. A process writes only one such file at a time.
fn beside(target: &Path) -> PathBuf {
    target.with_file_name(format!(".{}{SUFFIX}", own_mark()))
}

fn write_beside(
    target: &Path,
    content: &[u8],
    mode: u32,
    there: Option<&Metadata>,
) -> Result<(Private, fs::File), FileError> {
    let path = beside(target);
    step();
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&path)?;
    let private = Private { path };
    step();
    file.write_all(content)?;
    // The owner is set before the mode, because changing the owner may clear mode bits.
    there.map_or(Ok(()), |there| keep_owner(&file, there))?;
    file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    Ok((private, file))
}

fn exists_is_told(result: io::Result<()>) -> Result<Published, FileError> {
    match result {
        Ok(()) => Ok(Published::Done),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Published::Exists),
        Err(error) => Err(error.into()),
    }
}
