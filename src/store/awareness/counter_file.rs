//! `awareness/<repository>`: what was counted in a repository. A hook reads the few entries that its prompt needs.
//!
//! ```text
//! "msgcount", version, number of buckets, events, generation, counted bytes of the track, checksum      the header
//! offset, length, checksum                                                                            per bucket
//! entries: a word with its files, an agent with its files, or a file with its path                    per bucket
//! ```
//!
//! Numbers are little-endian. An entry is in the bucket of the lowest bits of its number. A bucket's checksum includes
//! the bucket's number, so that one that is read at a wrong offset is noticed. The file is only ever replaced.

use std::path::Path;

use super::counter_entry::{CounterEntry, FileSelection, Wanted, encode_agent, encode_file, encode_word};
use super::fields::Fields;
use super::repository_counts::RepositoryCounts;
use crate::domain::awareness::counters::{AgentId, Counters, PathId, WordId};
use crate::store::error::StoreError;
use crate::sys::files::RangedFile;

const MAGIC: &[u8; 8] = b"msgcount";
const VERSION: u32 = 1;
const HEADER: usize = 40;
const TABLE_ENTRY: usize = 16;
/// The size of a bucket, in bytes, as far as its entries allow.
const BUCKET: usize = 4096;
/// Places of buckets that are at most so many buckets apart are read at once.
const NEAR: u32 = 256;
const MOST_BUCKETS: usize = 1 << 16;
/// The most words and the most files of a repository.
const MOST_ENTRIES: usize = 200_000;

/// Which part of the track is in the counts.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CountedPart {
    /// The track that follows this file.
    pub generation: u64,
    /// Of the track before that one, so many bytes are counted. It is still there if its replacement was cut short.
    pub length: u64,
}

/// The file, open.
#[derive(Debug)]
pub struct CounterFile {
    file: RangedFile,
    path: std::path::PathBuf,
    buckets: u32,
    pub events: u32,
    pub counted: CountedPart,
}

impl CounterFile {
    /// `None`: there is no such file. A file that is damaged, or written by another version, is
    /// [`StoreError::Corrupt`].
    pub(in crate::store) fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        let Some(file) = RangedFile::open(path)? else { return Ok(None) };
        let corrupt =
            |reason: &str| StoreError::Corrupt { path: path.to_path_buf(), reason: reason.to_string() };
        let header = file.read(0, HEADER)?.ok_or_else(|| corrupt("it is too short"))?;
        let (fields, sum) = header.split_at(HEADER - 4);
        if !fields.starts_with(MAGIC) || sum != crc32fast::hash(fields).to_le_bytes() {
            return Err(corrupt("its header is damaged"));
        }
        let mut fields = Fields(&fields[MAGIC.len()..]);
        let read = (|| Some((fields.u32()?, fields.u32()?, fields.u32()?, fields.u64()?, fields.u64()?)))();
        match read {
            Some((VERSION, buckets, events, generation, length)) if buckets.is_power_of_two() => {
                let counted = CountedPart { generation, length };
                Ok(Some(Self { file, path: path.to_path_buf(), buckets, events, counted }))
            }
            _ => Err(corrupt("it was written by another version")),
        }
    }

    /// The counts of these words, agents and files.
    pub fn select(
        &self,
        words: &[WordId],
        agents: &[AgentId],
        files: &[PathId],
    ) -> Result<Counters, StoreError> {
        let mut agents: Vec<_> = agents.iter().map(|agent| (*agent, FileSelection::All)).collect();
        agents.sort_unstable_by_key(|(agent, _)| *agent);
        self.read_wanted(&Wanted { words, agents: &agents, files, files_of_words: FileSelection::All })
    }

    /// The counts of these words and of these agents, which are in order, as far as they are about files that matter.
    pub fn select_at(
        &self,
        words: &[WordId],
        files_of_words: FileSelection<'_>,
        agents: &[(AgentId, FileSelection<'_>)],
    ) -> Result<Counters, StoreError> {
        self.read_wanted(&Wanted { words, agents, files: &[], files_of_words })
    }

    fn read_wanted(&self, wanted: &Wanted<'_>) -> Result<Counters, StoreError> {
        let mut buckets: Vec<u32> = wanted.keys().map(|key| bucket_of(key, self.buckets)).collect();
        buckets.sort_unstable();
        buckets.dedup();
        let mut found = RepositoryCounts::default();
        self.read_buckets(&buckets, Some(wanted), &mut |entry| entry.put_into(&mut found))?;
        Ok(Counters { events: self.events, ..found.counters })
    }

    pub fn all(&self) -> Result<RepositoryCounts, StoreError> {
        let mut all = RepositoryCounts::default();
        let buckets: Vec<u32> = (0..self.buckets).collect();
        self.read_buckets(&buckets, None, &mut |entry| entry.put_into(&mut all))?;
        all.counters.events = self.events;
        Ok(all)
    }

    /// Reads these buckets, which are in order. Without `wanted`, everything is.
    fn read_buckets(
        &self,
        buckets: &[u32],
        wanted: Option<&Wanted<'_>>,
        take: &mut dyn FnMut(CounterEntry),
    ) -> Result<(), StoreError> {
        let (mut table, mut content) = (Vec::new(), Vec::new());
        for near in buckets.chunk_by(|one, next| next - one <= NEAR) {
            let (first, last) = (near[0], near[near.len() - 1]);
            let (at, size) =
                (HEADER + TABLE_ENTRY * first as usize, TABLE_ENTRY * (last - first + 1) as usize);
            let read = self.file.read_into(&mut table, at as u64, size)?;
            read.ok_or_else(|| self.damaged(first))?;
            for bucket in near {
                let place = &table[TABLE_ENTRY * (bucket - first) as usize..];
                let entries = self.entries(*bucket, place, &mut content)?;
                let read = entries.and_then(|entries| CounterEntry::read_all(entries, wanted, take));
                read.ok_or_else(|| self.damaged(*bucket))?;
            }
        }
        Ok(())
    }

    fn damaged(&self, bucket: u32) -> StoreError {
        let reason = format!("part {bucket} of {} is damaged", self.buckets);
        StoreError::Corrupt { path: self.path.clone(), reason }
    }

    /// The entries of a bucket, still encoded. `None`: it is damaged.
    fn entries<'b>(
        &self,
        bucket: u32,
        place: &[u8],
        content: &'b mut Vec<u8>,
    ) -> Result<Option<&'b [u8]>, StoreError> {
        let mut place = Fields(place);
        let place = (|| Some((place.u64()?, place.u32()?, place.u32()?)))();
        let Some((offset, length, sum)) = place else { return Ok(None) };
        let read = self.file.read_into(content, offset, length as usize)?;
        Ok(read.filter(|()| checksum(bucket, content) == sum).map(|()| content.as_slice()))
    }
}

/// The content of the file.
pub(in crate::store) fn encode(counts: &RepositoryCounts, counted: CountedPart) -> Vec<u8> {
    let mut entries: Vec<(u64, Vec<u8>)> = Vec::new();
    let words =
        counts.counters.words.iter().filter_map(|(id, word)| Some((id, word, counts.topics.get(id)?)));
    let mut words: Vec<_> = words.collect();
    keep_most(&mut words, |(_, word, _)| word.prompts + word.names);
    entries.extend(words.into_iter().map(|(id, word, topic)| (id.0, encode_word(*id, word, topic))));
    let agents = counts.counters.agents.iter();
    entries.extend(agents.map(|(id, agent)| (id.0, encode_agent(*id, agent, counts.seen.get(id)))));
    let files =
        counts.counters.files.iter().filter_map(|(id, count)| Some((id, count, counts.paths.get(id)?)));
    let mut files: Vec<_> = files.collect();
    keep_most(&mut files, |(_, count, _)| **count);
    entries.extend(files.into_iter().map(|(id, count, path)| (id.0, encode_file(*id, *count, path))));

    let size: usize = entries.iter().map(|(_, entry)| entry.len()).sum();
    let buckets = size.div_ceil(BUCKET).next_power_of_two().min(MOST_BUCKETS) as u32;
    let mut contents: Vec<Vec<u8>> = vec![Vec::new(); buckets as usize];
    entries.sort();
    for (key, entry) in entries {
        contents[bucket_of(key, buckets) as usize].extend(entry);
    }
    let mut file = Vec::with_capacity(HEADER + contents.len() * TABLE_ENTRY + size);
    file.extend(MAGIC);
    for number in [VERSION, buckets, counts.counters.events] {
        file.extend(number.to_le_bytes());
    }
    file.extend(counted.generation.to_le_bytes());
    file.extend(counted.length.to_le_bytes());
    file.extend(crc32fast::hash(&file).to_le_bytes());
    let mut offset = (HEADER + contents.len() * TABLE_ENTRY) as u64;
    for (bucket, content) in (0..).zip(&contents) {
        file.extend(offset.to_le_bytes());
        file.extend((content.len() as u32).to_le_bytes());
        file.extend(checksum(bucket, content).to_le_bytes());
        offset += content.len() as u64;
    }
    file.extend(contents.concat());
    file
}

/// Keeps the entries with the largest counts.
fn keep_most<T>(entries: &mut Vec<T>, count: impl Fn(&T) -> u32) {
    if entries.len() > MOST_ENTRIES {
        entries.sort_by_key(|entry| std::cmp::Reverse(count(entry)));
        entries.truncate(MOST_ENTRIES);
    }
}

fn bucket_of(key: u64, buckets: u32) -> u32 {
    (key & u64::from(buckets - 1)) as u32
}

fn checksum(bucket: u32, content: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&bucket.to_le_bytes());
    sum.update(content);
    sum.finalize()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::domain::awareness::topics::Topic;
    use crate::domain::settings::Durability;
    use crate::store::awareness::counter_entry::MOST_FILES;
    use crate::sys::files::{Files, read};

    fn example(words: u32) -> RepositoryCounts {
        let mut counts = RepositoryCounts::default();
        for number in 0..words {
            let (topic, path) =
                (Topic::new(&format!("word{number}")), format!("src/{number}.rs").into_bytes());
            let (word, file) = (WordId::of(&topic), PathId::of(&path));
            counts.counters.count(
                Some(AgentId(u64::from(number % 7))),
                &[word],
                &[file],
                &BTreeSet::from([word]),
            );
            counts.seen.insert(AgentId(u64::from(number % 7)), i64::from(number));
            counts.topics.insert(word, topic);
            counts.paths.insert(file, path);
        }
        counts
    }

    fn saved(dir: &Path, content: &[u8]) -> std::path::PathBuf {
        let path = dir.join("counts");
        Files::new(dir.join("tmp"), Durability::Process).replace(&path, content).unwrap();
        path
    }

    #[test]
    fn what_is_written_is_read_whole_and_in_parts() {
        let dir = tempfile::tempdir().unwrap();
        for words in [0, 1, 3000] {
            let counts = example(words);
            let counted = CountedPart { generation: 5, length: 77 };
            let path = saved(dir.path(), &encode(&counts, counted));
            let file = CounterFile::open(&path).unwrap().unwrap();
            assert_eq!((file.counted, file.events), (counted, words));
            assert_eq!(file.all().unwrap(), counts);
            let (word, file_id) = (WordId::of(&Topic::new("word0")), PathId::of(b"src/0.rs"));
            let part = file.select(&[word, WordId(1)], &[AgentId(0)], &[file_id]).unwrap();
            let places = FileSelection::Among(&[file_id]);
            let at = file.select_at(&[word], places, &[(AgentId(0), places)]).unwrap();
            assert_eq!(at.words, part.words);
            let of_first = |counters: &Counters| {
                let agent = counters.agents.get(&AgentId(0));
                agent.map(|agent| (agent.events, agent.files.get(&file_id).copied()))
            };
            assert_eq!(of_first(&at), of_first(&part));
            assert!(at.agents.values().all(|agent| agent.files.len() == 1), "no other file");
            assert_eq!(part.events, words);
            assert_eq!(part.words.get(&word), counts.counters.words.get(&word));
            assert_eq!(part.agents.get(&AgentId(0)), counts.counters.agents.get(&AgentId(0)));
            assert!(part.words.len() <= 1 && part.agents.len() <= 1 && part.files.len() <= 1);
        }
    }

    #[test]
    fn every_damaged_byte_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let content = encode(&example(40), CountedPart::default());
        let whole = |path: &Path| CounterFile::open(path).and_then(|file| file.unwrap().all());
        for at in 0..content.len() {
            let mut damaged = content.clone();
            damaged[at] ^= 0x10;
            let path = saved(dir.path(), &damaged);
            assert!(matches!(whole(&path), Err(StoreError::Corrupt { .. })), "byte {at}");
        }
        for length in 0..content.len() {
            let path = saved(dir.path(), &content[..length]);
            assert!(matches!(whole(&path), Err(StoreError::Corrupt { .. })), "{length} bytes");
        }
        assert!(CounterFile::open(&dir.path().join("absent")).unwrap().is_none());
    }

    #[test]
    fn a_word_keeps_the_files_it_led_to_most() {
        let mut counts = example(1);
        let word = *counts.topics.keys().next().unwrap();
        let files = (0..2_000).map(|number| (PathId(number), number as u32)).collect();
        counts.counters.words.get_mut(&word).unwrap().files = files;
        let dir = tempfile::tempdir().unwrap();
        let path = saved(dir.path(), &encode(&counts, CountedPart::default()));
        let kept = CounterFile::open(&path).unwrap().unwrap().select(&[word], &[], &[]).unwrap();
        let kept = &kept.words[&word].files;
        assert_eq!((kept.len(), kept.values().min()), (MOST_FILES, Some(&(2_000 - MOST_FILES as u32))));
        assert!(read(&path).unwrap().is_some());
    }
}
