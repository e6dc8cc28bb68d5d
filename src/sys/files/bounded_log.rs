//! A file for what a program prints: bounded, with a mark where something was left out.

use std::io::Write;
use std::path::Path;

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;

use super::{AS_PUT_THERE, FILE_MODE, FileError, step};

/// The beginning of an output, and its end.
#[derive(Debug)]
pub struct BoundedLog {
    file: fs::File,
    /// How much more is written as it comes.
    room: usize,
    /// The end of what did not fit.
    tail: Vec<u8>,
    most_tail: usize,
    left_out: u64,
}

impl BoundedLog {
    /// Opens a new file. The first `most_head` bytes are kept, and the last `most_tail`.
    pub fn create(path: &Path, most_head: usize, most_tail: usize) -> Result<Self, FileError> {
        step();
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(FILE_MODE).custom_flags(AS_PUT_THERE);
        Ok(Self { file: options.open(path)?, room: most_head, tail: Vec::new(), most_tail, left_out: 0 })
    }

    /// Adds to the output.
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        let (head, rest) = bytes.split_at(bytes.len().min(self.room));
        self.file.write_all(head)?;
        self.room -= head.len();
        self.tail.extend_from_slice(rest);
        // Moving the rest is cheap if it happens seldom.
        if self.tail.len() > 2 * self.most_tail {
            self.cut_tail();
        }
        Ok(())
    }

    fn cut_tail(&mut self) {
        let excess = self.tail.len().saturating_sub(self.most_tail);
        self.tail.drain(..excess);
        self.left_out += excess as u64;
    }

    /// Writes the end, after a line that says how much was left out.
    pub fn finish(mut self) -> Result<(), FileError> {
        self.cut_tail();
        if self.left_out > 0 {
            write!(self.file, "\n[… {} bytes were left out here …]\n", self.left_out)?;
        }
        Ok(self.file.write_all(&self.tail)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logged(parts: &[&[u8]]) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("output");
        let mut log = BoundedLog::create(&path, 4, 3).unwrap();
        parts.iter().for_each(|part| log.add(part).unwrap());
        log.finish().unwrap();
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn the_beginning_and_the_end_are_kept_and_the_gap_is_told() {
        assert_eq!(logged(&[b"ab", b"cd"]), "abcd");
        assert_eq!(logged(&[b"ab", b"cdef", b"g"]), "abcdefg");
        let many: Vec<&[u8]> = std::iter::repeat_n(&b"0123456789"[..], 100).collect();
        assert_eq!(logged(&many), "0123\n[… 993 bytes were left out here …]\n789");
    }
}
