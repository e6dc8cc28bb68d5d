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

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use super::fields::{FILE_COUNT, Fields};
use crate::domain::awareness::counters::{AgentCounts, AgentId, Counters, PathId, WordCounts, WordId};
use crate::domain::awareness::topics::{self, Topic};
use crate::store::error::StoreError;
use crate::sys::files::RangedFile;

const MAGIC: &[u8; 8] = b"msgcount";
const VERSION: u32 = 1;
const HEADER: usize = 40;
const TABLE_ENTRY: usize = 16;
/// The size of a bucket, in bytes, as far as its entries allow.
const BUCKET: usize = 4096;
const MOST_BUCKETS: usize = 1 << 16;
/// The most files of a word or an agent; those with the smallest counts are left out.
const MOST_FILES: usize = 512;
/// The most words and the most files of a repository.
const MOST_ENTRIES: usize = 200_000;
const LONGEST_TEXT: usize = 4096;

const WORD: u8 = b'w';
const AGENT: u8 = b'a';
const FILE: u8 = b'f';

/// All that is counted, with what the numbers stand for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RepositoryCounts {
    pub counters: Counters,
    pub topics: HashMap<WordId, Topic>,
    pub paths: HashMap<PathId, Vec<u8>>,
    /// When each agent was last counted, in milliseconds since 1970.
    pub seen: HashMap<AgentId, i64>,
}

impl RepositoryCounts {
    /// Counts an event: a prompt with these topics changed these files. Without an agent it is a commit.
    pub fn count(&mut self, agent: Option<(AgentId, i64)>, topics: &[Topic], files: &[Vec<u8>]) {
        let mut names = BTreeSet::new();
        let mut ids = Vec::with_capacity(files.len());
        for path in files {
            let id = PathId::of(path);
            ids.push(id);
            self.paths.entry(id).or_insert_with(|| path.clone());
            for topic in topics::of_path(&String::from_utf8_lossy(path)).all {
                let word = WordId::of(&topic);
                names.insert(word);
                self.topics.entry(word).or_insert(topic);
            }
        }
        let words: Vec<WordId> = topics.iter().map(WordId::of).collect();
        for (word, topic) in words.iter().zip(topics) {
            self.topics.entry(*word).or_insert_with(|| topic.clone());
        }
        self.counters.count(agent.map(|(agent, _)| agent), &words, &ids, &names);
        self.seen.extend(agent);
    }

    /// Forgets agents that were last counted before `since`.
    pub fn forget_agents(&mut self, since: i64) {
        self.seen.retain(|_, seen| *seen >= since);
        self.counters.agents.retain(|agent, _| self.seen.contains_key(agent));
    }
}

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
        self.read_wanted(&Wanted { words, agents, files, places: None })
    }

    /// The counts of these words and agents, as far as they are about one of these files.
    pub fn select_at(
        &self,
        words: &[WordId],
        agents: &[AgentId],
        places: &BTreeSet<PathId>,
    ) -> Result<Counters, StoreError> {
        let places: Vec<PathId> = places.iter().copied().collect();
        self.read_wanted(&Wanted { words, agents, files: &[], places: Some(&places) })
    }

    fn read_wanted(&self, wanted: &Wanted<'_>) -> Result<Counters, StoreError> {
        let buckets: BTreeSet<u32> = wanted.keys().map(|key| bucket_of(key, self.buckets)).collect();
        let mut found = RepositoryCounts::default();
        for bucket in buckets {
            self.read_bucket(bucket, Some(wanted), &mut |entry| entry.put_into(&mut found))?;
        }
        Ok(Counters { events: self.events, ..found.counters })
    }

    pub fn all(&self) -> Result<RepositoryCounts, StoreError> {
        let mut all = RepositoryCounts::default();
        for bucket in 0..self.buckets {
            self.read_bucket(bucket, None, &mut |entry| entry.put_into(&mut all))?;
        }
        all.counters.events = self.events;
        Ok(all)
    }

    /// Without `wanted`, everything is.
    fn read_bucket(
        &self,
        bucket: u32,
        wanted: Option<&Wanted<'_>>,
        take: &mut dyn FnMut(Entry),
    ) -> Result<(), StoreError> {
        self.entries(bucket, wanted, take)?.ok_or_else(|| StoreError::Corrupt {
            path: self.path.clone(),
            reason: format!("part {bucket} of {} is damaged", self.buckets),
        })
    }

    /// `None`: the bucket is damaged.
    fn entries(
        &self,
        bucket: u32,
        wanted: Option<&Wanted<'_>>,
        take: &mut dyn FnMut(Entry),
    ) -> Result<Option<()>, StoreError> {
        let at = HEADER + TABLE_ENTRY * bucket as usize;
        let Some(place) = self.file.read(at as u64, TABLE_ENTRY)? else { return Ok(None) };
        let mut place = Fields(&place);
        let place = (|| Some((place.u64()?, place.u32()?, place.u32()?)))();
        let Some((offset, length, sum)) = place else { return Ok(None) };
        let Some(content) = self.file.read(offset, length as usize)? else { return Ok(None) };
        if checksum(bucket, &content) != sum {
            return Ok(None);
        }
        let mut fields = Fields(&content);
        while !fields.0.is_empty() {
            if Entry::read(&mut fields, wanted, take).is_none() {
                return Ok(None);
            }
        }
        Ok(Some(()))
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

/// What a hook needs. A bucket has other entries too; they are passed over.
struct Wanted<'a> {
    words: &'a [WordId],
    agents: &'a [AgentId],
    files: &'a [PathId],
    /// The files of words and agents that matter, in order; `None`: all of them.
    places: Option<&'a [PathId]>,
}

impl Wanted<'_> {
    fn keys(&self) -> impl Iterator<Item = u64> {
        let words = self.words.iter().map(|word| word.0);
        words.chain(self.agents.iter().map(|agent| agent.0)).chain(self.files.iter().map(|file| file.0))
    }

    fn has(&self, kind: u8, key: u64) -> bool {
        match kind {
            WORD => self.words.contains(&WordId(key)),
            AGENT => self.agents.contains(&AgentId(key)),
            FILE => self.files.contains(&PathId(key)),
            _ => true,
        }
    }
}

enum Entry {
    Word(WordId, Topic, WordCounts),
    Agent(AgentId, i64, AgentCounts),
    File(PathId, Vec<u8>, u32),
}

impl Entry {
    /// Calls `take` with the next entry, if it is wanted. `None`: it is damaged.
    fn read(fields: &mut Fields<'_>, wanted: Option<&Wanted<'_>>, take: &mut dyn FnMut(Self)) -> Option<()> {
        let [kind] = *fields.take(1)? else { return None };
        let key = fields.u64()?;
        let is_wanted = wanted.is_none_or(|wanted| wanted.has(kind, key));
        let places = wanted.and_then(|wanted| wanted.places);
        match kind {
            WORD => {
                let (topic, prompts, names) = (fields.text()?, fields.u32()?, fields.u32()?);
                let files = fields.files()?;
                if is_wanted {
                    let topic = Topic::new(std::str::from_utf8(topic).ok()?);
                    let files = counts_of_files(files, places);
                    take(Self::Word(WordId(key), topic, WordCounts { prompts, names, files }));
                }
            }
            AGENT => {
                let (seen, events, files) = (fields.u64()?.cast_signed(), fields.u32()?, fields.files()?);
                if is_wanted {
                    let files = counts_of_files(files, places);
                    take(Self::Agent(AgentId(key), seen, AgentCounts { events, files }));
                }
            }
            FILE => {
                let (path, count) = (fields.text()?, fields.u32()?);
                if is_wanted {
                    take(Self::File(PathId(key), path.to_vec(), count));
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn put_into(self, counts: &mut RepositoryCounts) {
        match self {
            Self::Word(id, topic, word) => {
                counts.topics.insert(id, topic);
                counts.counters.words.insert(id, word);
            }
            Self::Agent(id, seen, agent) => {
                counts.seen.insert(id, seen);
                counts.counters.agents.insert(id, agent);
            }
            Self::File(id, path, count) => {
                counts.paths.insert(id, path);
                counts.counters.files.insert(id, count);
            }
        }
    }
}

fn encode_word(id: WordId, word: &WordCounts, topic: &Topic) -> Vec<u8> {
    let mut entry = begin(WORD, id.0);
    put_text(&mut entry, topic.as_str().as_bytes());
    entry.extend(word.prompts.to_le_bytes());
    entry.extend(word.names.to_le_bytes());
    put_files(&mut entry, &word.files);
    entry
}

fn encode_agent(id: AgentId, agent: &AgentCounts, seen: Option<&i64>) -> Vec<u8> {
    let mut entry = begin(AGENT, id.0);
    entry.extend(seen.copied().unwrap_or_default().to_le_bytes());
    entry.extend(agent.events.to_le_bytes());
    put_files(&mut entry, &agent.files);
    entry
}

fn encode_file(id: PathId, count: u32, path: &[u8]) -> Vec<u8> {
    let mut entry = begin(FILE, id.0);
    put_text(&mut entry, path);
    entry.extend(count.to_le_bytes());
    entry
}

fn begin(kind: u8, key: u64) -> Vec<u8> {
    let mut entry = vec![kind];
    entry.extend(key.to_le_bytes());
    entry
}

fn put_text(entry: &mut Vec<u8>, text: &[u8]) {
    let text = &text[..text.len().min(LONGEST_TEXT)];
    entry.extend((text.len() as u16).to_le_bytes());
    entry.extend(text);
}

fn put_files(entry: &mut Vec<u8>, files: &HashMap<PathId, u32>) {
    let mut files: Vec<(u32, PathId)> = files.iter().map(|(file, count)| (*count, *file)).collect();
    files.sort_by(|a, b| b.cmp(a));
    files.truncate(MOST_FILES);
    entry.extend((files.len() as u32).to_le_bytes());
    for (count, file) in files {
        entry.extend(file.0.to_le_bytes());
        entry.extend(count.to_le_bytes());
    }
}

/// The counts of those of the files that are `places`.
fn counts_of_files(encoded: &[u8], places: Option<&[PathId]>) -> HashMap<PathId, u32> {
    let counts = encoded.chunks_exact(FILE_COUNT).filter_map(|one| {
        let mut fields = Fields(one);
        Some((PathId(fields.u64()?), fields.u32()?))
    });
    match places {
        Some(places) => counts.filter(|(file, _)| places.binary_search(file).is_ok()).collect(),
        None => counts.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::settings::Durability;
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
            let at = file.select_at(&[word], &[AgentId(0)], &BTreeSet::from([file_id])).unwrap();
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
