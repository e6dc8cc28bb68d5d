//! What is counted in a repository: which words led to which files, and who changed what.
//!
//! An event is a prompt with the files that were changed until the next one. Words, files and agents are numbers here;
//! whoever keeps the counters knows what they stand for. The counters may be a part of all that there are: of the words
//! of one prompt, and of the agents that are here.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::topics::Topic;
use crate::domain::SessionId;

/// The number of a topic.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct WordId(pub u64);

/// The number of a file.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct PathId(pub u64);

/// The number of an agent: of its session, so that it is the same under every name.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct AgentId(pub u64);

impl WordId {
    pub fn of(topic: &Topic) -> Self {
        Self(stable_hash(topic.stem().as_bytes()))
    }
}

impl PathId {
    /// `path` is relative to the root of the work tree, so that a file is the same one in every work tree.
    pub fn of(path: &[u8]) -> Self {
        Self(stable_hash(path))
    }
}

impl AgentId {
    pub fn of(session: &SessionId) -> Self {
        Self(stable_hash(session.as_str().as_bytes()))
    }
}

/// FNV-1a. These numbers are on disk, so the hash must be the same in every release.
fn stable_hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// What is counted for a word.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct WordCounts {
    /// The events whose prompt has it.
    pub prompts: u32,
    /// The events that changed a file whose name, directory or parent directory has it.
    pub names: u32,
    /// The events whose prompt has it and that changed that file.
    pub files: HashMap<PathId, u32>,
}

/// What is counted for an agent.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AgentCounts {
    pub events: u32,
    /// The events that changed that file.
    pub files: HashMap<PathId, u32>,
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    pub events: u32,
    pub words: HashMap<WordId, WordCounts>,
    pub agents: HashMap<AgentId, AgentCounts>,
    /// The events that changed a file.
    pub files: HashMap<PathId, u32>,
}

/// From this many events on it is known which files are changed by everyone.
const EVENTS_TO_KNOW_HUBS: u32 = 1_000;
/// A file that is in one of so many events is such a file.
const HUB_SHARE: u32 = 50;

impl Counters {
    /// Counts an event. `names` are the topics in the names of the changed files and of the two directories above each.
    /// Without an agent only words are counted: authors of commits are not agents.
    pub fn count(
        &mut self,
        agent: Option<AgentId>,
        prompt: &[WordId],
        files: &[PathId],
        names: &BTreeSet<WordId>,
    ) {
        self.events += 1;
        for file in files {
            *self.files.entry(*file).or_default() += 1;
        }
        let prompt: HashSet<WordId> = prompt.iter().copied().collect();
        for word in prompt {
            let counts = self.words.entry(word).or_default();
            counts.prompts += 1;
            for file in files {
                *counts.files.entry(*file).or_default() += 1;
            }
        }
        for word in names {
            self.words.entry(*word).or_default().names += 1;
        }
        if let Some(agent) = agent {
            let counts = self.agents.entry(agent).or_default();
            counts.events += 1;
            for file in files {
                *counts.files.entry(*file).or_default() += 1;
            }
        }
    }

    /// Whether everyone changes that file now and then, so that meeting there says little.
    pub fn is_hub(&self, file: PathId) -> bool {
        let count = self.files.get(&file).copied().unwrap_or_default();
        self.events >= EVENTS_TO_KNOW_HUBS && count.saturating_mul(HUB_SHARE) >= self.events
    }

    /// How often a prompt with this word led to that file: the share of its prompts, cautious if there were few.
    pub(super) fn habit(&self, word: WordId, file: PathId) -> f64 {
        let Some(counts) = self.words.get(&word) else { return 0.0 };
        share(counts.files.get(&file), counts.prompts)
    }

    /// The same for each file to which prompts with this word led.
    pub(super) fn habits(&self, word: WordId) -> impl Iterator<Item = (PathId, f64)> {
        let counts = self.words.get(&word).into_iter();
        counts.flat_map(|counts| {
            counts.files.iter().map(|(file, count)| (*file, share(Some(count), counts.prompts)))
        })
    }

    /// How rare a word is, from 0 to 1.
    pub(super) fn rarity(&self, word: WordId) -> f64 {
        let all = f64::from(self.events) + 1.0;
        let counts = self.words.get(&word);
        let seen = counts.map_or(0, |counts| counts.prompts.max(counts.names));
        let most = if self.events > 0 { all.ln() } else { 1.0 };
        (all / (f64::from(seen) + 0.5)).ln() / most
    }

    /// How often an agent changed that file.
    pub(super) fn own(&self, agent: AgentId, file: PathId) -> f64 {
        let Some(counts) = self.agents.get(&agent) else { return 0.0 };
        share(counts.files.get(&file), counts.events)
    }
}

fn share(count: Option<&u32>, of: u32) -> f64 {
    count.map_or(0.0, |count| f64::from(*count) / (f64::from(of) + 1.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_on_disk_stay_the_same() {
        assert_eq!(PathId::of(b"").0, 0xcbf2_9ce4_8422_2325);
        assert_eq!(PathId::of(b"src/auth/login.rs").0, 0xffab_9095_2299_9dc3);
    }

    #[test]
    fn a_file_that_everyone_changes() {
        let mut counters = Counters::default();
        let (hub, other) = (PathId(1), PathId(2));
        for number in 0..999 {
            let files: &[PathId] = if number % 20 == 0 { &[hub] } else { &[other] };
            counters.count(None, &[], files, &BTreeSet::new());
        }
        assert!(!counters.is_hub(hub), "too few events to say so");
        counters.count(None, &[], &[], &BTreeSet::new());
        assert!(counters.is_hub(hub) && !counters.is_hub(PathId(3)));
    }
}
