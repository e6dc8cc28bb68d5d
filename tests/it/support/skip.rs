//! Records tests, and parts of tests, that this machine does not allow. The test target `zz-skipped`, which runs last,
//! prints them.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

/// The list of one `cargo test`: all test binaries are children of the same process.
pub fn list() -> PathBuf {
    let cargo = nix::unistd::getppid();
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("skipped.{cargo}"))
}

/// Records that the running test can't be run here, or not all of it.
#[allow(dead_code, reason = "the target that prints the list skips nothing")]
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let line = format!("{}: {reason}\n", thread.name().unwrap_or("a test"));
    fs::create_dir_all(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut list = OpenOptions::new().append(true).create(true).open(list()).unwrap();
    list.write_all(line.as_bytes()).unwrap();
}
