//! The program that runs: where it lies, and how it is called.

use std::io;
use std::path::PathBuf;

/// The file that this process runs.
pub fn own_path() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Would a shell find this very program under that name?
pub fn is_on_path(name: &str) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let is_program = |path: &PathBuf| {
        std::fs::metadata(path)
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).filter(|dir| dir.is_absolute()).map(|dir| dir.join(name));
    let found = found.into_iter().find(is_program).and_then(|path| std::fs::canonicalize(path).ok());
    let own = own_path().and_then(std::fs::canonicalize).ok();
    own.is_some() && own == found
}
