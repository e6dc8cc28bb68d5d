//! Reading files of lines that grow at the end: backwards from the end, or forwards from a position.
//!
//! A line counts once its newline is there. What follows the last newline is still being written, or was cut short.
//! Nothing here reads more than necessary: the last lines cost the same in a short file and in a long one.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;

use super::FileError;
use super::read::absent_is_none;

/// The longest line, in bytes. Longer ones are not ours and are not kept in memory.
pub const MAX_LINE: usize = 16 * 1024;
/// The number of bytes, counted from the end, that are read of a larger file, which anybody may have written.
const REACH: u64 = 64 * 1024 * 1024;
const BLOCK: usize = 16 * 1024;
/// Number of bytes before a position by which it is recognised.
const CONTEXT: u64 = 256;

/// One line, without its newline.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FileLine {
    Whole(Vec<u8>),
    TooLong,
}

/// A position between two lines, with the bytes before it. So it is found again in a file that was shortened, and not
/// taken for one in a file that was rewritten.
#[derive(Clone, Debug, Default, Eq, PartialEq, serde::Deserialize, serde::Serialize)]
pub struct LinePosition {
    offset: u64,
    before: Vec<u8>,
}

/// The lines after a position.
#[derive(Debug)]
pub struct LinesSince {
    pub lines: Vec<FileLine>,
    /// The position after them.
    pub end: LinePosition,
    /// Whether the position was not found. Then `lines` are all lines of the file.
    pub is_lost: bool,
}

/// A file of lines at one moment.
#[derive(Debug)]
pub struct LineFile {
    file: fs::File,
    /// The offset where reading starts, and the end of the last whole line.
    start: u64,
    end: u64,
    length: u64,
}

impl LineFile {
    /// Opens a file. `None`: there is no such file, or it is not a plain file.
    pub fn open(path: &Path) -> Result<Option<Self>, FileError> {
        // Opening a pipe that somebody put there must not wait for a writer.
        let opened = fs::OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).open(path);
        let Some(file) = absent_is_none(opened)? else { return Ok(None) };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(None);
        }
        let length = metadata.len();
        let mut lines = Self { file, start: length.saturating_sub(REACH), end: length, length };
        lines.end = lines.last_newline()?;
        if lines.start > 0 {
            // The line at this offset is not whole.
            lines.start = lines.first_newline()?;
        }
        Ok(Some(lines))
    }

    /// Whether the file ends in the middle of a line.
    pub fn is_cut_short(&self) -> bool {
        self.end < self.length
    }

    /// The position after the last line.
    pub fn end(&self) -> Result<LinePosition, FileError> {
        self.place(self.end)
    }

    /// The number of lines.
    pub fn count(&self) -> Result<u64, FileError> {
        let (mut at, mut count) = (self.start, 0);
        while at < self.end {
            let block = self.read(at, (self.end - at).min(BLOCK as u64))?;
            at += block.len() as u64;
            count += block.iter().filter(|byte| **byte == b'\n').count() as u64;
        }
        Ok(count)
    }

    /// The lines, last one first.
    pub fn backwards(&self) -> Backwards<'_> {
        Backwards { lines: self, position: self.end, buffer: Vec::new(), is_over: self.end == self.start }
    }

    /// The lines after that position. If the file has changed before it, the lines after the line that was the last one
    /// then; if that is gone, too, all lines.
    pub fn since(&self, place: &LinePosition) -> Result<LinesSince, FileError> {
        self.since_at_most(place, usize::MAX)
    }

    /// The same, but only the first `most` of these lines.
    pub fn since_at_most(&self, place: &LinePosition, most: usize) -> Result<LinesSince, FileError> {
        let found = self.find(place)?;
        let mut at = found.unwrap_or(self.start);
        // The end of the last line that is given.
        let mut end = at;
        let mut lines = Vec::new();
        let mut rest = Vec::new();
        let mut is_too_long = false;
        while at < self.end && lines.len() < most {
            let block = self.read(at, (self.end - at).min(BLOCK as u64))?;
            let mut piece_end = at;
            at += block.len() as u64;
            for piece in block.split_inclusive(|byte| *byte == b'\n') {
                if lines.len() == most {
                    break;
                }
                piece_end += piece.len() as u64;
                rest.extend_from_slice(piece);
                let is_whole = rest.pop_if(|byte| *byte == b'\n').is_some();
                is_too_long |= rest.len() > MAX_LINE;
                if is_whole {
                    let line = std::mem::take(&mut rest);
                    lines.push(if is_too_long { FileLine::TooLong } else { FileLine::Whole(line) });
                    is_too_long = false;
                    end = piece_end;
                } else if is_too_long {
                    rest.clear();
                }
            }
        }
        Ok(LinesSince { lines, end: self.place(end)?, is_lost: found.is_none() })
    }

    fn place(&self, offset: u64) -> Result<LinePosition, FileError> {
        let length = (offset - self.start.min(offset)).min(CONTEXT);
        Ok(LinePosition { offset, before: self.read(offset - length, length)? })
    }

    /// The present offset of that position; `None` if it is not found.
    fn find(&self, place: &LinePosition) -> Result<Option<u64>, FileError> {
        let length = place.before.len() as u64;
        if place.offset <= self.end
            && let Some(from) = place.offset.checked_sub(length)
            && self.read(from, length)? == place.before
        {
            return Ok(Some(place.offset.max(self.start)));
        }
        let Some(last) = place.before.strip_suffix(b"\n") else { return Ok(None) };
        let last = last.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let mut backwards = self.backwards();
        loop {
            let end = backwards.position + backwards.buffer.len() as u64;
            match backwards.next() {
                Some(Ok(FileLine::Whole(line))) if !last.is_empty() && line.ends_with(last) => {
                    return Ok(Some(end));
                }
                Some(Err(error)) => return Err(error),
                Some(Ok(_)) => {}
                None => return Ok(None),
            }
        }
    }

    /// The end of the last line, searched for backwards from the end of the file.
    fn last_newline(&self) -> Result<u64, FileError> {
        let mut at = self.length;
        while at > self.start {
            let length = (at - self.start).min(BLOCK as u64);
            at -= length;
            let block = self.read(at, length)?;
            if let Some(found) = block.iter().rposition(|byte| *byte == b'\n') {
                return Ok(at + found as u64 + 1);
            }
        }
        Ok(self.start)
    }

    fn first_newline(&self) -> Result<u64, FileError> {
        let mut at = self.start;
        while at < self.end {
            let block = self.read(at, (self.end - at).min(BLOCK as u64))?;
            if let Some(found) = block.iter().position(|byte| *byte == b'\n') {
                return Ok(at + found as u64 + 1);
            }
            at += block.len() as u64;
        }
        Ok(self.end)
    }

    fn read(&self, from: u64, length: u64) -> Result<Vec<u8>, FileError> {
        let mut block = vec![0; usize::try_from(length).unwrap_or(BLOCK)];
        self.file.file().read_exact_at(&mut block, from).map_err(|error| {
            let path = self.file.path().display();
            io::Error::new(error.kind(), format!("cannot read `{path}`: {error}"))
        })?;
        Ok(block)
    }
}

/// The lines of a file, last one first.
#[derive(Debug)]
pub struct Backwards<'a> {
    lines: &'a LineFile,
    /// The file offset at which the buffer starts. The buffer ends after the next line to return.
    position: u64,
    buffer: Vec<u8>,
    is_over: bool,
}

impl Iterator for Backwards<'_> {
    type Item = Result<FileLine, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut is_too_long = false;
        while !self.is_over {
            let body = self.buffer.len().saturating_sub(1);
            if let Some(newline) = self.buffer[..body].iter().rposition(|byte| *byte == b'\n') {
                return Some(Ok(self.cut_off(newline + 1, is_too_long)));
            }
            if self.position == self.lines.start {
                self.is_over = true;
                return Some(Ok(self.cut_off(0, is_too_long)));
            }
            if self.buffer.len() > MAX_LINE + 1 {
                is_too_long = true;
                // Its newline alone is enough to find its end.
                self.buffer.clear();
                self.buffer.push(b'\n');
            }
            if let Err(error) = self.read_on() {
                self.is_over = true;
                return Some(Err(error));
            }
        }
        None
    }
}

impl Backwards<'_> {
    fn cut_off(&mut self, start: usize, is_too_long: bool) -> FileLine {
        let mut line = self.buffer.split_off(start);
        line.pop();
        if is_too_long || line.len() > MAX_LINE { FileLine::TooLong } else { FileLine::Whole(line) }
    }

    fn read_on(&mut self) -> Result<(), FileError> {
        let length = (self.position - self.lines.start).min(BLOCK as u64);
        let mut block = self.lines.read(self.position - length, length)?;
        self.position -= length;
        block.append(&mut self.buffer);
        self.buffer = block;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(content: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines");
        write(&path, content);
        (dir, path)
    }

    #[expect(clippy::disallowed_methods, reason = "a stranger's file")]
    fn write(path: &Path, content: &[u8]) {
        std::fs::write(path, content).unwrap();
    }

    fn open(path: &Path) -> LineFile {
        LineFile::open(path).unwrap().unwrap()
    }

    fn texts(lines: impl IntoIterator<Item = FileLine>) -> Vec<String> {
        let text = |line| match line {
            FileLine::Whole(line) => String::from_utf8(line).unwrap(),
            FileLine::TooLong => "too long".to_string(),
        };
        lines.into_iter().map(text).collect()
    }

    fn since(path: &Path, place: &LinePosition) -> Vec<String> {
        texts(open(path).since(place).unwrap().lines)
    }

    /// The expected lines, by a simple implementation.
    fn model(content: &[u8]) -> Vec<FileLine> {
        let mut lines: Vec<_> = content.split(|byte| *byte == b'\n').collect();
        lines.pop();
        let line = |line: &[u8]| match line.len() > MAX_LINE {
            true => FileLine::TooLong,
            false => FileLine::Whole(line.to_vec()),
        };
        lines.into_iter().map(line).collect()
    }

    fn some_line() -> impl Strategy<Value = Vec<u8>> {
        let length = prop_oneof![
            8 => 0_usize..40,
            2 => MAX_LINE - 2..MAX_LINE + 3,
            1 => 2 * BLOCK - 3..2 * BLOCK + 3,
            1 => Just(5 * BLOCK),
        ];
        (length, b'a'..b'd').prop_map(|(length, letter)| vec![letter; length])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn both_ways_read_the_same(lines in prop::collection::vec(some_line(), 0..12), rest in some_line()) {
            let mut content: Vec<u8> = lines.iter().flat_map(|line| [line.as_slice(), b"\n"].concat()).collect();
            content.extend(&rest);
            let (_dir, path) = file(&content);
            let read = open(&path);
            let mut backwards: Vec<FileLine> = read.backwards().map(Result::unwrap).collect();
            backwards.reverse();
            prop_assert_eq!(&backwards, &model(&content));
            prop_assert_eq!(&read.since(&LinePosition::default()).unwrap().lines, &backwards);
            prop_assert_eq!(read.is_cut_short(), !rest.is_empty());
            let (mut place, mut by_twos) = (LinePosition::default(), Vec::new());
            loop {
                let since = read.since_at_most(&place, 2).unwrap();
                if since.lines.is_empty() {
                    break;
                }
                by_twos.extend(since.lines);
                place = since.end;
            }
            prop_assert_eq!(&by_twos, &backwards);
            prop_assert_eq!(place.offset, read.end().unwrap().offset);
        }
    }

    #[test]
    fn what_came_since() {
        let (_dir, path) = file(b"one\ntwo\nthr");
        let place = open(&path).end().unwrap();
        assert!(since(&path, &place).is_empty(), "half a line is none");
        write(&path, b"one\ntwo\nthree\nfour\n");
        assert_eq!(since(&path, &place), ["three", "four"]);
    }

    #[test]
    fn a_file_that_was_shortened_or_made_anew() {
        let (_dir, path) = file(b"one\ntwo\nthree\n");
        let place = open(&path).end().unwrap();
        write(&path, b"two\nthree\nfour\n");
        assert_eq!(since(&path, &place), ["four"], "its first line was dropped");
        write(&path, b"");
        assert!(since(&path, &place).is_empty());
        write(&path, b"alpha\nbeta\ngamma\ndelta\n");
        assert_eq!(since(&path, &place), ["alpha", "beta", "gamma", "delta"], "long enough, and another");
    }

    #[test]
    fn what_is_no_plain_file_has_no_lines() {
        let dir = tempfile::tempdir().unwrap();
        assert!(LineFile::open(dir.path()).unwrap().is_none());
        assert!(LineFile::open(&dir.path().join("absent")).unwrap().is_none());
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(LineFile::open(&pipe).unwrap().is_none());
    }
}
