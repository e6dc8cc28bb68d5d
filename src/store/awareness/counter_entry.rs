//! The entries of the counts: a word with its files, an agent with its files, or a file with its path.

use std::collections::HashMap;

use super::fields::{FILE_COUNT, Fields};
use super::repository_counts::RepositoryCounts;
use crate::domain::awareness::counters::{AgentCounts, AgentId, PathId, WordCounts, WordId};
use crate::domain::awareness::topics::Topic;

/// The most files of a word or an agent; those with the smallest counts are left out.
pub(super) const MOST_FILES: usize = 512;
const LONGEST_TEXT: usize = 4096;

const WORD: u8 = b'w';
const AGENT: u8 = b'a';
const FILE: u8 = b'f';

/// Which files of a word or an agent matter.
#[derive(Clone, Copy, Debug)]
pub enum FileSelection<'a> {
    All,
    /// These, which are in order.
    Among(&'a [PathId]),
}

/// What a hook needs. A bucket has other entries too; they are passed over.
pub(super) struct Wanted<'a> {
    pub(super) words: &'a [WordId],
    /// In order.
    pub(super) agents: &'a [(AgentId, FileSelection<'a>)],
    pub(super) files: &'a [PathId],
    pub(super) files_of_words: FileSelection<'a>,
}

impl Wanted<'_> {
    pub(super) fn keys(&self) -> impl Iterator<Item = u64> {
        let words = self.words.iter().map(|word| word.0);
        words.chain(self.agents.iter().map(|(agent, _)| agent.0)).chain(self.files.iter().map(|file| file.0))
    }

    /// `None`: the word is not wanted.
    fn files_of_word(&self, word: WordId) -> Option<FileSelection<'_>> {
        self.words.contains(&word).then_some(self.files_of_words)
    }

    fn files_of_agent(&self, agent: AgentId) -> Option<FileSelection<'_>> {
        let number = self.agents.binary_search_by_key(&agent, |(wanted, _)| *wanted).ok()?;
        Some(self.agents[number].1)
    }
}

pub(super) enum CounterEntry {
    Word(WordId, Topic, WordCounts),
    Agent(AgentId, i64, AgentCounts),
    File(PathId, Vec<u8>, u32),
}

impl CounterEntry {
    /// Calls `take` with each entry that is wanted. `None`: one is damaged.
    pub(super) fn read_all(
        entries: &[u8],
        wanted: Option<&Wanted<'_>>,
        take: &mut dyn FnMut(Self),
    ) -> Option<()> {
        let mut fields = Fields(entries);
        while !fields.0.is_empty() {
            Self::read(&mut fields, wanted, take)?;
        }
        Some(())
    }

    fn read(fields: &mut Fields<'_>, wanted: Option<&Wanted<'_>>, take: &mut dyn FnMut(Self)) -> Option<()> {
        let [kind] = *fields.take(1)? else { return None };
        let key = fields.u64()?;
        let all = Some(FileSelection::All);
        match kind {
            WORD => {
                let (topic, prompts, names) = (fields.text()?, fields.u32()?, fields.u32()?);
                let (files, id) = (fields.files()?, WordId(key));
                if let Some(selection) = wanted.map_or(all, |wanted| wanted.files_of_word(id)) {
                    let topic = Topic::new(std::str::from_utf8(topic).ok()?);
                    let files = counts_of_files(files, selection);
                    take(Self::Word(id, topic, WordCounts { prompts, names, files }));
                }
            }
            AGENT => {
                let (seen, events, files) = (fields.u64()?.cast_signed(), fields.u32()?, fields.files()?);
                let id = AgentId(key);
                if let Some(selection) = wanted.map_or(all, |wanted| wanted.files_of_agent(id)) {
                    let files = counts_of_files(files, selection);
                    take(Self::Agent(id, seen, AgentCounts { events, files }));
                }
            }
            FILE => {
                let (path, count, id) = (fields.text()?, fields.u32()?, PathId(key));
                if wanted.is_none_or(|wanted| wanted.files.contains(&id)) {
                    take(Self::File(id, path.to_vec(), count));
                }
            }
            _ => return None,
        }
        Some(())
    }

    pub(super) fn put_into(self, counts: &mut RepositoryCounts) {
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

pub(super) fn encode_word(id: WordId, word: &WordCounts, topic: &Topic) -> Vec<u8> {
    let mut entry = begin(WORD, id.0);
    put_text(&mut entry, topic.as_str().as_bytes());
    entry.extend(word.prompts.to_le_bytes());
    entry.extend(word.names.to_le_bytes());
    put_files(&mut entry, &word.files);
    entry
}

pub(super) fn encode_agent(id: AgentId, agent: &AgentCounts, seen: Option<&i64>) -> Vec<u8> {
    let mut entry = begin(AGENT, id.0);
    entry.extend(seen.copied().unwrap_or_default().to_le_bytes());
    entry.extend(agent.events.to_le_bytes());
    put_files(&mut entry, &agent.files);
    entry
}

pub(super) fn encode_file(id: PathId, count: u32, path: &[u8]) -> Vec<u8> {
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

/// The counts of the files that matter.
fn counts_of_files(encoded: &[u8], selection: FileSelection<'_>) -> HashMap<PathId, u32> {
    let counts = encoded.chunks_exact(FILE_COUNT).filter_map(|one| {
        let mut fields = Fields(one);
        Some((PathId(fields.u64()?), fields.u32()?))
    });
    match selection {
        FileSelection::All => counts.collect(),
        FileSelection::Among(files) => {
            // Few of many are wanted, and most of the others are told by the lowest bits of their numbers.
            let bit = |file: &PathId| 1_u64 << (file.0 % 64);
            let bits = files.iter().fold(0, |bits, file| bits | bit(file));
            counts.filter(|(file, _)| bits & bit(file) != 0 && files.binary_search(file).is_ok()).collect()
        }
    }
}
