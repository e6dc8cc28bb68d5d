//! The format of a log file: a line that names it, then frames.
//!
//! ```text
//! "ravenry-knowledge\n"
//! mark (4 bytes), length (u32), CRC-32 of length and payload (u32), payload      per frame, little-endian
//! ```
//!
//! The payload of the first frame is the header, as JSON; of each other one a Yjs update (format v1). The line and the
//! header stay the same in all versions. After damage, reading goes on at the next mark with a frame that is whole.

use serde::{Deserialize, Serialize};

use crate::sys::files::FileId;

pub(super) const VERSION: u32 = 1;
const MAGIC: &[u8] = b"ravenry-knowledge\n";
const MARK: [u8; 4] = [0xf5, b'k', b'f', b'r'];
/// Mark, length and checksum.
const PREFIX: usize = 12;

/// Who appends to a file, and which file it is.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct FileHeader {
    pub(super) version: u32,
    #[serde(default)]
    pub(super) writer: String,
    /// The Yjs client id of everything that is appended. A file without one is never appended to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<u64>,
    /// Where the file was created. A copy has another inode, and is not appended to: two files with one client id would
    /// contradict each other.
    #[serde(default)]
    pub(super) device: u64,
    #[serde(default)]
    pub(super) inode: u64,
}

impl FileHeader {
    pub(super) fn new(writer: &str, client: Option<u64>, id: FileId) -> Self {
        Self { version: VERSION, writer: writer.to_string(), client, device: id.device, inode: id.inode }
    }

    pub(super) fn is_of(&self, id: FileId) -> bool {
        (self.device, self.inode) == (id.device, id.inode)
    }
}

/// The beginning of a file.
#[expect(clippy::expect_used, reason = "a header holds nothing that JSON can't say")]
pub(super) fn start(header: &FileHeader) -> Vec<u8> {
    let header = serde_json::to_vec(header).expect("plain data");
    [MAGIC, &frame(&header)].concat()
}

pub(super) fn frame(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    [&MARK[..], &length, &checksum(&length, payload), payload].concat()
}

fn checksum(length: &[u8], payload: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(length);
    hasher.update(payload);
    hasher.finalize().to_le_bytes()
}

/// What is wrong at an offset of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum FrameFault {
    /// The last frame is not whole.
    Torn(usize),
    Damaged(usize),
}

/// What was found in a file.
#[derive(Debug, Default)]
pub(super) struct ScannedFile<'a> {
    pub(super) header: Option<FileHeader>,
    pub(super) updates: Vec<&'a [u8]>,
    pub(super) faults: Vec<FrameFault>,
}

impl ScannedFile<'_> {
    pub(super) fn is_newer(&self) -> bool {
        self.header.as_ref().is_some_and(|header| header.version > VERSION)
    }
}

pub(super) fn scan(content: &[u8]) -> ScannedFile<'_> {
    let mut scanned = ScannedFile::default();
    let mut at = MAGIC.len();
    if !content.starts_with(MAGIC) {
        let is_cut = MAGIC.starts_with(content);
        scanned.faults.push(if is_cut { FrameFault::Torn(0) } else { FrameFault::Damaged(0) });
        at = next_frame(content, 0).unwrap_or(content.len());
    }
    let mut is_first = true;
    while at < content.len() {
        let Some(payload) = frame_at(content, at) else {
            match next_frame(content, at + 1) {
                Some(next) => {
                    scanned.faults.push(FrameFault::Damaged(at));
                    at = next;
                    continue;
                }
                None => {
                    scanned.faults.push(tail_fault(content, at));
                    break;
                }
            }
        };
        at += PREFIX + payload.len();
        let header = if is_first { serde_json::from_slice(payload).ok() } else { None };
        is_first = false;
        match header {
            Some(header) => scanned.header = Some(header),
            None => scanned.updates.push(payload),
        }
    }
    if scanned.header.is_none() && scanned.faults.is_empty() {
        let is_cut = content.len() == MAGIC.len();
        let fault = if is_cut { FrameFault::Torn } else { FrameFault::Damaged };
        scanned.faults.push(fault(MAGIC.len()));
    }
    scanned
}

/// The payload of the frame that begins there, if it is whole.
fn frame_at(content: &[u8], at: usize) -> Option<&[u8]> {
    let rest = content.get(at..)?.strip_prefix(&MARK)?;
    let (length, rest) = rest.split_at_checked(4)?;
    let (sum, rest) = rest.split_at_checked(4)?;
    let payload = rest.get(..u32::from_le_bytes(length.try_into().ok()?) as usize)?;
    (checksum(length, payload) == sum).then_some(payload)
}

/// Where the next whole frame begins, at `from` or later.
fn next_frame(content: &[u8], from: usize) -> Option<usize> {
    (from..content.len()).find(|at| content[*at] == MARK[0] && frame_at(content, *at).is_some())
}

/// What follows is no whole frame: a writer was killed, or it is damaged.
fn tail_fault(content: &[u8], at: usize) -> FrameFault {
    let rest = &content[at..];
    let is_cut = match rest.strip_prefix(&MARK) {
        None => MARK.starts_with(rest),
        Some(rest) => rest.split_at_checked(8).is_none_or(|(prefix, rest)| {
            let length = prefix[..4].try_into().map_or(0, u32::from_le_bytes);
            length as usize > rest.len()
        }),
    };
    if is_cut { FrameFault::Torn(at) } else { FrameFault::Damaged(at) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> FileHeader {
        let id = FileId { device: 1, inode: 2 };
        FileHeader::new("w", Some(7), id)
    }

    fn example() -> Vec<u8> {
        [start(&header()), frame(b"one"), frame(b""), frame(b"three")].concat()
    }

    #[test]
    fn frames_are_read_back() {
        let content = example();
        let scanned = scan(&content);
        assert_eq!(scanned.header, Some(header()));
        assert_eq!(scanned.updates, [&b"one"[..], b"", b"three"]);
        assert!(scanned.faults.is_empty() && !scanned.is_newer());
    }

    #[test]
    fn a_file_that_was_cut_anywhere_keeps_its_whole_frames() {
        let content = example();
        let first = start(&header()).len();
        let ends = [first, first + PREFIX + 3, first + 2 * PREFIX + 3, content.len()];
        for length in 0..content.len() {
            let scanned = scan(&content[..length]);
            let whole = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(scanned.updates.len(), whole.saturating_sub(1), "{length} bytes");
            let is_told = matches!(scanned.faults.as_slice(), [FrameFault::Torn(_)]);
            assert_eq!(is_told, !ends.contains(&length), "{length} bytes: {:?}", scanned.faults);
        }
    }

    #[test]
    fn every_damaged_bit_is_noticed_and_spoils_one_frame() {
        let content = example();
        for at in 0..content.len() {
            for bit in 0..8 {
                let mut damaged = content.clone();
                damaged[at] ^= 1 << bit;
                let scanned = scan(&damaged);
                assert_eq!(scanned.faults.len(), 1, "byte {at}, bit {bit}");
                let found = scanned.updates.len() + usize::from(scanned.header.is_some());
                let lost = usize::from(at >= MAGIC.len());
                assert_eq!(found, 4 - lost, "byte {at}, bit {bit}");
                assert!(scanned.updates.iter().all(|one| [&b"one"[..], b"", b"three"].contains(one)));
            }
        }
    }
}
