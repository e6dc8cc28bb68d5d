//! Appending whole lines to a file while other processes append to it and may be killed at any moment.
//!
//! A line is one write. A writer that finds half a line in front of its own line writes its line again.

use std::io::{self, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;

use super::{AS_PUT_THERE, FILE_MODE, FileError, plain, step};

/// Attempts to write a line whole.
const TRIES: usize = 8;

/// Appends a line, which ends in a newline, by a single write, so that lines of several writers don't mix. If the file
/// ends in the middle of a line, a newline is added first.
pub fn append_line(path: &Path, line: &[u8]) -> Result<(), FileError> {
    step();
    let mut options = fs::OpenOptions::new();
    options.read(true).append(true).create(true).mode(FILE_MODE).custom_flags(AS_PUT_THERE);
    let mut file = plain(options.open(path)?)?;
    let length = file.metadata()?.len();
    let is_apart = follows_newline(&file, length)?;
    append_to(&mut file, is_apart, line)
}

/// Appends a line to an open file. `is_apart`: the file ended in a newline when it was checked.
fn append_to(file: &mut fs::File, mut is_apart: bool, line: &[u8]) -> Result<(), FileError> {
    // After the check, another writer may have been killed in the middle of a line, or our own write may have been cut
    // short. Then our line is spoilt, and is written again.
    for _ in 0..TRIES {
        let whole = if is_apart { line.to_vec() } else { [b"\n", line].concat() };
        step();
        let written = match file.write(&whole) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            written => written?,
        };
        let end = file.stream_position()?;
        let start = end.saturating_sub(written as u64);
        if written == whole.len() && (!is_apart || follows_newline(file, start)?) {
            return Ok(());
        }
        is_apart = false;
    }
    let text = format!("cannot append a whole line to `{}`", file.path().display());
    Err(io::Error::new(io::ErrorKind::WriteZero, text).into())
}

/// Whether a line starts at this offset.
fn follows_newline(file: &fs::File, offset: u64) -> Result<bool, FileError> {
    let mut last = [b'\n'];
    if offset > 0 {
        file.file().read_at(&mut last, offset - 1)?;
    }
    Ok(last == [b'\n'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    fn cut_short(path: &Path, bytes: &[u8]) {
        fs::OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
    }

    #[test]
    fn a_line_that_was_cut_short_spoils_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("feed");
        append_line(&path, b"one\n").unwrap();
        cut_short(&path, b"tw");
        append_line(&path, b"three\n").unwrap();
        append_line(&path, b"four\n").unwrap();
        assert_eq!(read(&path), "one\ntw\nthree\nfour\n");
    }

    #[test]
    fn one_that_was_cut_short_after_we_looked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("feed");
        append_line(&path, b"one\n").unwrap();
        let mut file = fs::OpenOptions::new().read(true).append(true).open(&path).unwrap();
        cut_short(&path, b"tw");
        append_to(&mut file, true, b"three\n").unwrap();
        assert_eq!(read(&path), "one\ntwthree\n\nthree\n", "the spoilt one is written again");
    }
}
