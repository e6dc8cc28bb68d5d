//! The texts of many messages as one piece of bytes: what is made in memory is what the cache stores. A search reads the
//! texts at once, and of the rest only what it shows.
//!
//! ```text
//! "ravenry-mail-texts 1\n"  CRC-32 u32 of what follows
//! state of the directory: inode, modified, changed, each u64; all 0: it may have changed since
//! messages u32    length of their heads u32
//! where each head and each text begins, u32 u32 …
//! heads: time i64; name of the file, sender, recipient, thread, each with its length u16
//! texts, as they are searched
//! ```

use std::ops::Range;

use crate::domain::Message;
use crate::domain::text_search::searchable;
use crate::sys::files::FileStamp;

const MAGIC: &[u8] = b"ravenry-mail-texts 1\n";
/// The magic, the checksum, the state of the directory and two lengths.
const HEADER: usize = MAGIC.len() + 4 + 24 + 8;
/// A pack of more bytes than this is neither made nor read.
pub(super) const MOST: usize = 512 * 1024 * 1024;

/// What is known of a message without reading it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct MailHead<'a> {
    pub(super) file: &'a str,
    pub(super) from: &'a str,
    pub(super) to: &'a str,
    /// Its thread, or its own id: that is the thread of the answers to it.
    pub(super) thread: &'a str,
    /// In milliseconds since 1970.
    pub(super) at: i64,
}

/// Texts of messages.
#[derive(Clone, Debug)]
pub(super) struct MailPack {
    bytes: Vec<u8>,
    count: usize,
    /// Where the heads and the texts begin.
    heads: usize,
    texts: usize,
}

/// Collects messages.
#[derive(Debug, Default)]
pub(super) struct MailPackBuilder {
    places: Vec<(u32, u32)>,
    heads: Vec<u8>,
    texts: Vec<u8>,
}

impl MailPackBuilder {
    pub(super) fn add(&mut self, file: &str, message: &Message) {
        let thread = message.thread.as_deref().unwrap_or(message.id.as_str());
        let at = message.timestamp.as_millisecond();
        let head = MailHead { file, from: &message.from, to: &message.to, thread, at };
        // An id as the name of a thread is no word.
        let named = message.thread.as_deref().filter(|thread| uuid::Uuid::try_parse(thread).is_err());
        let text = searchable(&message.text);
        let text = named.map_or(text.clone(), |thread| text + &searchable(thread));
        self.put(head, text.as_bytes());
    }

    /// Takes over a message of another pack, whose file may have another name now.
    pub(super) fn take_over(&mut self, pack: &MailPack, number: usize, file: &str) {
        if let Some(head) = pack.head(number) {
            self.put(MailHead { file, ..head }, &pack.bytes[pack.text_range(number)]);
        }
    }

    fn put(&mut self, head: MailHead<'_>, text: &[u8]) {
        let is_full = self.heads.len() + self.texts.len() + text.len() > MOST - (1 << 20);
        if is_full {
            return;
        }
        self.places.push((self.heads.len() as u32, self.texts.len() as u32));
        self.heads.extend_from_slice(&head.at.to_le_bytes());
        for part in [head.file, head.from, head.to, head.thread] {
            let part = beginning(part);
            self.heads.extend_from_slice(&(part.len() as u16).to_le_bytes());
            self.heads.extend_from_slice(part.as_bytes());
        }
        self.texts.extend_from_slice(text);
    }

    /// `state`: that of the directory, if nothing can have changed in it since without being noticed.
    pub(super) fn finish(self, state: Option<FileStamp>) -> MailPack {
        let mut body = Vec::with_capacity(40 + 8 * self.places.len() + self.heads.len() + self.texts.len());
        let state = state.map_or([0; 3], state_of);
        state.iter().for_each(|part| body.extend_from_slice(&part.to_le_bytes()));
        body.extend_from_slice(&(self.places.len() as u32).to_le_bytes());
        body.extend_from_slice(&(self.heads.len() as u32).to_le_bytes());
        for (head, text) in &self.places {
            body.extend_from_slice(&head.to_le_bytes());
            body.extend_from_slice(&text.to_le_bytes());
        }
        body.extend_from_slice(&self.heads);
        body.extend_from_slice(&self.texts);
        let bytes = [MAGIC, &crc32fast::hash(&body).to_le_bytes(), &body].concat();
        let heads = HEADER + 8 * self.places.len();
        MailPack { count: self.places.len(), heads, texts: heads + self.heads.len(), bytes }
    }
}

impl MailPack {
    /// `None`: the bytes are damaged, or of another version.
    pub(super) fn decode(bytes: Vec<u8>) -> Option<Self> {
        let body = bytes.strip_prefix(MAGIC)?;
        let sum = u32::from_le_bytes(body.get(..4)?.try_into().ok()?);
        if crc32fast::hash(&body[4..]) != sum {
            return None;
        }
        let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
        let count = number(HEADER - 8)?;
        let heads = HEADER.checked_add(count.checked_mul(8)?)?;
        let texts = heads.checked_add(number(HEADER - 4)?)?;
        (texts <= bytes.len()).then_some(())?;
        Some(Self { bytes, count, heads, texts })
    }

    /// The bytes, for the cache.
    pub(super) fn encode(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether it is of the directory in that state.
    pub(super) fn is_of(&self, state: FileStamp) -> bool {
        let recorded = &self.bytes[MAGIC.len() + 4..MAGIC.len() + 28];
        let wanted = state_of(state);
        wanted.iter().zip(recorded.chunks_exact(8)).all(|(one, other)| one.to_le_bytes() == other)
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn head(&self, number: usize) -> Option<MailHead<'_>> {
        let mut rest = self.bytes.get(self.heads.checked_add(self.place(number)?.0)?..self.texts)?;
        let at = i64::from_le_bytes(rest.split_off(..8)?.try_into().ok()?);
        let mut part = || {
            let length = u16::from_le_bytes(rest.split_off(..2)?.try_into().ok()?);
            std::str::from_utf8(rest.split_off(..usize::from(length))?).ok()
        };
        Some(MailHead { file: part()?, from: part()?, to: part()?, thread: part()?, at })
    }

    /// All texts, and where each begins.
    pub(super) fn texts(&self) -> (&str, Vec<u32>) {
        let starts = (0..self.count).filter_map(|number| self.place(number));
        let starts = starts.map(|(_, text)| text as u32).collect();
        // They are made of strings, and have a checksum.
        (std::str::from_utf8(&self.bytes[self.texts..]).unwrap_or_default(), starts)
    }

    fn place(&self, number: usize) -> Option<(usize, usize)> {
        let at = HEADER + 8 * number;
        let entry = self.bytes.get(at..at + 8).filter(|_| number < self.count)?;
        let part =
            |from: usize| Some(u32::from_le_bytes(entry.get(from..from + 4)?.try_into().ok()?) as usize);
        Some((part(0)?, part(4)?))
    }

    fn text_range(&self, number: usize) -> Range<usize> {
        let start =
            |number: usize| self.place(number).map_or(self.bytes.len(), |(_, text)| self.texts + text);
        let end = start(number + 1).min(self.bytes.len());
        start(number).min(end)..end
    }
}

fn state_of(stamp: FileStamp) -> [u64; 3] {
    [stamp.inode, stamp.modified as u64, stamp.changed as u64]
}

/// No name and no thread of ours is that long.
fn beginning(text: &str) -> &str {
    let mut end = text.len().min(1024);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AgentName, MessageStamp};

    fn message(number: u64, text: &str) -> Message {
        let name = |name: &str| AgentName::new(name).unwrap();
        let stamp = MessageStamp::new(1_794_700_676_113_000 + number, 7);
        Message::new(stamp, &name("Alice"), &name("Bob"), text)
    }

    fn pack(texts: &[&str]) -> MailPack {
        let mut builder = MailPackBuilder::default();
        for (number, text) in texts.iter().enumerate() {
            builder.add(&format!("file-{number}"), &message(number as u64, text));
        }
        builder.finish(None)
    }

    #[test]
    fn what_is_put_in_is_there() {
        let made = pack(&["One", "Größe two", ""]);
        let read = MailPack::decode(made.encode().to_vec()).unwrap();
        assert_eq!(read.len(), 3);
        let head = read.head(1).unwrap();
        assert_eq!((head.file, head.from, head.to), ("file-1", "Alice", "Bob"));
        assert_eq!(head.thread, message(1, "").id.as_str());
        assert_eq!(read.texts(), (" one  grosse two  ", vec![0, 5, 17]));
        assert_eq!(read.head(3), None);
        let mut next = MailPackBuilder::default();
        next.take_over(&read, 1, "renamed");
        next.take_over(&read, 2, "last");
        next.take_over(&read, 9, "none");
        let next = next.finish(None);
        assert_eq!((next.len(), next.head(0).unwrap().file), (2, "renamed"));
        assert_eq!(next.texts(), (" grosse two  ", vec![0, 12]));
    }

    #[test]
    fn damaged_bytes_are_none() {
        let bytes = pack(&["one", "two"]).encode().to_vec();
        for end in 0..bytes.len() {
            assert!(MailPack::decode(bytes[..end].to_vec()).is_none(), "{end}");
        }
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert!(MailPack::decode(damaged).is_none(), "{place}");
        }
    }

    #[test]
    fn it_is_of_one_state_of_the_directory() {
        let stamp = FileStamp { inode: 1, size: 2, modified: 3, changed: 4 };
        let made = MailPackBuilder::default().finish(Some(stamp));
        assert!(made.is_of(stamp));
        assert!(!made.is_of(FileStamp { modified: 5, ..stamp }));
        assert!(!pack(&[]).is_of(stamp));
    }
}
