//! Programs: this one, and those that a shell would find.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::environment::variable;

/// The file that this process runs, with links followed.
pub fn own() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// The path by which this process was started, if it was one and not just a name.
pub fn called_as() -> Option<PathBuf> {
    let path = PathBuf::from(std::env::args_os().next()?);
    if path.components().count() < 2 {
        return None;
    }
    std::path::absolute(path).ok()
}

/// The first program of that name that a shell would find, wherever it is called.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = variable("PATH")?;
    let dirs = std::env::split_paths(&path).filter(|dir| dir.is_absolute());
    dirs.map(|dir| dir.join(name)).find(|path| is_program(path))
}

/// Can it be run?
pub fn is_program(path: &Path) -> bool {
    let metadata = std::fs::metadata(path);
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Do both paths lead to one file?
pub fn is_same(a: &Path, b: &Path) -> bool {
    let id = |path: &Path| std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    id(a).is_some() && id(a) == id(b)
}
