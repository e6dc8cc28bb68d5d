//! Where servers of tests keep what they store.

use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;
use tempfile::TempDir;

/// In `$TMPDIR`, or in memory if there is room. Servers are told to sync every write, and a busy disk makes a lease of
/// seconds end between two of them. Tests kill processes, not machines, so what is in memory survives.
pub fn ground() -> PathBuf {
    // A server promises its streams at most three quarters of the free space.
    const ROOM: u64 = 8 << 30;
    let memory = Path::new("/dev/shm");
    let room = statvfs(memory).map_or(0, |there| there.blocks_available() * there.fragment_size());
    let is_chosen = std::env::var_os("TMPDIR").is_some();
    if !is_chosen && room >= ROOM { memory.to_path_buf() } else { std::env::temp_dir() }
}

/// A directory there that is removed when it is dropped.
pub fn directory(prefix: &str) -> TempDir {
    tempfile::Builder::new().prefix(prefix).tempdir_in(ground()).unwrap()
}
