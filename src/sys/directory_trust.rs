//! Checks whether other users could change the content of a directory.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::files::{self, FileError};

const OTHERS_WRITE: u32 = 0o002;
const NOT_ONLY_MINE: u32 = 0o077;
const STICKY: u32 = 0o1000;

/// Why a directory is not safe for private files.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum UnsafeDirectory {
    #[error("`{}` is not a directory", .0.display())]
    NotADirectory(PathBuf),
    #[error("`{}` belongs to another user (uid {owner})", .path.display())]
    OthersOwn { path: PathBuf, owner: u32 },
    #[error("`{}` may be written to by other users (mode {mode:03o})", .path.display())]
    OthersWrite { path: PathBuf, mode: u32 },
    #[error("`{}` is a symbolic link that belongs to another user (uid {owner})", .path.display())]
    OthersLink { path: PathBuf, owner: u32 },
}

impl UnsafeDirectory {
    pub fn path(&self) -> &Path {
        match self {
            Self::NotADirectory(path) => path,
            Self::OthersOwn { path, .. } | Self::OthersWrite { path, .. } | Self::OthersLink { path, .. } => {
                path
            }
        }
    }

    /// The command that fixes it, if there is one.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::OthersWrite { path, .. } => Some(format!("chmod go-w {}", quoted(path))),
            Self::OthersOwn { path, .. } => Some(format!("sudo chown -R \"$(id -un)\" {}", quoted(path))),
            Self::NotADirectory(_) | Self::OthersLink { .. } => None,
        }
    }
}

/// How private a directory of the user is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Privacy {
    Private,
    /// It is open to others, but nobody except the user's group could have written to it.
    Loose {
        mode: u32,
    },
}

/// A directory that other users cannot write to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SafeDirectory {
    /// Its path with all links resolved.
    pub real: PathBuf,
    pub privacy: Privacy,
}

/// Checks a directory, a link to it, and all directories above it. `None`: there is no such directory.
pub fn inspect(dir: &Path) -> Result<Option<Result<SafeDirectory, UnsafeDirectory>>, FileError> {
    let me = nix::unistd::geteuid().as_raw();
    let Some(link) = files::link_metadata(dir)? else { return Ok(None) };
    if link.file_type().is_symlink() && !is_trusted(link.uid(), me) {
        return Ok(Some(Err(UnsafeDirectory::OthersLink { path: dir.to_path_buf(), owner: link.uid() })));
    }
    let real = fs_err::canonicalize(dir)?;
    let Some(metadata) = files::metadata(&real)? else { return Ok(None) };
    if !metadata.is_dir() {
        return Ok(Some(Err(UnsafeDirectory::NotADirectory(real))));
    }
    if metadata.uid() != me {
        return Ok(Some(Err(UnsafeDirectory::OthersOwn { path: real, owner: metadata.uid() })));
    }
    let mode = metadata.mode() & 0o777;
    if mode & OTHERS_WRITE != 0 {
        return Ok(Some(Err(UnsafeDirectory::OthersWrite { path: real, mode })));
    }
    for above in real.ancestors().skip(1) {
        let Some(metadata) = files::metadata(above)? else { continue };
        let (owner, mode) = (metadata.uid(), metadata.mode());
        // The owner of a directory, and anybody who may write to one that is not sticky, can replace what is in it.
        if !is_trusted(owner, me) {
            return Ok(Some(Err(UnsafeDirectory::OthersOwn { path: above.to_path_buf(), owner })));
        }
        if mode & OTHERS_WRITE != 0 && mode & STICKY == 0 {
            return Ok(Some(Err(UnsafeDirectory::OthersWrite {
                path: above.to_path_buf(),
                mode: mode & 0o777,
            })));
        }
    }
    let privacy = if mode & NOT_ONLY_MINE == 0 { Privacy::Private } else { Privacy::Loose { mode } };
    Ok(Some(Ok(SafeDirectory { real, privacy })))
}

/// Whether it is in a directory that the user owns.
pub fn is_in_mine(path: &Path) -> bool {
    let above = path.parent().and_then(|above| files::metadata(above).ok().flatten());
    above.is_some_and(|above| above.uid() == nix::unistd::geteuid().as_raw())
}

/// Whether this owner is the user or root, who may do anything anyway. In a user namespace without root, as sandboxes
/// create them, files of the real root appear as the overflow user's.
fn is_trusted(owner: u32, me: u32) -> bool {
    owner == me || owner == 0 || (!has_root() && Some(owner) == overflow_user())
}

fn has_root() -> bool {
    let Ok(map) = std::fs::read_to_string("/proc/self/uid_map") else { return true };
    map.lines().any(|line| line.split_whitespace().next() == Some("0"))
}

fn overflow_user() -> Option<u32> {
    std::fs::read_to_string("/proc/sys/kernel/overflowuid").ok()?.trim().parse().ok()
}

fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    if text.chars().all(plain) { text.into_owned() } else { format!("'{}'", text.replace('\'', "'\\\''")) }
}
