//! The index that hooks read: what is anchored to a path, a symbol, a command or an error text. A file in the user's
//! cache directory, from which a hook reads only the few bytes that it needs.
//!
//! ```text
//! "ravenry-offers1\n", length of the header (u32), CRC-32 of the header
//! header     the log when this was made: its directory, and its latest files; number of slots; place of the overview
//! slots      key (u64), place (u64) and length (u32) of a record; a hash table with linear probing
//! records    CRC-32, then the record
//! overview   CRC-32, then a row for each record
//! ```
//!
//! It holds as long as the directory and the latest files of the log have the same `stat` result: nobody appends to other
//! files, so there may be any number of them. Whoever appends writes it anew. What is damaged counts as missing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::cache_format::{Decoder, Encoder};
use super::log::{KnowledgeLog, LogStamp};
use crate::domain::knowledge::{KnowledgeOffer, OfferKey, OverviewRow};
use crate::domain::settings::Durability;
use crate::domain::sha256;
use crate::store::error::StoreError;
use crate::sys::clock;
use crate::sys::files::{self, FileError, FileStamp, Files, RangedFile};

const MAGIC: &[u8] = b"ravenry-offers2\n";
/// The header is nearly always within this many bytes.
const FIRST_READ: usize = 4096;
/// The size of a slot, and how many are read at once.
const SLOT: usize = 20;
const SLOTS_READ: usize = 8;
/// The most records of one key.
const MOST_FOUND: usize = 200;
/// A hook asks for a new index at most this often.
const BETWEEN_RENEWALS: Duration = Duration::from_secs(20);

/// The index of one project.
#[derive(Clone, Debug)]
pub struct OfferIndex {
    path: PathBuf,
    /// The commit whose pages are in it; empty without pages.
    pages: String,
    files: Files,
}

/// What a hook finds.
#[derive(Debug)]
pub enum OfferIndexState {
    /// Nothing was ever recorded, and there are no pages.
    NoLog,
    /// There is no index, or it is damaged or older than the log.
    Missing,
    Open(OpenOfferIndex),
}

/// An index that holds.
#[derive(Debug)]
pub struct OpenOfferIndex {
    file: RangedFile,
    slots_at: u64,
    slot_count: u64,
    overview: (u64, usize),
}

/// The log, as far as an index is compared with it.
#[derive(Clone, Debug, Eq, PartialEq)]
struct ComparedLog {
    pages: String,
    directory: FileStamp,
    files: Vec<(String, FileStamp)>,
}

impl OfferIndex {
    /// The index of the project whose log is at `main`, below the user's cache directory. A work tree with pages has an
    /// index of its own: `pages` are its root and its commit.
    pub fn of(cache_dir: &Path, main: &Path, pages: Option<(&Path, String)>) -> Self {
        use std::os::unix::ffi::OsStrExt;
        let dir = cache_dir.join("ravenry/knowledge");
        let (root, pages) = pages.unwrap_or((main, String::new()));
        let name = &sha256(root.as_os_str().as_bytes())[..16];
        Self {
            path: dir.join(format!("{name}.offers")),
            pages,
            files: Files::new(dir.join("tmp"), Durability::Process),
        }
    }

    /// Opens the index, if it holds for the log as it is now.
    pub fn open(&self, log: &KnowledgeLog) -> Result<OfferIndexState, StoreError> {
        let Some(directory) = self.directory_stamp(log)? else { return Ok(OfferIndexState::NoLog) };
        let file = match RangedFile::open(&self.path) {
            Err(error) if error.is_forbidden() => None,
            opened => opened?,
        };
        let Some((compared, open)) = file.map(read_header).transpose()?.flatten() else {
            return Ok(OfferIndexState::Missing);
        };
        let names: Vec<String> = compared.files.iter().map(|(name, _)| name.clone()).collect();
        let now = files::stamps(&log.dir, &names)?;
        let is_same = compared.pages == self.pages
            && compared.directory == directory
            && compared.files.iter().map(|(_, stamp)| Some(*stamp)).eq(now);
        Ok(if is_same { OfferIndexState::Open(open) } else { OfferIndexState::Missing })
    }

    /// Writes the index of a log that was read when its files were as `stamp` says.
    pub fn write(
        &self,
        log: &KnowledgeLog,
        stamp: &LogStamp,
        offers: &[KnowledgeOffer],
        overview: &[OverviewRow],
    ) -> Result<(), StoreError> {
        let Some(directory) = self.directory_stamp(log)? else { return Ok(()) };
        let files = stamp.clone().open_files();
        let compared = ComparedLog { pages: self.pages.clone(), directory, files };
        // In a sandbox and on a full disk, hooks offer nothing.
        let is_expected = |error: &FileError| error.is_forbidden() || error.is_full();
        match self.files.replace(&self.path, &encode(&compared, offers, overview)) {
            Err(error) if !is_expected(&error) => return Err(error.into()),
            _ => {}
        }
        // If somebody appended meanwhile, their index may be the one that was just replaced.
        if log.stamp()? != *stamp {
            files::remove(&self.path)?;
        }
        Ok(())
    }

    /// `None` if there is neither a log nor a page.
    fn directory_stamp(&self, log: &KnowledgeLog) -> Result<Option<FileStamp>, StoreError> {
        let directory = files::metadata(&log.dir)?.filter(std::fs::Metadata::is_dir);
        let no_log = FileStamp { inode: 0, size: 0, modified: 0, changed: 0 };
        Ok(match directory {
            Some(directory) => Some(FileStamp::of(&directory)),
            None => (!self.pages.is_empty()).then_some(no_log),
        })
    }

    /// Whether the index is to be renewed. Says so at most once in a while.
    pub fn is_renewal_due(&self) -> Result<bool, StoreError> {
        let mark = self.path.with_extension("renewal");
        let started = files::metadata(&mark)?.and_then(|metadata| metadata.modified().ok());
        // A time in the future says nothing: the clock was set back.
        let is_past = |started: &std::time::SystemTime| *started <= clock::machine_time() + BETWEEN_RENEWALS;
        if started.filter(is_past).is_some_and(|started| clock::age(started) < BETWEEN_RENEWALS) {
            return Ok(false);
        }
        let made = mark.parent().map_or(Ok(()), files::create_dir).and_then(|()| files::touch(&mark));
        match made {
            // In a sandbox and on a full disk there is no index.
            Err(error) if error.is_forbidden() || error.is_full() => Ok(false),
            made => Ok(made.map(|()| true)?),
        }
    }
}

impl OpenOfferIndex {
    /// The records of that key. Some may only have the same hash.
    pub fn find(&self, key: OfferKey) -> Result<Vec<KnowledgeOffer>, StoreError> {
        let mut found = Vec::new();
        if self.slot_count == 0 {
            return Ok(found);
        }
        let (mut slot, mut looked) = (key.0 % self.slot_count, 0);
        let mut buffer = Vec::new();
        while looked < self.slot_count && found.len() < MOST_FOUND {
            let count = (self.slot_count - slot).min(SLOTS_READ as u64);
            let place = self.slots_at + slot * SLOT as u64;
            if self.file.read_into(&mut buffer, place, count as usize * SLOT)?.is_none() {
                break;
            }
            for bytes in buffer.chunks_exact(SLOT) {
                let mut slot = Decoder(bytes);
                let (Some(own), Some(at), Some(length)) = (slot.u64(), slot.u64(), slot.u32()) else { break };
                match own {
                    0 => return Ok(found),
                    own if own == key.0 => found.extend(self.offer(at, length)?),
                    _ => {}
                }
            }
            looked += count;
            slot = (slot + count) % self.slot_count;
        }
        Ok(found)
    }

    /// All records, in the order of kind and name.
    pub fn overview(&self) -> Result<Vec<OverviewRow>, StoreError> {
        let (at, length) = self.overview;
        let Some(bytes) = self.checked(at, length)? else { return Ok(Vec::new()) };
        let mut rest = Decoder(&bytes);
        let rows = rest.u32().map(|count| (0..count).map_while(|_| rest.overview_row()).collect());
        Ok(rows.unwrap_or_default())
    }

    fn offer(&self, at: u64, length: u32) -> Result<Option<KnowledgeOffer>, StoreError> {
        let bytes = self.checked(at, length as usize)?;
        Ok(bytes.and_then(|bytes| Decoder(&bytes).offer()))
    }

    /// A part of the file that begins with its checksum; `None` if it is damaged.
    fn checked(&self, at: u64, length: usize) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(bytes) = self.file.read(at, length)? else { return Ok(None) };
        let Some((sum, body)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
        Ok((crc32fast::hash(body).to_le_bytes() == *sum).then(|| body.to_vec()))
    }
}

fn read_header(file: RangedFile) -> Result<Option<(ComparedLog, OpenOfferIndex)>, StoreError> {
    let fixed = MAGIC.len() + 8;
    let length = usize::try_from(file.length).unwrap_or(usize::MAX).min(FIRST_READ);
    let Some(mut start) = file.read(0, length)? else { return Ok(None) };
    let Some(rest) = start.strip_prefix(MAGIC) else { return Ok(None) };
    let mut rest = Decoder(rest);
    let (Some(length), Some(sum)) = (rest.u32(), rest.u32()) else { return Ok(None) };
    let end = fixed + length as usize;
    if end > start.len() {
        let Some(whole) = file.read(0, end)? else { return Ok(None) };
        start = whole;
    }
    let header = &start[fixed..end];
    if crc32fast::hash(header) != sum {
        return Ok(None);
    }
    let mut rest = Decoder(header);
    let read = || -> Option<(ComparedLog, u64, (u64, usize))> {
        let (pages, directory) = (rest.text()?, rest.file_stamp()?);
        let count = rest.u32()?;
        let files = (0..count).map(|_| Some((rest.text()?, rest.file_stamp()?))).collect::<Option<_>>()?;
        let slot_count = rest.u64()?;
        Some((ComparedLog { pages, directory, files }, slot_count, (rest.u64()?, rest.u32()? as usize)))
    };
    let Some((compared, slot_count, overview)) = { read }() else { return Ok(None) };
    let open = OpenOfferIndex { file, slots_at: end as u64, slot_count, overview };
    Ok(Some((compared, open)))
}

fn encode(compared: &ComparedLog, offers: &[KnowledgeOffer], overview: &[OverviewRow]) -> Vec<u8> {
    let keys: Vec<(OfferKey, usize)> = offers
        .iter()
        .enumerate()
        .flat_map(|(number, offer)| offer.keys().into_iter().map(move |key| (key, number)))
        .collect();
    // At least half of the slots are empty.
    let slot_count = if keys.is_empty() { 0 } else { (keys.len() * 2).next_power_of_two() };
    let mut header = Encoder::default();
    header.text(&compared.pages);
    header.file_stamp(&compared.directory);
    header.count(compared.files.len());
    for (name, stamp) in &compared.files {
        header.text(name);
        header.file_stamp(stamp);
    }
    header.u64(slot_count as u64);
    let slots_at = MAGIC.len() + 8 + header.0.len() + 12;
    let mut at = slots_at + slot_count * SLOT;
    let mut parts: Vec<Vec<u8>> = Vec::with_capacity(offers.len());
    let mut places: Vec<(u64, u32)> = Vec::with_capacity(offers.len());
    for offer in offers {
        let mut body = Encoder::default();
        body.offer(offer);
        let part = with_sum(&body.0);
        places.push((at as u64, part.len() as u32));
        at += part.len();
        parts.push(part);
    }
    let mut rows = Encoder::default();
    rows.count(overview.len());
    overview.iter().for_each(|row| rows.overview_row(row));
    let rows = with_sum(&rows.0);
    header.u64(at as u64);
    header.count(rows.len());
    let mut slots = vec![(0_u64, 0_u64, 0_u32); slot_count];
    for (key, number) in keys {
        let mut slot = (key.0 % slot_count as u64) as usize;
        while slots[slot].0 != 0 {
            slot = (slot + 1) % slot_count;
        }
        let (at, length) = places[number];
        slots[slot] = (key.0, at, length);
    }
    let mut whole = Encoder(MAGIC.to_vec());
    whole.count(header.0.len());
    whole.u32(crc32fast::hash(&header.0));
    whole.0.extend(&header.0);
    for (key, at, length) in slots {
        whole.u64(key);
        whole.u64(at);
        whole.u32(length);
    }
    parts.iter().for_each(|part| whole.0.extend(part));
    whole.0.extend(&rows);
    whole.0
}

fn with_sum(body: &[u8]) -> Vec<u8> {
    [&crc32fast::hash(body).to_le_bytes()[..], body].concat()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests damage files in place")]
mod tests;
