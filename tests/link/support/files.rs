//! Files of secrets.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A new file that only its owner can read.
pub fn private(path: &Path, text: &str) -> PathBuf {
    let mut options = std::fs::File::options();
    options.write(true).create_new(true).mode(0o600);
    options.open(path).unwrap().write_all(text.as_bytes()).unwrap();
    path.to_path_buf()
}
